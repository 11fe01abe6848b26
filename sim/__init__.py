"""Simulated hybrid tests whose truth is known: excitation, actuator, loop. Returns arrays."""
