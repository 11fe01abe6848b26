"""Numbers, names and events as the reader is told them. No Qt."""
