"""The program of an `OutletProcess`: what comes by standard input is published, and nothing else is done.

First comes a line of `Settings`, which is answered by one of `Opened`, then messages: the length of all, then each
frame after its own length. What it says later by standard output are lines about what subscribers have done.
"""

from __future__ import annotations

import os
import select
import signal
import struct
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from monitor.transport.curve import Keys
from monitor.transport.endpoint import TransportError
from monitor.wire import Frames

if TYPE_CHECKING:
    from monitor.transport.outlet import Outlet

LENGTH = struct.Struct("<I")
"""Before each message and each of its frames."""

_MOST_MEMORY = 2 << 30  # bytes; with more it ends and is started anew
_CHUNK = 1 << 20
_TURN = 50  # ms


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
    head, _, rest = _first_line()
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


def _first_line() -> tuple[bytes, bytes, bytes]:
    said = b""
    while b"\n" not in said:
        part = os.read(0, _CHUNK)
        if not part:
            raise SystemExit
        said += part
    return said.partition(b"\n")


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:
        return
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_DATA, (_MOST_MEMORY, _MOST_MEMORY))
        # an end that was foreseen leaves no picture of the memory, which holds keys
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _open(settings: Settings, stack: ExitStack) -> Outlet:
    import zmq

    from monitor.transport.allow_list import AllowList
    from monitor.transport.gatekeeper import Gatekeeper
    from monitor.transport.key_files import SERVICE
    from monitor.transport.outlet import Outlet

    context = stack.enter_context(zmq.Context())
    keys = None
    if settings.secret:
        keys = Keys(settings.public, settings.secret)
        allowed = AllowList(Path(settings.clients), {settings.public: SERVICE})
        gatekeeper = Gatekeeper(context, allowed, _say)
        stack.callback(gatekeeper.close)
    return Outlet(
        settings.bind,
        queue_seconds=settings.queue_seconds,
        insecure=settings.insecure,
        security=keys,
        context=context,
    )


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def _publish(outlet: Outlet, rest: bytes) -> None:
    poller = select.poll()
    poller.register(0, select.POLLIN)
    waiting, told = bytearray(rest), ""
    while True:
        for frames in _messages(waiting):
            outlet.offer(frames)
        if outlet.trouble != told:
            told = outlet.trouble
            os.write(1, told.encode() + b"\n")
        if poller.poll(_TURN):
            part = os.read(0, _CHUNK)
            if not part:
                return
            waiting += part
        else:
            outlet.tend()


def _messages(waiting: bytearray) -> list[Frames]:
    """Take the whole messages out of what has come."""
    found, at = [], 0
    while len(waiting) - at >= LENGTH.size:
        end = at + LENGTH.size + LENGTH.unpack_from(waiting, at)[0]
        if len(waiting) < end:
            break
        at += LENGTH.size
        frames = []
        while at < end:
            stop = at + LENGTH.size + LENGTH.unpack_from(waiting, at)[0]
            frames.append(bytes(waiting[at + LENGTH.size : stop]))
            at = stop
        found.append(frames)
    del waiting[:at]
    return found
