"""Senders: what a native one contradicts, and which one of plain messages is followed where several send."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import replace

import numpy as np

from monitor.messages.blocks import Event, EventKind, Samples, SignalBlock, Stream
from monitor.wire.native import OtherSenderError, WireError
from monitor.wire.plain import PlainMessage
from monitor.wire.plain_assembler import Items, PlainAssembler
from monitor.wire.sample_rate import RateCheck, rate_contradicted, rate_implausible
from monitor.wire.sender_run import OWN_RIG

_LEAST_ROWS = 8
_ROUGHER, _UNEVEN = 10.0, 4.0  # times, beyond which one reading of a payload is rough and differences are uneven
_SURE = 8  # blocks in a row that are rough by rows
_ALTERNATES, _AT_ONCE = 3, 1.0  # changes to a connection that was heard within so many s, in a row
_TRANSPOSED = "the payloads are smooth channel after channel, not row after row: transpose them before they are sent"
_SECOND = f"a second sender, by its connection, sends as the same rig: its samples are late or repeated, {OWN_RIG}"


class NativeSender:
    """A native sender: its stream with the rate that its times have, and what it contradicts, reported once each."""

    def __init__(self) -> None:
        self._declared: Stream | None = None
        self._newest: Hashable = None
        self._heard = math.nan
        self._others: dict[Hashable, float] = {}  # connections before the newest, and when each was heard, s
        self._returns = 0

    def accept(
        self, block: SignalBlock, origin: Hashable, arrived: float = math.nan
    ) -> tuple[Event | SignalBlock, ...]:
        """Return the block with the rate of its times, after what is wrong with it.

        Parameters
        ----------
        origin : endpoint and connection.
        arrived : s, monotonic.
        """
        if block.stream is not self._declared and block.stream != self._declared:
            self._declared = self._stream = block.stream
            self._rate = RateCheck(block.stream.sample_rate)
            self._rough = 0
        problems: list[str] = []
        if origin != self._newest:
            problems += self._second_sender(origin, arrived)
        self._heard = arrived
        if self._rough >= 0 and len(block) >= _LEAST_ROWS:
            problems += self._order(block.samples)
        rate = self._rate.add(block.index, block.time) if len(block) else None
        if rate is not None:
            problems.append(rate_contradicted(block.stream.sample_rate, rate))
            if not rate_implausible(block.stream.sample_rate, rate):
                self._stream = replace(block.stream, sample_rate=rate)
        if self._stream is not self._declared:
            block = replace(block, stream=self._stream)
        if not problems:
            return (block,)
        return (*(Event(EventKind.CONTRADICTION, block.time, block.index, 0, each) for each in problems), block)

    def _second_sender(self, origin: Hashable, arrived: float) -> list[str]:
        """Say once that connections take turns; the number of a closed one may be another's later."""
        self._others[self._newest] = self._heard
        self._others = {other: heard for other, heard in self._others.items() if arrived - heard < _AT_ONCE}
        self._returns = self._returns + 1 if origin in self._others else 0
        self._newest = origin
        return [_SECOND] if self._returns == _ALTERNATES else []

    def _order(self, samples: Samples) -> list[str]:
        """Say once that the samples are in the order of channels; a block that is smooth by rows ends the search."""
        if not np.isfinite(samples).all():
            return []
        with np.errstate(over="ignore", invalid="ignore"):
            by_rows, by_channels = _roughness(samples), _roughness(samples.reshape(samples.shape[::-1]).T)
            if by_channels > _ROUGHER * by_rows:
                self._rough = -1
            elif by_rows > _ROUGHER * by_channels and _is_even(samples):
                self._rough += 1
            else:
                self._rough = 0
        if self._rough < _SURE:
            return []
        self._rough = -1
        return [_TRANSPOSED]


def _roughness(samples: Samples) -> float:
    """Return the sum of squared second differences of (n_samples, n_channels)."""
    return float(np.sum(np.diff(samples, 2, axis=0) ** 2))


def _is_even(samples: Samples) -> bool:
    """Whether neighbours in the payload differ alike within rows and between them: equal channels do not."""
    rows, channels = samples.shape
    place = np.arange(1, samples.size)
    squares = np.diff(samples.ravel()) ** 2
    inside = place % rows != 0  # of one channel, if channel comes after channel
    between = inside & (place % channels == 0)  # none where a row's end is always a channel's, too
    return bool(between.any() and squares[between].mean() <= _UNEVEN * squares[inside].mean())


