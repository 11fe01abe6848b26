"""The wire format: messages to bytes and back, without sockets (docs/wire-format.md)."""
