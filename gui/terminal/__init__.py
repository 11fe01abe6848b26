"""The dashboard of a terminal: what a service publishes, as text."""
