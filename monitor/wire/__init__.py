"""The wire format: bytes <-> messages."""
