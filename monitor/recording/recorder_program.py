"""Program of a `RecorderProcess`: writes the messages from its standard input to run files.

The first line is a `RecorderSettings`, followed by messages of the kinds `MessageKind`; `RecorderProgress` goes back
in lines on standard output. If the input ends without END or ABORT, the service was killed: everything received is
written, with the outcome ``truncated``.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from contextlib import suppress
from enum import Enum
from math import inf
from time import monotonic, sleep

import msgspec

from monitor.messages.blocks import Event, ResultBlock, SignalBlock
from monitor.messages.requests import NoteRequest, Request
from monitor.recording.layout import TRUNCATED, RunFileError
from monitor.recording.writer import RunWriter
from monitor.system.worker_process import MessageReader, read_first_line
from monitor.wire.native import Decoder

_POLL_INTERVAL, _IDLE_INTERVAL = 0.05, 0.25  # s, while samples wait, and otherwise
_GATHERING_TIME, _MUCH = 0.02, 1 << 17  # s between reads, and bytes after which the next follows at once
_ORPHAN_TIMEOUT = 10  # s for writing the rest after the service has died
_REPORT_INTERVAL = 0.02  # s
_MAX_NOTES = 8  # in a line
_NO_LIMIT = 1 << 62
_NO_ROWS = bytes(24)  # position of a block without rows


class MessageKind(bytes, Enum):
    """First frame of a message."""

    STREAM = b"stream"  # kind of its blocks, header
    SIGNALS = b"signals"  # position, payload
    RESULTS = b"results"
    EVENT = b"event"
    UNRECORDED = b"unrecorded"  # number of samples that were dropped before
    END = b"end"  # outcome, or empty
    ABORT = b"abort"  # the same, and drop waiting items


class RecorderSettings(msgspec.Struct, frozen=True):
    """Arguments of the `RunWriter`."""

    path: str
    settings: bytes
    flush_interval: float


class RecorderProgress(msgspec.Struct, frozen=True, omit_defaults=True):
    """State of the recorder, in numbers of samples unless noted otherwise; the rest is as for `RunWriter`.

    Parameters
    ----------
    messages : number of messages received.
    received : in messages.
    reported : counted by UNRECORDED messages; included in `unrecorded`.
    idle : all messages are written.
    done : the file is closed.
    """

    path: str = ""
    messages: int = 0
    received: int = 0
    reported: int = 0
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
    """Record the messages from standard input until it ends."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    if sys.platform == "linux":
        # its share of the processor as before, but it never interrupts the service to get it; a container may refuse
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    head, rest = read_first_line()
    arguments = msgspec.json.decode(head, type=RecorderSettings)
    settings = msgspec.json.decode(arguments.settings, type=dict[str, object])
    try:
        # the limits are enforced by the sending process
        writer = RunWriter(arguments.path, settings, arguments.flush_interval, queue_bytes=_NO_LIMIT)
    except RunFileError as problem:
        # the folder existed when the service started
        os.write(1, msgspec.json.encode(RecorderProgress(failed=str(problem))) + b"\n")
        return
    _Recorder(writer, MessageReader(rest)).run()


class _Recorder:
    """Passes messages to `writer` and reports progress."""

    def __init__(self, writer: RunWriter, incoming: MessageReader) -> None:
        self._writer, self._incoming = writer, incoming
        self._decoder = Decoder()
        self._headers: dict[bytes, bytes] = {}
        self._messages = self._received = self._reported = 0
        self._outcome: str | None = None
        self._ending = self._aborted = self._input_closed = False
        self._notes: list[str] = []
        self._last, self._last_at = RecorderProgress(), -inf
        self._poller = select.poll()
        self._poller.register(0, select.POLLIN)

    def run(self) -> None:
        self._report()
        while not self._ending and not self._aborted and not self._input_closed:
            self._receive(_POLL_INTERVAL if self._last.waiting else _IDLE_INTERVAL)
        if not self._ending and not self._aborted:
            self._outcome = TRUNCATED
            # a restart of the service must not wait for a disk that hangs: SIGALRM ends this process
            signal.alarm(_ORPHAN_TIMEOUT)
        while not self._aborted and not self._writer.finish(self._outcome, _POLL_INTERVAL):
            self._receive(0.0)
        self._writer.close(self._outcome, timeout=0.0 if self._aborted else None)
        self._report(done=not self._writer.disk_hangs)

    def _receive(self, timeout: float) -> None:
        received = 0
        if not self._input_closed and self._poller.poll(1000.0 * timeout):
            received = self._incoming.read(0)
            self._input_closed = not received
        for frames in self._incoming.messages():
            self._process(frames)
        self._report()
        if 0 < received < _MUCH:
            # a process that wakes up for every message takes the processor from its sender
            sleep(_GATHERING_TIME)

    def _process(self, frames: list[bytes]) -> None:
        kind, *rest = frames
        if kind == MessageKind.STREAM:
            self._headers[rest[0]] = rest[1]
            block = self._decoder.decode([b"", rest[1], _NO_ROWS, b""])
            if isinstance(block, ResultBlock):
                # after a restart of this program the results may be a long time in coming
                self._writer.results(block)
        elif kind in (MessageKind.SIGNALS, MessageKind.RESULTS):
            block = self._decoder.decode([b"", self._headers[kind], *rest])
            if isinstance(block, SignalBlock):
                self._writer.signals(block)
                self._received += len(block)
            elif isinstance(block, ResultBlock):
                self._writer.results(block)
        elif kind == MessageKind.EVENT:
            self._writer.event(msgspec.json.decode(rest[0], type=Event))
        elif kind == MessageKind.UNRECORDED:
            self._reported += int(rest[0])
            self._writer.count_unrecorded(int(rest[0]))
        else:
            self._outcome = rest[0].decode() or None
            self._ending, self._aborted = kind == MessageKind.END, kind == MessageKind.ABORT
        self._messages += 1

    def _report(self, *, done: bool = False) -> None:
        now, writer = monotonic(), self._writer
        if now - self._last_at < _REPORT_INTERVAL and not done:
            return
        writer.notes.serve(self._collect_note)
        progress = RecorderProgress(
            path=str(writer.path),
            messages=self._messages,
            received=self._received,
            reported=self._reported,
            waiting=writer.waiting,
            recorded=writer.recorded,
            unrecorded=writer.unrecorded,
            idle=writer.idle,
            breaks=writer.breaks,
            failed=writer.failed,
            outcome=writer.outcome,
            notes=tuple(self._notes[:_MAX_NOTES]),
            done=done,
        )
        if progress != self._last:
            del self._notes[:_MAX_NOTES]
            self._last, self._last_at = progress, now
            try:
                os.write(1, msgspec.json.encode(progress) + b"\n")
            except BrokenPipeError:
                # the service is gone: what was received is still written
                self._last_at = inf

    def _collect_note(self, request: Request) -> None:
        if isinstance(request, NoteRequest):
            self._notes.append(request.text)
