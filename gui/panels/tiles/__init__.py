"""Panel of tiles: big numbers that are read from across the room."""
