"""Actuators identified from recorded runs: gain, delay and lag, with what the fit cannot know."""
