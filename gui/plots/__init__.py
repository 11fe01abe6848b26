"""Plots: over time by hand, of one quantity against another by pyqtgraph; and the visible time range."""
