"""Compensators of the delay of an actuator, for the user's own loop or the virtual laboratory."""
