"""Ensemble files: reading, writing, and the reliability plan from files named in the settings."""
