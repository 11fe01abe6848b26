"""A publishing socket in a process of its own: its handle in the service, and the program of the process."""

from __future__ import annotations

import ctypes
import os
import platform
import select
import signal
import struct
import sys
from contextlib import ExitStack, suppress
from math import inf
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Protocol

import msgspec

from monitor.system.running_clock import RunningClock
from monitor.system.worker_process import MessageReader, WorkerProcess, pack_message, read_first_line
from monitor.transport.base import TransportError
from monitor.transport.zeromq.key_files import Keys
from monitor.wire.native import BLOCK_FRAMES, Frames

if TYPE_CHECKING:
    from monitor.transport.zeromq.publisher_socket import PublisherSocket


_SAME_HEADER = b""
"""Sent instead of a header that is the same as the last under its topic."""

_MAX_MEMORY = 2 << 30  # bytes; with more it ends and is restarted
_SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}  # numbers of the system call, which Python has not
_SLICE = 100_000  # ns, the shortest; a row of 64 actuators takes as long
_SIGN_INTERVAL = 0.5  # s between empty lines, by which the process shows that it runs


class ProcessSettings(msgspec.Struct, frozen=True):
    """First line of the standard input of the process."""

    bind: str
    queue_seconds: float
    insecure: bool
    linger: float
    public: bytes = b""
    secret: bytes = b""
    clients: str = ""


class ProcessOpened(msgspec.Struct, frozen=True):
    """First line of its standard output: where it is bound, or why not."""

    url: str = ""
    problem: str = ""


