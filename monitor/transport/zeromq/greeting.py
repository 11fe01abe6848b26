"""How the other side of a TCP connection greets: whether it speaks ZeroMQ, and whether it asks for keys."""

from __future__ import annotations

import socket
from time import monotonic

from monitor.transport.zeromq.endpoint import host_and_port

# ZMTP 3: ten bytes of signature and two of the version. No more: told a mechanism, the other side may hang up first
_OURS = b"\xff" + bytes(8) + b"\x7f\x03\x00"
_LENGTH = 64
_MECHANISM = slice(12, 32)


def mechanism(url: str, seconds: float = 1.0) -> str:
    """Return what the other side wants for security, NULL, PLAIN or CURVE; empty where it does not say in time."""
    where = host_and_port(url)
    if where is None:
        return ""
    heard, deadline = b"", monotonic() + seconds
    try:
        with socket.create_connection(where, timeout=seconds) as connection:
            connection.sendall(_OURS)
            while len(heard) < _LENGTH and (left := deadline - monotonic()) > 0.0:
                connection.settimeout(left)
                if not (part := connection.recv(_LENGTH - len(heard))):
                    break
                heard += part
    # a name that no resolver takes is no OSError
    except (OSError, UnicodeError):
        return ""
    speaks = len(heard) == _LENGTH and heard[:1] == _OURS[:1] and heard[9:10] == _OURS[9:10]
    return heard[_MECHANISM].rstrip(b"\0").decode("ascii", "replace") if speaks else ""
