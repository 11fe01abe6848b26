"""Backlog of the recording: samples and bytes in memory, and messages that the recorder process must acknowledge."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from monitor.messages.blocks import Event, ResultBlock, SignalBlock

Item = SignalBlock | ResultBlock | Event

_STEP = 0.1  # s: ages are known as exactly as that
_BLOCK_OVERHEAD = 512  # bytes that an item takes beside its numbers


def size(item: Item) -> int:
    """Return how many bytes of memory an item takes, about."""
    if isinstance(item, SignalBlock):
        return item.samples.nbytes + _BLOCK_OVERHEAD
    return (item.values.nbytes if isinstance(item, ResultBlock) else 0) + _BLOCK_OVERHEAD


class Backlog:
    """Counts what one thread puts and another settles, in the same order; neither waits for the other.

    Parameters
    ----------
    clock : s, monotonic.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # each of them is changed by one thread alone
        self._put_samples = self._put_bytes = 0
        self._settled_samples = self._settled_bytes = 0
        self._marks: deque[tuple[int, float]] = deque()  # number of a sample, and when it came

    def put(self, samples: int, n_bytes: int) -> None:
        """Count what waits from now on."""
        if samples:
            now = self._clock()
            if not self._marks or now - self._marks[-1][1] >= _STEP:
                self._marks.append((self._put_samples, now))
        self._put_samples += samples
        self._put_bytes += n_bytes

    def settle(self, samples: int, n_bytes: int) -> None:
        """Count what waits no longer: the oldest."""
        self._settled_samples += samples
        self._settled_bytes += n_bytes

    @property
    def samples(self) -> int:
        """How many samples wait."""
        return self._put_samples - self._settled_samples

    @property
    def n_bytes(self) -> int:
        """What waits takes so much memory."""
        return self._put_bytes - self._settled_bytes

    @property
    def age(self) -> float:
        """Since when the oldest sample waits, s; 0 when none does. For the thread that puts."""
        settled = self._settled_samples
        if settled >= self._put_samples:
            return 0.0
        while len(self._marks) > 1 and self._marks[1][0] <= settled:
            self._marks.popleft()
        return self._clock() - self._marks[0][1]


_MESSAGE_OVERHEAD = 200  # bytes that a message takes beside its own


@dataclass(frozen=True, slots=True)
class _Held:
    message: bytes
    samples: int
    until: int  # is held until so many samples are recorded or given up
    stream: bytes  # the kind of blocks whose header it is


class UnacknowledgedMessages:
    """Messages in their order: at first those that were sent and may have to be sent again, then those to be sent."""

    def __init__(self) -> None:
        self._sent: deque[_Held] = deque()
        self._unsent: deque[_Held] = deque()
        self._headers: dict[bytes, _Held] = {}  # in force before the first of them
        self._samples = 0
        self.n_bytes = 0

    @property
    def first(self) -> bytes | None:
        """The next message to be sent; None: all were."""
        return self._unsent[0].message if self._unsent else None

    @property
    def unsent(self) -> int:
        """Samples that were not sent yet."""
        return sum(held.samples for held in self._unsent)

    def add(self, message: bytes, samples: int = 0, stream: bytes = b"") -> None:
        """Put a message at the end.

        Parameters
        ----------
        samples : that it brings.
        stream : where it is the header of a stream, of what kind its blocks are.
        """
        self._samples += samples
        # what brings none is recorded before the sample that comes next
        until = self._samples + (samples == 0)
        self._unsent.append(_Held(message, samples, until, stream))
        self.n_bytes += len(message) + _MESSAGE_OVERHEAD

    def sent(self) -> None:
        """Note that the first was sent."""
        self._sent.append(self._unsent.popleft())

    def release(self, settled: int, *, idle: bool = False) -> None:
        """Let go what is recorded or given up: so many samples, or with `idle` all that was sent."""
        while self._sent and (idle or self._sent[0].until <= settled):
            held = self._sent.popleft()
            self.n_bytes -= len(held.message) + _MESSAGE_OVERHEAD
            if held.stream:
                self._headers[held.stream] = held

    def rewind(self) -> None:
        """Send all again, to one who knows nothing."""
        self._unsent = deque([*self._headers.values(), *self._sent, *self._unsent])
        self.n_bytes += sum(len(held.message) + _MESSAGE_OVERHEAD for held in self._headers.values())
        self._sent.clear()
        self._headers.clear()

    def drop(self) -> int:
        """Let go what was sent, but for headers, and return how many samples that were."""
        dropped = sum(held.samples for held in self._sent)
        self.release(0, idle=True)
        return dropped
