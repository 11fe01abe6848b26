"""Whether the service's counts of samples add up, by ways that do not depend on each other."""

from __future__ import annotations

from monitor.engine.monitor import Update
from monitor.messages.blocks import EventKind
from monitor.messages.health import Counts, Recording


class SampleAccount:
    """Samples by the rig's own numbers, to be held against what is counted as received, lost and recorded.

    What the numbers of a stream span is received or lost, and what is received is recorded, given up or waits for the
    disk. What is missing from these sums is a loss that nothing else tells: a defect of the service.
    """

    def __init__(self) -> None:
        self._numbered = 0
        self._next = 0

    def take(self, update: Update) -> None:
        """Count by their numbers the samples that a block brought, and those missing before them."""
        block = update.signals
        if block is None:
            return
        if any(event.kind in (EventKind.STARTED, EventKind.RESTART) for event in update.events):
            self._next = block.index
        self._numbered += block.index + len(block) - self._next
        self._next = block.index + len(block)

    def missing(self, counts: Counts, left: int, kept: Recording) -> int:
        """Return how many samples are in none of the counts, or in two of them; 0 where all add up.

        Parameters
        ----------
        left : samples that are counted as lost, of which no number is known: those left when the service stopped.
        kept : of which an empty path says that nothing is recorded.
        """
        missing = abs(self._numbered - counts.received - (counts.lost - left))
        if kept.path:
            missing += abs(counts.received + left - kept.recorded - kept.unrecorded - kept.waiting)
        return missing
