"""`python -m benchmarks.forwarder IN OUT BYTES`: the least that can stand between a rig and its results.

It answers every message with one of BYTES bytes that begins with the same 8, and computes nothing.
"""

from __future__ import annotations

import sys

import zmq


def forward(source: str, target: str, size: int) -> None:
    """Receive and send until the process is ended."""
    with zmq.Context() as context, context.socket(zmq.SUB) as incoming, context.socket(zmq.PUB) as outgoing:
        incoming.subscribe(b"")
        incoming.connect(source)
        outgoing.bind(target)
        filling = bytes(size - 8)
        while True:
            outgoing.send(incoming.recv()[:8] + filling)


if __name__ == "__main__":
    forward(sys.argv[1], sys.argv[2], int(sys.argv[3]))
