"""The program of an `PublisherProcess`: what comes by standard input is published, and nothing else is done.

First comes a line of `Settings`, which is answered by one of `Opened`, then messages: the length of all, then each
frame after its own length. What it says later by standard output are lines about what subscribers have done.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from monitor.system.worker_process import Incoming, first_line
from monitor.transport.base import TransportError
from monitor.transport.security.curve import Keys

if TYPE_CHECKING:
    from monitor.transport.zeromq.publisher_socket import PublisherSocket

BLOCK_FRAMES = 4
"""Topic, header, position and payload."""
SAME = b""
"""Stands for the header that came last under a topic."""

_MOST_MEMORY = 2 << 30  # bytes; with more it ends and is started anew
_TURN, _SOON = 50, 1  # ms between looks at what is asked for, and after one that found something


class Settings(msgspec.Struct, frozen=True):
    """What the process is told first, on one line."""

    bind: str
    queue_seconds: float
    insecure: bool
    linger: float
    public: bytes = b""
    secret: bytes = b""
    clients: str = ""


class Opened(msgspec.Struct, frozen=True):
    """Its answer: where it is bound, or why not."""

    url: str = ""
    problem: str = ""


def main() -> None:
    """Publish what comes by standard input until that ends."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    _limit_memory()
    head, rest = first_line()
    settings = msgspec.json.decode(head, type=Settings)
    with ExitStack() as stack:
        try:
            outlet = _open(settings, stack)
        except TransportError as problem:
            os.write(1, msgspec.json.encode(Opened(problem=str(problem))) + b"\n")
            return
        os.write(1, msgspec.json.encode(Opened(url=outlet.url)) + b"\n")
        _publish(outlet, rest)
        outlet.close(settings.linger)


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:
        return
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_DATA, (_MOST_MEMORY, _MOST_MEMORY))
        # an end that was foreseen leaves no picture of the memory, which holds keys
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _open(settings: Settings, stack: ExitStack) -> PublisherSocket:
    import zmq

    from monitor.transport.security.allow_list import AllowList
    from monitor.transport.security.key_files import SERVICE
    from monitor.transport.security.zap_authenticator import ZapAuthenticator
    from monitor.transport.zeromq.publisher_socket import PublisherSocket

    context = stack.enter_context(zmq.Context())
    keys = None
    if settings.secret:
        keys = Keys(settings.public, settings.secret)
        allowed = AllowList(Path(settings.clients), {settings.public: SERVICE})
        gatekeeper = ZapAuthenticator(context, allowed, _say)
        stack.callback(gatekeeper.close)
    return PublisherSocket(
        settings.bind,
        queue_seconds=settings.queue_seconds,
        insecure=settings.insecure,
        security=keys,
        context=context,
    )


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def _publish(outlet: PublisherSocket, rest: bytes) -> None:
    poller = select.poll()
    poller.register(0, select.POLLIN)
    incoming, cut = Incoming(rest), 0
    headers: dict[bytes, bytes] = {}
    asked = False
    while True:
        for frames in incoming.messages():
            if len(frames) == BLOCK_FRAMES:
                frames[1] = headers[frames[0]] = frames[1] or headers[frames[0]]
            outlet.offer(frames)
        if outlet.cut != cut:
            cut = outlet.cut
            os.write(1, outlet.trouble.encode() + b"\n")
        if not poller.poll(_SOON if asked else _TURN):
            asked = outlet.tend()
        elif not incoming.read(0):
            return
