"""What several indicators are made of: kernels, windows, fits, transforms."""
