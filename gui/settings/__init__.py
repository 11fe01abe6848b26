"""The settings dialog: of the window and of the service."""
