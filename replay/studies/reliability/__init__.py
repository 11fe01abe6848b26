"""The examples of the paper on reliability, beside what each must come to."""
