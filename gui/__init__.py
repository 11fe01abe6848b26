"""Clients of the wire: what the operator sees of a service, which runs in a process of its own."""
