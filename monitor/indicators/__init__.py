"""The tracking indicators: one file each."""
