"""CURVE: what a socket needs so that nobody listens in and nobody unknown gets in."""

from __future__ import annotations

from dataclasses import dataclass, field

import zmq

DOMAIN = b"synchroscope"
"""The ZAP domain of every socket that is bound with keys."""


@dataclass(frozen=True, slots=True)
class Keys:
    """A program's own pair, and the public key of whoever it connects to.

    Parameters
    ----------
    public, secret : 40 characters each, in Z85.
    peer : public key of the program that is connected to; empty: connections are not encrypted.
    """

    public: bytes
    secret: bytes = field(repr=False)
    peer: bytes = b""

    def apply(self, socket: zmq.Socket[bytes], *, bind: bool) -> None:
        """Prepare a socket that is to be bound or connected; before that.

        A bound socket lets in whom the `ZapAuthenticator` of its context lets in, and without one nobody: libzmq on
        its own would let in any key.
        """
        if bind:
            socket.setsockopt(zmq.CURVE_SERVER, 1)
            socket.setsockopt(zmq.CURVE_SECRETKEY, self.secret)
            socket.setsockopt(zmq.ZAP_DOMAIN, DOMAIN)
            socket.setsockopt(zmq.ZAP_ENFORCE_DOMAIN, 1)
        elif self.peer:
            socket.setsockopt(zmq.CURVE_PUBLICKEY, self.public)
            socket.setsockopt(zmq.CURVE_SECRETKEY, self.secret)
            socket.setsockopt(zmq.CURVE_SERVERKEY, self.peer)
