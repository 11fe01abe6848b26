"""Random variables of positive quantities."""