_SUCCEEDS, _REFUSED_SUCCEEDS = 0.25, 1.0  # s of samples, without one of the sender before
_MESSAGES = 3


class PlainSenders:
    """The senders of one rig, of which one is followed.

    A message that does not continue the samples before is another sender's, or that of one that has restarted or
    was changed: it comes through another connection, its `t` or `index` is more than a second off, or its
    actuators, rate or epoch are others. It is held until there is a quarter of a second of such samples in at least
    three messages, which then are those of the sender. If the one before is heard meanwhile, there are two: the
    other one is refused, until nothing else has come for a second of its samples.

    Parameters
    ----------
    sample_rate : Hz, for a sender that does not send it.
    """

    def __init__(self, sample_rate: float | None = None) -> None:
        self._assembler = PlainAssembler(sample_rate)
        self._origin: Hashable = None
        self._held: list[tuple[PlainMessage, Hashable, float]] = []
        self._refused = self._refused_samples = 0  # messages and samples since one was accepted
        self._differs = self._refuses = ""

    @property
    def held(self) -> int:
        """Samples that are held."""
        return sum(len(message) for message, _, _ in self._held) + self._assembler.held

    def accept(self, message: PlainMessage, origin: Hashable, arrived: float = math.nan) -> Items:
        """Return the blocks that `message` completes, and events, in order.

        Parameters
        ----------
        origin : its endpoint and connection.
        arrived : s, monotonic.

        Raises
        ------
        WireError : it is another sender's, or is rejected for itself.
        """
        differs = self._assembler.differs(message)
        if not differs and origin != self._origin and self._origin is not None and not self._assembler.ended:
            differs = "connection"
        if not differs:
            self._origin, self._refused, self._refused_samples = origin, 0, 0
            refused = self._refuse() if self._held else ()
            return refused + self._assembler.accept(message, arrived)
        if not len(message) and not message.last:
            return ()  # a heartbeat tells nothing about whom to follow
        rate = message.sample_rate or self._assembler.rate
        if self._refuses:
            self._refused += 1
            self._refused_samples += len(message)
            if self._refused < _MESSAGES or self._refused_samples < _REFUSED_SUCCEEDS * rate:
                raise OtherSenderError(self._refuses)
            self._refuses = ""
        self._differs = differs
        self._held.append((message, origin, arrived))
        samples = sum(len(each) for each, _, _ in self._held)
        return self._succeed() if len(self._held) >= _MESSAGES and samples >= _SUCCEEDS * rate else ()

    def _succeed(self) -> Items:
        """Return the blocks of the messages that are held: no other sender was heard."""
        held, self._held = self._held, []
        items: list[Items] = []
        for message, self._origin, arrived in held:
            try:
                items.append(self._assembler.accept(message, arrived))
            except WireError as problem:
                at = self._assembler.position
                items.append((Event(EventKind.REJECTED, *at, 1, str(problem), samples=len(message)),))
        return tuple(item for each in items for item in each)

    def flush(self) -> Items:
        """Return what is held of the sender that is followed, or of one that has ended: no more comes for now."""
        ended = self._held and self._held[-1][0].last
        return self._assembler.flush() + (self._succeed() if ended else ())

    def _refuse(self) -> Items:
        """Return the event of the messages that are held: the sender before was heard again."""
        held, self._held = self._held, []
        first = held[0][0]
        if self._differs == "t" and len(held) == 1 and self._assembler.position[1] == len(first):
            # what follows is put in order
            text = "a message from before the first that is used: messages come out of order"
            return (Event(EventKind.REJECTED, *self._assembler.position, 1, text, samples=len(first)),)
        self._refuses = f"a second sender, by its {self._differs}, sends as the same rig: refused, {OWN_RIG}"
        samples = sum(len(message) for message, _, _ in held)
        at = self._assembler.position
        return (
            Event(EventKind.CONTRADICTION, *at, 0, self._refuses),
            Event(EventKind.REJECTED, *at, len(held), self._refuses, samples=samples),
        )
