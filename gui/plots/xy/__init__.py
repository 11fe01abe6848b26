"""Plots of one quantity against another, drawn by pyqtgraph."""
