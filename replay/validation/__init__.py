"""A user's own ensemble against the user's own records."""