def main() -> None:
    """Publish the messages of standard input until it ends."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    _limit_memory()
    _ask_for_short_slices()
    head, rest = read_first_line()
    settings = msgspec.json.decode(head, type=ProcessSettings)
    with ExitStack() as stack:
        try:
            publisher = _open(settings, stack)
        except TransportError as problem:
            os.write(1, msgspec.json.encode(ProcessOpened(problem=str(problem))) + b"\n")
            return
        os.write(1, msgspec.json.encode(ProcessOpened(url=publisher.url)) + b"\n")
        forward(publisher, rest)
        publisher.close(settings.linger)


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:
        return
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_DATA, (_MAX_MEMORY, _MAX_MEMORY))
        # no core dump when the limit is reached: memory contains keys
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _ask_for_short_slices() -> None:
    """Ask Linux, from 6.12 on, to run this process as soon as a message comes: it is done before others notice.

    It wakes up on the core of the service, and else waits until that sleeps. Its share of the processor is as before.
    """
    number = _SCHED_SETATTR.get(platform.machine()) if sys.platform == "linux" else None
    if number is not None:
        # size, policy, flags, nice, priority, slice, deadline, period; what the system refuses changes nothing
        nice = os.getpriority(os.PRIO_PROCESS, 0)
        wanted = struct.pack("=IIQiIQQQ", 48, os.SCHED_OTHER, 0, nice, 0, _SLICE, 0, 0)
        ctypes.CDLL(None).syscall(number, 0, wanted, 0)


def _open(settings: ProcessSettings, stack: ExitStack) -> PublisherSocket:
    import zmq

    from monitor.transport.zeromq.allow_list import AllowList, ZapAuthenticator
    from monitor.transport.zeromq.key_files import SERVICE
    from monitor.transport.zeromq.publisher_socket import PublisherSocket

    context = stack.enter_context(zmq.Context())
    keys = None
    if settings.secret:
        keys = Keys(settings.public, settings.secret)
        allowed = AllowList(Path(settings.clients), {settings.public: SERVICE})
        authenticator = ZapAuthenticator(context, allowed, _log)
        stack.callback(authenticator.close)
    return PublisherSocket(
        settings.bind,
        queue_seconds=settings.queue_seconds,
        insecure=settings.insecure,
        security=keys,
        context=context,
    )


def _log(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


class Forwarding(Protocol):
    """What the process publishes by."""

    @property
    def fault(self) -> str:
        """What is wrong, in one line; empty: nothing."""

    def send(self, frames: Frames, /) -> object:
        """Publish a message."""

    @property
    def descriptor(self) -> int:
        """Readable once `maintain` has something to do; -1: it has when the time that it returned has passed."""

    def maintain(self) -> float:
        """Do what is due besides sending; return the s until something is due again."""


def forward(publisher: Forwarding, rest: bytes) -> None:
    """Publish the messages of standard input, after `rest`, until it ends; print faults, and signs of life."""
    incoming, reported, next_sign = MessageReader(rest), "", 0.0
    headers: dict[bytes, bytes] = {}
    while True:
        for frames in incoming.messages():
            if len(frames) == BLOCK_FRAMES:
                frames[1] = headers[frames[0]] = frames[1] or headers[frames[0]]
            publisher.send(frames)
        # after sending, in which ZeroMQ may have noticed what the descriptor then shows no more
        pause, poller = publisher.maintain(), select.poll()
        poller.register(0, select.POLLIN)
        if (descriptor := publisher.descriptor) >= 0:
            poller.register(descriptor, select.POLLIN)
            pause = inf
        if (fault := publisher.fault) != reported or monotonic() >= next_sign:
            os.write(1, (fault if fault != reported else "").encode() + b"\n")
            reported, next_sign = fault, monotonic() + _SIGN_INTERVAL
        ready = poller.poll(1000.0 * max(0.0, min(pause, next_sign - monotonic())))
        if 0 in dict(ready) and not incoming.read(0):
            return


_PROGRAM = "monitor.transport.zeromq.publisher_process"
_SILENCE = 2.5  # s, running, without a sign of the process, after which it hangs
_IDLE_INTERVAL, _BUSY_INTERVAL = 0.25, 0.02  # s between looks at its signs, and while a message is partly written
_WRITE_WAIT = 0.1  # s for room in its pipe, between two looks at its signs
_START_TIMEOUT = 20.0  # s, where the disk is slow and nothing is loaded yet
_RESTART_INTERVAL = 1.0  # s between starts


class PublisherProcess:
    """Bind a `PublisherSocket` in another process, which is restarted where it dies or hangs.

    Parameters
    ----------
    bind : endpoint; ``tcp://127.0.0.1:*`` finds a free port.
    queue_seconds : size of the queue of a slow subscriber.
    linger : s to send the last messages after `close`.
    insecure : may bind where other machines can reach it without keys.
    security : the service's keys.
    clients : folder of the public keys of the clients that are accepted; with keys only.
    program : module whose ``main()`` is the process; another one publishes elsewhere, with `bind` as the address.
    running : time in which this process can run.

    Raises
    ------
    TransportError : the endpoint is malformed or cannot be used.
    """

    def __init__(
        self,
        bind: str,
        *,
        queue_seconds: float,
        linger: float = 1.0,
        insecure: bool = False,
        security: Keys | None = None,
        clients: Path | None = None,
        program: str = _PROGRAM,
        running: RunningClock | None = None,
    ) -> None:
        self._program = program
        self._settings = ProcessSettings(bind, queue_seconds, insecure, linger)
        if security is not None:
            keys = {"public": security.public, "secret": security.secret, "clients": str(clients or "")}
            self._settings = msgspec.structs.replace(self._settings, **keys)
        self.url = bind
        self._restarts, self._overloads, self._start_error = 0, "", ""
        self._hung = self._unconfirmed = 0
        self.lost = 0
        """Messages that a process which has ended got after its last sign: they may not have been published."""
        self._closed = False
        self._running = running or RunningClock()
        self._process = self._start()
        self._heard = self._running()

    def _start(self) -> WorkerProcess:
        self._started = monotonic()
        self._headers: dict[bytes, bytes] = {}  # by topic, as sent last
        # a restarted process keeps the port
        settings = msgspec.json.encode(msgspec.structs.replace(self._settings, bind=self.url))
        try:
            process = WorkerProcess(self._program, settings)
            try:
                opened = msgspec.json.decode(process.answer(_START_TIMEOUT), type=ProcessOpened)
            except BaseException:
                process.close()
                raise
        except (OSError, msgspec.DecodeError) as problem:
            raise TransportError(f"{self.url}: the process that publishes did not start: {problem}") from problem
        if opened.problem:
            process.close()
            raise TransportError(opened.problem)
        self.url = opened.url
        return process

    @property
    def fault(self) -> str:
        """Restarts, and excessive subscriptions, in one line; empty: nothing."""
        hung = f", {self._hung} of them because it hung" if self._hung else ""
        restarted = f"the process that publishes at {self.url} had to be started again ({self._restarts} times{hung})"
        return "; ".join(filter(None, (restarted if self._restarts else "", self._start_error, self._overloads)))

    def maintain(self) -> float:
        """Read its reports, write the rest of a message, kill it if it hangs, and restart it if it has ended.

        Returns the s until the next such call.
        """
        lines, now = self._process.lines(), self._running()
        if lines:
            self._heard, self._unconfirmed = now, 0
            self._overloads = next((line.decode() for line in reversed(lines) if line), self._overloads)
        elif now - self._heard > _SILENCE and not self._process.ended:
            self._hung += 1
            self._process.close()
        if self._process.ended and not self._closed and monotonic() - self._started >= _RESTART_INTERVAL:
            self._process.close()
            self.lost, self._unconfirmed = self.lost + self._unconfirmed, 0
            try:
                self._process = self._start()
            except TransportError as problem:
                self._start_error = str(problem)
            else:
                self._restarts += 1
                self._start_error = ""
                self._heard = self._running()
        return _IDLE_INTERVAL if self._process.flush() else _BUSY_INTERVAL

    @property
    def busy(self) -> bool:
        """Whether a message is only partly written: the rest is, by `maintain`."""
        return self._process.busy

    def try_send(self, frames: Frames) -> bool:
        """Write a message, at least in part, without waiting; return False if nothing was written."""
        return not self._process.busy and self._note_written(frames, self._process.offer(self._message(frames)))

    def send(self, frames: Frames) -> bool:
        """Write a message; wait if the process is busy; return whether written."""
        while True:
            self.maintain()
            if self._process.ended:
                return False
            # a process that was started again needs the header
            if self._process.offer(self._message(frames), _WRITE_WAIT):
                return self._note_written(frames, True)

    def _message(self, frames: Frames) -> bytes:
        if len(frames) == BLOCK_FRAMES and self._headers.get(frames[0]) is frames[1]:
            # the header is more than half of a block of results of 64 actuators
            frames = [frames[0], _SAME_HEADER, *frames[2:]]
        return pack_message(frames)

    def _note_written(self, frames: Frames, written: bool) -> bool:
        self._unconfirmed += written
        if written and len(frames) == BLOCK_FRAMES:
            self._headers[frames[0]] = frames[1]
        return written

    def kill(self) -> None:
        """Kill the process."""
        self._closed = True
        self._process.kill()

    def close(self, linger: float = 0.0) -> None:
        """Let the last messages leave for the `linger` of the constructor at most, and end the process."""
        self._closed = True
        self._process.close_input()
        self._process.wait(linger + 0.5)
        self._process.close()
