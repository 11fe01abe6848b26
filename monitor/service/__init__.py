"""The loop of the service, its health statistics, and load control."""
