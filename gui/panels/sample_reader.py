"""What is known of a rig's channels at one instant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gui.model.history.envelope import Envelope
from gui.model.history.signals import SignalHistory
from gui.plots.time.rows import Interval, intervals
from monitor.messages.blocks import Samples


@dataclass(frozen=True, slots=True, eq=False)
class SampleReader:
    """Read the sample nearest to an instant, or the newest one before.

    Where memory has no more than the range of a bucket, the value, or the narrower range, of the detail is read.

    Parameters
    ----------
    signals : what memory has; None if it has nothing.
    rows : columns of the channels in every row.
    detail : from the run file, as it is on the screen; None where there is none.
    detailed : the columns of the channels in it.
    """

    signals: SignalHistory | None
    rows: Sequence[Sequence[int]]
    detail: Envelope | None = None
    detailed: Sequence[int] = ()

    def __call__(self, x: float) -> list[list[Interval]]:
        """Return what is known of each row's channels at `x`, s."""
        if self.signals is None:
            return []
        at = min(x, self.signals.end_x)
        wanted = [column for row in self.rows for column in row]
        low, high = self.signals.between(at, wanted)
        if self.detail is not None:
            finer_low, finer_high = self._finer(self.detail, at + 0.5 / self.signals.sample_rate, wanted)
            # a comparison with NaN is False: what memory has forgotten is taken too
            closer = ~np.isnan(finer_low) & ~(high - low <= finer_high - finer_low)
            low, high = np.where(closer, finer_low, low), np.where(closer, finer_high, high)
        found = iter(intervals(low, high))
        return [[next(found) for _ in row] for row in self.rows]

    def _finer(self, detail: Envelope, place: float, wanted: Sequence[int]) -> tuple[Samples, Samples]:
        """Return what the detail says of channels, NaN of those that are not in it."""
        low, high = detail.at(place)
        nothing = np.array([np.nan])
        columns = [self.detailed.index(column) if column in self.detailed else -1 for column in wanted]
        return np.concatenate([low, nothing])[columns], np.concatenate([high, nothing])[columns]
