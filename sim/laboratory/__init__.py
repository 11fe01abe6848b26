"""A virtual laboratory: a computed structure, specimens, and the transfer system between them, as parts."""
