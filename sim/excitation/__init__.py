"""What drives a test: forces, ground motions, motions in closed form."""
