"""Operating system: processes, pipes, file checks, safe text, default endpoints."""
