"""What comes out: each reliability over the instants, with its Monte-Carlo standard error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitor.messages.blocks import Samples


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """One reliability.

    Parameters
    ----------
    value : (n_instants,), a probability; NaN where it is not known.
    standard_error : (n_instants,), of the value, because the realizations are so many and not more; it says nothing
        of how the replicates scatter. Zero where all realizations agree; NaN for a single realization.
    """

    value: Samples
    standard_error: Samples

    def at(self, known: NDArray[np.bool_]) -> Curve:
        """Return the curve with its values at the instants that are `known`, (n,), and NaN at the others."""
        wide = np.full((2, len(known)), np.nan)
        wide[:, known] = self.value, self.standard_error
        return Curve(*wide)

    def between(self, first: int, last: int) -> Curve:
        """Return the instants from `first` on, without `last`."""
        return Curve(self.value[first:last], self.standard_error[first:last])


@dataclass(frozen=True, slots=True, eq=False)
class Reliability:
    """The reliabilities of a model at consecutive instants.

    Parameters
    ----------
    instantaneous, first_passage, accumulated : eq. 6, 19 and 26.
    windowed : accumulated over what was judged of the last instants alone; NaN until they are so many.
    """

    instantaneous: Curve
    first_passage: Curve
    accumulated: Curve
    windowed: Curve

    @property
    def curves(self) -> tuple[Curve, Curve, Curve, Curve]:
        """In the order of `NAMES`."""
        return self.instantaneous, self.first_passage, self.accumulated, self.windowed

    def at(self, known: NDArray[np.bool_]) -> Reliability:
        """Return every curve so, see `Curve.at`."""
        return Reliability(*(curve.at(known) for curve in self.curves))

    def between(self, first: int, last: int) -> Reliability:
        """Return every curve so, see `Curve.between`."""
        return Reliability(*(curve.between(first, last) for curve in self.curves))

    def last(self) -> dict[str, tuple[float, float]]:
        """Return each value and its standard error, by name, at the last instant that was judged; NaN if none was."""
        known = np.flatnonzero(np.isfinite(self.instantaneous.value))
        if not len(known):
            return dict.fromkeys(NAMES, (float("nan"), float("nan")))
        end = int(known[-1])
        pairs = [(float(curve.value[end]), float(curve.standard_error[end])) for curve in self.curves]
        return dict(zip(NAMES, pairs, strict=True))

    def __len__(self) -> int:
        return len(self.instantaneous.value)


NAMES = ("instantaneous", "first_passage", "accumulated", "windowed")
