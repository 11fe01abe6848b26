"""The commands of the window and of the terminal dashboard, and the demonstration that shows one of them."""
