"""The thermal challenge, from the material to the requirement."""
