"""Feeds for other programs: PlotJuggler and Prometheus."""
