"""The service's loop, its health statistics, and what it does under load."""
