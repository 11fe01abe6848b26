"""pyqtgraph made ours: plots over time, and plots of one quantity against another."""
