"""Sources that bring blocks in and sinks that carry results out."""
