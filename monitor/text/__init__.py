"""What is told: numbers, units and durations as text."""
