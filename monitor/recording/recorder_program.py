"""The program of a `RecorderProcess`: what comes by standard input goes into run files, and nothing else is done.

First comes a line, an `Order`; then messages (`Kind` says which). Lines of `Progress` go back by standard output.
Where the input ends before it was told to, the service was killed: what has come is written, and the file says
``truncated``.
"""

from __future__ import annotations

import os
import select
import signal
from enum import Enum
from math import inf
from time import monotonic

import msgspec

from monitor.messages.blocks import Event, ResultBlock, SignalBlock
from monitor.messages.requests import NoteRequest, Request
from monitor.recording.layout import TRUNCATED, RunFileError
from monitor.recording.writer import RunWriter
from monitor.system.worker_process import MessageReader, read_first_line
from monitor.wire.native import Decoder

_TURN = 0.05  # s
_ALONE = 10  # s for what is left, once the service has died
_PAUSE = 0.02  # s between two lines
_MOST_NOTES = 8  # in a line
_NO_LIMIT = 1 << 62


class Kind(bytes, Enum):
    """What a message brings; it is the first frame."""

    STREAM = b"stream"  # the kind of block that has it, its header
    SIGNALS = b"signals"  # position, payload
    RESULTS = b"results"
    EVENT = b"event"
    LEFT_OUT = b"left out"  # how many samples
    END = b"end"  # the outcome, or nothing
    CUT = b"cut"  # the same, and drop what waits


class Order(msgspec.Struct, frozen=True):
    """What is to be recorded, and where: as `RunWriter` has it."""

    path: str
    settings: bytes
    flush_interval: float


class Progress(msgspec.Struct, frozen=True, omit_defaults=True):
    """What has become of what came; numbers of samples, where not said otherwise.

    ``messages`` counts those that were taken; ``idle``: none of them waits to be written. The rest is as `RunWriter`
    says it, and ``unrecorded`` has those in it that were left out. ``done``: the file is closed.
    """

    path: str = ""
    messages: int = 0
    taken: int = 0
    left_out: int = 0
    recorded: int = 0
    unrecorded: int = 0
    waiting: int = 0
    idle: bool = False
    breaks: int = 0
    failed: str = ""
    outcome: str = ""
    notes: tuple[str, ...] = ()
    done: bool = False


def main() -> None:
    """Record what comes by standard input until that ends."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    head, rest = read_first_line()
    order = msgspec.json.decode(head, type=Order)
    settings = msgspec.json.decode(order.settings, type=dict[str, object])
    try:
        # how much may wait is for who hands on to say
        writer = RunWriter(order.path, settings, order.flush_interval, queue_seconds=inf, queue_bytes=_NO_LIMIT)
    except RunFileError as problem:
        # it was there when the service began
        os.write(1, msgspec.json.encode(Progress(failed=str(problem))) + b"\n")
        return
    _Recorder(writer, MessageReader(rest)).run()


class _Recorder:
    """Hands messages to `writer`, and tells how it goes on."""

    def __init__(self, writer: RunWriter, incoming: MessageReader) -> None:
        self._writer, self._incoming = writer, incoming
        self._decoder = Decoder()
        self._heads: dict[bytes, bytes] = {}
        self._messages = self._taken = self._left_out = 0
        self._outcome: str | None = None
        self._ends = self._cut = self._hung_up = False
        self._notes: list[str] = []
        self._told, self._told_at = Progress(), -inf
        self._poller = select.poll()
        self._poller.register(0, select.POLLIN)

    def run(self) -> None:
        self._tell()
        while not self._ends and not self._cut and not self._hung_up:
            self._listen(_TURN)
        if not self._ends and not self._cut:
            self._outcome = TRUNCATED
            # who starts the service anew does not wait for a disk that hangs: the system ends this process then
            signal.alarm(_ALONE)
        while not self._cut and not self._writer.end(self._outcome, _TURN):
            self._listen(0.0)
        self._writer.close(self._outcome, patience=0.0 if self._cut else None)
        self._tell(done=not self._writer.hangs)

    def _listen(self, timeout: float) -> None:
        if not self._hung_up and self._poller.poll(1000.0 * timeout):
            self._hung_up = not self._incoming.read(0)
        for frames in self._incoming.messages():
            self._take(frames)
        self._tell()

    def _take(self, frames: list[bytes]) -> None:
        kind, *rest = frames
        if kind == Kind.STREAM:
            self._heads[rest[0]] = rest[1]
        elif kind in (Kind.SIGNALS, Kind.RESULTS):
            block = self._decoder.decode([b"", self._heads[kind], *rest])
            if isinstance(block, SignalBlock):
                self._writer.signals(block)
                self._taken += len(block)
            elif isinstance(block, ResultBlock):
                self._writer.results(block)
        elif kind == Kind.EVENT:
            self._writer.event(msgspec.json.decode(rest[0], type=Event))
        elif kind == Kind.LEFT_OUT:
            self._left_out += int(rest[0])
            self._writer.leave_out(int(rest[0]))
        else:
            self._outcome = rest[0].decode() or None
            self._ends, self._cut = kind == Kind.END, kind == Kind.CUT
        self._messages += 1

    def _tell(self, *, done: bool = False) -> None:
        now, writer = monotonic(), self._writer
        if now - self._told_at < _PAUSE and not done:
            return
        writer.notes.serve(self._keep)
        progress = Progress(
            path=str(writer.path),
            messages=self._messages,
            taken=self._taken,
            left_out=self._left_out,
            waiting=writer.waiting,
            recorded=writer.recorded,
            unrecorded=writer.unrecorded,
            idle=writer.idle,
            breaks=writer.breaks,
            failed=writer.failed,
            outcome=writer.outcome,
            notes=tuple(self._notes[:_MOST_NOTES]),
            done=done,
        )
        if progress != self._told:
            del self._notes[:_MOST_NOTES]
            self._told, self._told_at = progress, now
            try:
                os.write(1, msgspec.json.encode(progress) + b"\n")
            except BrokenPipeError:
                # nobody is there any more: what has come is written all the same
                self._told_at = inf

    def _keep(self, request: Request) -> None:
        if isinstance(request, NoteRequest):
            self._notes.append(request.text)
