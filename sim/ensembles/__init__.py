"""Random responses: distributions, processes, ensembles of realizations."""
