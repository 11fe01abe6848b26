"""Queues between the threads and processes of a recording: backlog counters, messages in flight, notes."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

from monitor.messages.blocks import Event, ResultBlock, SignalBlock
from monitor.messages.requests import MAX_NOTE, NoteRequest, Request

Item = SignalBlock | ResultBlock | Event

_AGE_RESOLUTION = 0.1  # s
_BLOCK_OVERHEAD = 512  # bytes of an item beside its numbers


def memory_size(item: Item) -> int:
    """Return the approximate memory of an item in bytes."""
    if isinstance(item, SignalBlock):
        return item.samples.nbytes + _BLOCK_OVERHEAD
    return (item.values.nbytes if isinstance(item, ResultBlock) else 0) + _BLOCK_OVERHEAD


class Backlog:
    """Samples and bytes that wait to be recorded: one thread adds, another removes in the same order, without a lock.

    Parameters
    ----------
    clock : s, monotonic.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # each counter is changed by a single thread
        self._added_samples = self._added_bytes = 0
        self._removed_samples = self._removed_bytes = 0
        self._marks: deque[tuple[int, float]] = deque()  # number of a sample, and when it was added

    def add(self, samples: int, n_bytes: int, arrived: float | None = None) -> None:
        """Count samples and bytes that wait, since they `arrived` (s, of the clock), or else from now on."""
        if samples:
            since = self._clock() if arrived is None else arrived
            if not self._marks or since - self._marks[-1][1] >= _AGE_RESOLUTION:
                self._marks.append((self._added_samples, since))
        self._added_samples += samples
        self._added_bytes += n_bytes

    def remove(self, samples: int, n_bytes: int) -> None:
        """Count the oldest samples and bytes as recorded or dropped."""
        self._removed_samples += samples
        self._removed_bytes += n_bytes

    @property
    def samples(self) -> int:
        """Number of waiting samples."""
        return self._added_samples - self._removed_samples

    @property
    def n_bytes(self) -> int:
        """Memory of all waiting items."""
        return self._added_bytes - self._removed_bytes

    @property
    def age(self) -> float:
        """Time since the oldest waiting sample arrived, s; 0 when none waits. Only for the thread that adds."""
        removed = self._removed_samples
        if removed >= self._added_samples:
            return 0.0
        while len(self._marks) > 1 and self._marks[1][0] <= removed:
            self._marks.popleft()
        return self._clock() - self._marks[0][1]


_FORGET = 60.0  # s of the stream after which earlier ones count half


class QueueLimit:
    """Limit of the memory of what waits for the disk, and how long it lasts at the rate of the stream.

    Parameters
    ----------
    n_bytes : the limit.
    """

    def __init__(self, n_bytes: int) -> None:
        self.n_bytes = n_bytes
        self._bytes = self._seconds = 0.0
        self._told = 0.0  # the share that the last note was about

    def count(self, n_bytes: int, seconds: float = 0.0) -> None:
        """Count bytes that were queued, and the s of the stream that they are of."""
        self._bytes += n_bytes
        self._seconds += seconds
        if self._seconds > _FORGET:
            self._bytes, self._seconds = self._bytes / 2.0, self._seconds / 2.0

    @property
    def seconds(self) -> float:
        """How much of the stream the memory has room for, s; infinite before the first samples."""
        return self.n_bytes * self._seconds / self._bytes if self._bytes else math.inf

    def note(self, waiting: int) -> str:
        """Return a note when half of the memory or all of it comes to be in use; otherwise an empty string."""
        share = waiting / self.n_bytes
        if share < 0.25:
            self._told = 0.0
        size = f"{self.n_bytes / (1 << 20):.3g} MB, {self.seconds:.3g} s at this rate"
        for level, text in (
            (1.0, f"the memory for samples that wait for the disk ({size}) is full: samples are now lost"),
            (0.5, f"half of the memory for samples that wait for the disk ({size}) is in use"),
        ):
            if share >= level > self._told:
                self._told = level
                return text
        return ""


_MESSAGE_OVERHEAD = 200  # bytes of a queued message beside its content


class _QueuedMessage(NamedTuple):
    content: bytes
    samples: int
    until: int  # kept until this many samples are recorded or dropped
    stream: bytes  # for a stream header: the kind of its blocks


class UnacknowledgedMessages:
    """Messages in order: those sent but not yet acknowledged, then those not yet sent."""

    def __init__(self) -> None:
        self._sent: deque[_QueuedMessage] = deque()
        self._unsent: deque[_QueuedMessage] = deque()
        self._headers: dict[bytes, _QueuedMessage] = {}  # in force before the first message
        self._samples = 0
        self.n_bytes = 0

    @property
    def first(self) -> bytes | None:
        """The next message to send; None when all were sent."""
        return self._unsent[0].content if self._unsent else None

    @property
    def unsent(self) -> int:
        """Number of samples that were not sent yet."""
        return sum(queued.samples for queued in self._unsent)

    def add(self, message: bytes, samples: int = 0, stream: bytes = b"") -> None:
        """Append a message.

        Parameters
        ----------
        samples : how many it carries.
        stream : for a stream header, the kind of its blocks; of each kind the last one is kept for a new receiver.
        """
        self._samples += samples
        # a message without samples is recorded before the next sample
        until = self._samples + (samples == 0)
        self._unsent.append(_QueuedMessage(message, samples, until, stream))
        self.n_bytes += len(message) + _MESSAGE_OVERHEAD

    def sent(self) -> None:
        """Mark the first message as sent."""
        self._sent.append(self._unsent.popleft())

    def release(self, done: int, *, idle: bool = False) -> None:
        """Remove messages up to the sample number `done`, or with `idle` all that were sent."""
        while self._sent and (idle or self._sent[0].until <= done):
            queued = self._sent.popleft()
            self.n_bytes -= len(queued.content) + _MESSAGE_OVERHEAD
            if queued.stream:
                # moved to the end: headers are in the order in which they came into force
                self._headers.pop(queued.stream, None)
                self._headers[queued.stream] = queued

    def rewind(self) -> None:
        """Mark all messages as unsent, with the headers in force before them: for a new receiver."""
        self._unsent = deque([*self._headers.values(), *self._sent, *self._unsent])
        self.n_bytes += sum(len(queued.content) + _MESSAGE_OVERHEAD for queued in self._headers.values())
        self._sent.clear()
        self._headers.clear()

    def drop(self) -> int:
        """Remove all messages that were sent, except headers; return how many samples they carried."""
        dropped = sum(queued.samples for queued in self._sent)
        self.release(0, idle=True)
        return dropped


class NoteQueue:
    """Notes of the program itself, from any thread, served as a `RequestServer` without clients.

    Parameters
    ----------
    initial : notes for the start of the stream.
    """

    endpoint = ""
    refused = 0
    trusted = True

    def __init__(self, initial: Iterable[str] = ()) -> None:
        self._waiting = deque(initial)

    def add(self, text: str) -> None:
        """Append a note."""
        self._waiting.append(text)

    def serve(self, carry_out: Callable[[Request], None]) -> None:
        """Pass the waiting notes to `carry_out`."""
        while self._waiting:
            # a longer one would end the service
            text = self._waiting.popleft().encode()[:MAX_NOTE].decode(errors="ignore")
            carry_out(NoteRequest(text=text))

    def close(self) -> None:
        """Do nothing."""
