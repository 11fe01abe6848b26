"""Plots over time, drawn by hand with QPainter (decision 21)."""
