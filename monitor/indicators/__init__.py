"""The tracking indicators: one file each, and the list of all of them."""
