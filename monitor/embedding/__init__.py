"""Indicators and reliability inside a control loop: one flat state, and a step for Python, numba and C."""
