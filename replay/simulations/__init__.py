"""Simulations that can be streamed like recordings."""

from replay.simulations.catalogue import names, simulation, simulations

__all__ = ["names", "simulation", "simulations"]
