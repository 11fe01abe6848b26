"""Ensembles of realizations, simulated on all cores."""
