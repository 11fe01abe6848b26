"""The engine: signal blocks in, results out. No clock, no socket, no file."""
