"""A recording or a simulation sent as a rig would send it: paced, paused, sought, controlled."""
