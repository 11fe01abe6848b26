"""A hybrid loop that a delay makes unstable, and compensators that are to prevent it."""
