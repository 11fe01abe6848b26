"""What the process that records was told, or will be, until it is on the disk."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

_OVERHEAD = 200  # bytes that a message takes beside its own


@dataclass(frozen=True, slots=True)
class _Held:
    message: bytes
    samples: int
    until: int  # is held until so many samples are recorded or given up
    stream: bytes  # the kind of blocks whose header it is


class HeldMessages:
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
        self.n_bytes += len(message) + _OVERHEAD

    def sent(self) -> None:
        """Note that the first was sent."""
        self._sent.append(self._unsent.popleft())

    def release(self, settled: int, *, idle: bool = False) -> None:
        """Let go what is recorded or given up: so many samples, or with `idle` all that was sent."""
        while self._sent and (idle or self._sent[0].until <= settled):
            held = self._sent.popleft()
            self.n_bytes -= len(held.message) + _OVERHEAD
            if held.stream:
                self._headers[held.stream] = held

    def rewind(self) -> None:
        """Send all again, to one who knows nothing."""
        self._unsent = deque([*self._headers.values(), *self._sent, *self._unsent])
        self.n_bytes += sum(len(held.message) + _OVERHEAD for held in self._headers.values())
        self._sent.clear()
        self._headers.clear()

    def drop(self) -> int:
        """Let go what was sent, but for headers, and return how many samples that were."""
        dropped = sum(held.samples for held in self._sent)
        self.release(0, idle=True)
        return dropped
