"""The force that a model is missing: recovered from samples of the motion, with a band, and laws fitted to it."""
