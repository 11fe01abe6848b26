"""ZeroMQ: publishers and subscribers of signals and results, requests, and CURVE keys."""
