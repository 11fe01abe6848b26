"""Which sender of plain messages is followed, where several send without a `rig` of their own."""

from __future__ import annotations

import math
from collections.abc import Hashable

from monitor.messages.blocks import Event, EventKind
from monitor.wire.native import OtherSenderError, WireError
from monitor.wire.plain import PlainMessage
from monitor.wire.plain_assembler import Items, PlainAssembler
from monitor.wire.sender_run import OWN_RIG

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
