"""A player that is steered while it plays: the words for it, and what obeys them."""
