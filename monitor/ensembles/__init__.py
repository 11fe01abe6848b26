"""Ensembles in files: read from what others wrote, mapped from what was sorted before, and written."""
