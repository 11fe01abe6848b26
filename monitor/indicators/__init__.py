"""Tracking indicators, one file each; `parts` has what their kernels share."""
