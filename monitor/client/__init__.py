"""A Python program's way to a running service: live results, and a word back."""
