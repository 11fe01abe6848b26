"""Settings of the window and of the service: dialog, forms, storage."""
