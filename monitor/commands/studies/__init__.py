"""What studies found, as tables and as JSON."""
