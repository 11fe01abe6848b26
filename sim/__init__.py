"""Simulations whose truth is known: hybrid tests, and models with random parameters. Returns arrays."""
