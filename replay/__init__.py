"""Recorded runs and simulations, turned into the stream that a rig would send."""
