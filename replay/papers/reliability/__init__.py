"""The examples of the paper on reliability, with reference values."""
