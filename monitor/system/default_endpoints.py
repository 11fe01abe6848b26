"""Endpoints that are used where none is named: of the rig's signals, the results and the feeds of viewers."""

SIGNALS = "tcp://127.0.0.1:5555"
RESULTS = "tcp://127.0.0.1:5556"
PLOTJUGGLER = "tcp://127.0.0.1:9872"
"""Where PlotJuggler's ZMQ subscriber looks."""
PROMETHEUS = "127.0.0.1:9464"
