"""The cases of the paper on tracking indicators, and what every indicator finds in them."""
