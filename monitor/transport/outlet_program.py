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
from collections.abc import Iterator
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
    incoming, told = Incoming(rest), ""
    while True:
        for frames in incoming.messages():
            outlet.offer(frames)
        if outlet.trouble != told:
            told = outlet.trouble
            os.write(1, told.encode() + b"\n")
        if not poller.poll(_TURN):
            outlet.tend()
        elif not incoming.read(0):
            return


class Incoming:
    """What was read and not taken yet, in one piece of memory that is used again and again.

    Parameters
    ----------
    begun : what was read already.
    room : bytes at the beginning; it grows with the messages.
    """

    def __init__(self, begun: bytes = b"", room: int = 2 * _CHUNK) -> None:
        self._memory = bytearray(max(room, len(begun)))
        self._memory[: len(begun)] = begun
        self._start, self._end = 0, len(begun)

    def read(self, descriptor: int) -> int:
        """Read what is there, or wait for it; return how many bytes came, 0 at the end."""
        if self._start == self._end:
            self._start = self._end = 0
        elif 2 * self._end > len(self._memory):
            left = self._memory[self._start : self._end]
            self._start, self._end = 0, len(left)
            if 2 * self._end > len(self._memory):
                self._memory = bytearray(2 * len(self._memory))
            self._memory[: self._end] = left
        with memoryview(self._memory) as memory, memory[self._end :] as free:
            came = os.readv(descriptor, [free])
        self._end += came
        return came

    def messages(self) -> Iterator[Frames]:
        """Take the whole messages out."""
        memory = memoryview(self._memory)
        while self._end - self._start >= LENGTH.size:
            at = self._start + LENGTH.size
            end = at + LENGTH.unpack_from(memory, self._start)[0]
            if self._end < end:
                return
            frames = []
            while at < end:
                stop = at + LENGTH.size + LENGTH.unpack_from(memory, at)[0]
                frames.append(bytes(memory[at + LENGTH.size : stop]))
                at = stop
            self._start = end
            yield frames
