"""Compared quantities: values over the stretch that two runs share, how far chance moves them, and tolerances."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

from monitor.messages.blocks import Samples
from monitor.messages.headline import HEADLINE
from replay.assessment.statistics import is_moving, spread

# key of a figure that is the median of a column over the windows, the column, and its factor from SI
MEDIANS = {
    "delay_ms": (f"{HEADLINE}_delay", 1e3),
    "ratio": (f"{HEADLINE}_ratio", 1.0),
    "fdb_delay_ms": ("fdb_delay", 1e3),
    "fdb_ratio": ("fdb_ratio", 1.0),
    "paei_delay_ms": ("paei_delay", 1e3),
    "paei_ratio": ("paei_ratio", 1.0),
}
ERRORS = "rms_error_percent", "peak_error_percent"

# blocks are at least so many windows long, and at most so many fill the stretch
_WINDOWS, _MOST_BLOCKS = 2.0, 20
_FEWEST_BLOCKS = 3.0
FEWEST_WINDOWS = _FEWEST_BLOCKS * _WINDOWS + 1.0
"""Windows that the common stretch must have for standard deviations."""
# degrees of freedom times those of normal values, and how many of these there must be: a value that is far off makes
# the sums large together with the mean
_FREEDOM, _LEAST_FREEDOM = 2.0, 1.5
# of a window, in which errors depend on one another
_MEMORY = 0.5
# cells: at most a window divided by this, and at most so many
_CELLS_OF_WINDOW, _MOST_CELLS = 4, 256
# of the absolute value of a standard normal variable
_MEDIAN = 0.6745
# standard deviations beyond which a difference is an outlier, and rounds of the mean
_OUTLIER, _ROUNDS = 3.0, 10


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure in two runs.

    Parameters
    ----------
    reference, value : in the unit of the figure; NaN where there is none.
    difference : of the run from the reference; of the two values where it is not paired.
    reference_sd, sd, difference_sd : standard deviations of the three; NaN where unknown.
    freedom : degrees of freedom of ``difference_sd``.
    paired : whether the difference is that at the same instants of one motion.
    """

    reference: float
    value: float
    difference: float
    reference_sd: float = math.nan
    sd: float = math.nan
    difference_sd: float = math.nan
    freedom: float = math.nan
    paired: bool = False

    def with_difference(self, found: _Figure) -> Estimate:
        """Return the same with the difference at the same instants, where its standard deviation is known."""
        if not math.isfinite(found.sd):
            return self
        return replace(self, difference=found.value, difference_sd=found.sd, freedom=found.freedom, paired=True)

    @classmethod
    def unpaired(cls, one: _Figure, two: _Figure) -> Estimate:
        """Return the estimate of a figure in two runs that are independent."""
        variances = one.sd**2, two.sd**2
        total = sum(variances)
        # Welch and Satterthwaite
        parts = sum(v**2 / f for v, f in zip(variances, (one.freedom, two.freedom), strict=True))
        freedom = total**2 / parts if parts > 0.0 else min(one.freedom, two.freedom)
        return cls(one.value, two.value, two.value - one.value, one.sd, two.sd, math.sqrt(total), freedom)


@dataclass(frozen=True, slots=True, eq=False)
class TrackedPart:
    """An actuator of a run within the common stretch; times are s after its beginning.

    Parameters
    ----------
    time : (n,) of the results, the ends of their windows.
    values : (n,) by the name of the column.
    relative_gate : fraction of the command's largest amplitude above which it counts as moving.
    signal_time : (k,) of the samples.
    command, measured : (k,); ``measured`` is NaN where the units differ.
    """

    time: NDArray[np.float64]
    values: Mapping[str, NDArray[np.float64]]
    relative_gate: float
    signal_time: NDArray[np.float64]
    command: Samples
    measured: Samples


def compare_parts(
    reference: TrackedPart, other: TrackedPart, duration: float, window: float, *, paired: bool
) -> dict[str, Estimate]:
    """Return the figures of an actuator in two runs, with standard deviations from sums over blocks of the time.

    Parameters
    ----------
    duration : of the common stretch, s.
    window : s, of the indicators.
    paired : both runs have one motion, aligned: differences are of the same instants, so that what the motion and the
        time do to both cancels. Else those of the figures of two runs that are independent.
    """
    step = max(window / _CELLS_OF_WINDOW, duration / _MOST_CELLS)
    length = max(_WINDOWS * window, duration / _MOST_BLOCKS)
    cells = _Cells(step, length, window)
    found = _medians(reference, other, duration, cells, paired)
    return found | _errors(reference, other, duration, replace(cells, window=_MEMORY * window), paired)


def _medians(one: TrackedPart, two: TrackedPart, duration: float, cells: _Cells, paired: bool) -> dict[str, Estimate]:
    masks = [is_moving(part.values, len(part.time), part.relative_gate) for part in (one, two)]
    centres = (np.arange(int(duration / cells.step)) + 0.5) * cells.step
    rows = [np.clip(np.searchsorted(part.time, centres), 0, max(0, len(part.time) - 1)) for part in (one, two)]
    known = {}
    for key, (column, factor) in MEDIANS.items():
        figures, values, variances = [], [], []
        for part, mask, row in zip((one, two), masks, rows, strict=True):
            whole = np.where(mask, factor * part.values.get(column, np.full(len(part.time), np.nan)), np.nan)
            sd = factor * part.values.get(f"{column}_sd", np.zeros(len(part.time)))
            there = np.full((2, len(centres)), np.nan)
            if len(part.time):
                there = np.where(centres >= part.time[0], np.stack([whole, sd])[:, row], np.nan)
            figures.append(replace(cells.median(there[0]), value=spread(whole, angle=False).median))
            values.append(there[0])
            variances.append(there[1] ** 2)
        estimate = Estimate.unpaired(*figures)
        if paired:
            estimate = estimate.with_difference(cells.mean(values[1] - values[0], variances[0] + variances[1]))
        known[key] = estimate
    return known


def _errors(one: TrackedPart, two: TrackedPart, duration: float, cells: _Cells, paired: bool) -> dict[str, Estimate]:
    """Return J2 with standard deviations, and J3 without: that of an extreme is not known from one record."""
    number = max(1, int(duration / cells.step))
    figures, peaks, influences = [], [], []
    for part in (one, two):
        known = np.isfinite(part.measured - part.command)
        command, error = part.command[known], (part.measured - part.command)[known]
        peak, influence, rms = math.nan, np.full(number, np.nan), math.nan
        if len(error):
            largest = float(np.abs(command).max())
            peak = 100.0 * float(np.abs(error).max()) / largest if largest > 0.0 else math.nan
        if len(error) and np.ptp(command) > 0.0:
            rms = 100.0 * float(np.std(error) / np.std(command))
            cell = np.clip((part.signal_time[known] / cells.step).astype(np.intp), 0, number - 1)
            # what each sample adds to the ratio of two mean squares
            squares = [(each - each.mean()) ** 2 / max(float(np.var(each)), 1e-300) for each in (error, command)]
            influence = np.bincount(cell, 0.5 * rms * (squares[0] - squares[1]) / len(error), number)
        peaks.append(peak)
        figures.append(cells.total(rms, influence))
        influences.append(influence)
    estimate = Estimate.unpaired(*figures)
    if paired:
        estimate = estimate.with_difference(cells.total(estimate.difference, influences[1] - influences[0]))
    return {ERRORS[0]: estimate, ERRORS[1]: Estimate(peaks[0], peaks[1], peaks[1] - peaks[0])}


@dataclass(frozen=True, slots=True)
class _Figure:
    """A figure with its standard deviation and the degrees of freedom of that."""

    value: float
    sd: float = math.nan
    freedom: float = math.nan


@dataclass(frozen=True, slots=True)
class _Cells:
    """Cells of the common time.

    Parameters
    ----------
    step : s, of a cell.
    length : s, of the blocks over which what cells add is summed.
    window : s, over which values of cells depend on one another by their windows.
    """

    step: float
    length: float
    window: float

    def median(self, values: NDArray[np.float64]) -> _Figure:
        """Return the median of the (n,) values, and its standard deviation (Woodruff 1952).

        The part of the values below the median is a mean, whose standard deviation is known from blocks; the values
        below which is 0.5 ± that are the median ± its own.
        """
        good = np.flatnonzero(np.isfinite(values))
        if not len(good):
            return _Figure(math.nan)
        known = values[good]
        middle = float(np.median(known))
        found = self._deviation(good, 0.5 * np.sign(known - middle) / len(good), np.full(len(good), 1.0 / len(good)))
        if not math.isfinite(found.sd):
            return replace(found, value=middle)
        low, high = np.quantile(known, np.clip([0.5 - found.sd, 0.5 + found.sd], 0.0, 1.0))
        return replace(found, value=middle, sd=0.5 * float(high - low))

    def mean(self, values: NDArray[np.float64], variances: NDArray[np.float64]) -> _Figure:
        """Return the mean of the (n,) values, outliers clipped, weighted by their variances and what they scatter."""
        good = np.flatnonzero(np.isfinite(values + variances))
        if not len(good):
            return _Figure(math.nan)
        known, own = values[good], variances[good]
        middle = float(np.median(known))
        size = np.abs(known - middle)
        low, high = 0.0, (float(np.max(size)) / _MEDIAN) ** 2
        for _ in range(40):
            excess = 0.5 * (low + high)
            few = np.mean(size <= _MEDIAN * np.sqrt(own + excess)) < 0.5
            low, high = (excess, high) if few else (low, excess)
        # equal values have no scatter
        variance = np.maximum(own + high, 1e-300)
        share = 1.0 / variance / np.sum(1.0 / variance)
        limit = _OUTLIER * np.sqrt(variance)
        for _ in range(_ROUNDS):
            middle += float(share @ np.clip(known - middle, -limit, limit))
        found = self._deviation(good, share * np.clip(known - middle, -limit, limit), share)
        return replace(found, value=middle)

    def total(self, value: float, added: NDArray[np.float64]) -> _Figure:
        """Return a figure with the standard deviation of a sum of what the (n,) cells add to it."""
        good = np.flatnonzero(np.isfinite(added))
        found = self._deviation(good, added[good], np.full(len(good), 1.0 / max(1, len(good))))
        return replace(found, value=value)

    def _deviation(self, cells: NDArray[np.intp], added: NDArray[np.float64], share: NDArray[np.float64]) -> _Figure:
        """Return the standard deviation of the sum of what (k,) cells add, each with its share in the mean.

        The mean square of the sums over all blocks (Bartlett) is corrected for what it loses where only the windows
        make neighbours depend on one another: by the mean, and between blocks. So are its degrees of freedom.
        """
        if not len(cells) or (cells[-1] - cells[0] + 1) * self.step < (_FEWEST_BLOCKS - 1e-9) * self.length:
            return _Figure(math.nan)
        apart = self.step * np.abs(cells[:, None] - cells[None, :])
        depends = np.maximum(0.0, 1.0 - apart / self.window)
        blocks = np.maximum(0.0, 1.0 - apart / self.length)
        form = share[:, None] * blocks * share
        true, observed = float(share @ depends @ share), float(added @ blocks @ added)
        # of deviations from the mean
        sums = form.sum(axis=1)
        form += np.outer(share, share) * sums.sum() - np.outer(share, sums) - np.outer(sums, share)
        expected = float(np.sum(form * depends))
        product = form @ depends
        freedom = expected**2 / float(np.sum(product * product.T))
        if freedom < _LEAST_FREEDOM:
            return _Figure(math.nan)
        return _Figure(math.nan, math.sqrt(max(0.0, observed) * true / expected), _FREEDOM * freedom)


_SIGNALS = ("command_rms_percent", "command_peak_percent", "measured_rms_percent", "measured_peak_percent")
_OF_RUN = ("duration_s", "lost_samples", "alarms")
KEYS = (*MEDIANS, *ERRORS, *_SIGNALS, *_OF_RUN)
"""Compared figures, in the order in which they are shown, with their units."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """The largest difference that is tolerated: an amount in the unit of the figure, or percent of the reference."""

    amount: float
    relative: bool = False

    def limit(self, reference: float) -> float:
        """Return the largest difference from a reference value."""
        return 0.01 * self.amount * abs(reference) if self.relative else self.amount

    def __str__(self) -> str:
        return f"{self.amount:g}{' %' if self.relative else ''}"


@dataclass(frozen=True, slots=True)
class Quantity:
    """One figure in the reference and in another run.

    Parameters
    ----------
    key : one of `KEYS`; its end is the unit.
    estimate : the values of both, and their standard deviations.
    tolerance : of the difference; None: none is given.
    """

    key: str
    estimate: Estimate
    tolerance: Tolerance | None = None

    @property
    def reference(self) -> float:
        """The reference's value; NaN where there is none."""
        return self.estimate.reference

    @property
    def value(self) -> float:
        """The other run's value; NaN where there is none."""
        return self.estimate.value

    @property
    def difference(self) -> float:
        """The other run's difference from the reference; see `replay.comparison.quantities.Estimate`."""
        return self.estimate.difference

    @property
    def significance(self) -> float:
        """The difference in its standard deviations; NaN where they are unknown, infinite where they are zero."""
        sd = self.estimate.difference_sd
        if not math.isfinite(sd + self.difference):
            return math.nan
        if self.difference == 0.0:
            return 0.0
        return self.difference / sd if sd > 0.0 else math.copysign(math.inf, self.difference)

    @property
    def probability(self) -> float:
        """Probability of so large a difference, or a larger one, by chance alone (Student's t); NaN where unknown."""
        return float(2.0 * t.sf(abs(self.significance), self.estimate.freedom))

    @property
    def result(self) -> str:
        """``within`` or ``exceeded``; ``unknown`` where a run has no value; empty without a tolerance."""
        if self.tolerance is None:
            return ""
        if not math.isfinite(self.difference):
            return "unknown"
        return "within" if abs(self.difference) <= self.tolerance.limit(self.reference) else "exceeded"


P_MEANING = "p: probability of so large a difference by noise alone; below 0.05 the runs differ"


def chance_text(probability: float) -> str:
    """Return the probability of a difference by chance; empty where it is unknown."""
    if math.isnan(probability):
        return ""
    return "<0.001" if probability < 1e-3 else f"{probability:.3f}"


def parse_tolerance(text: str) -> tuple[str, Tolerance]:
    """Return the key and the tolerance of ``KEY=VALUE`` or ``KEY=VALUE%``.

    Raises
    ------
    ValueError : there is no such key, or the value is no number from 0 on.
    """
    key, _, amount = (part.strip() for part in text.partition("="))
    if key not in KEYS:
        raise ValueError(f"--tolerance {text}: give KEY=VALUE or KEY=VALUE%, KEY one of {', '.join(KEYS)}")
    relative = amount.endswith("%")
    try:
        value = float(amount.removesuffix("%"))
    except ValueError:
        value = math.nan
    if not 0.0 <= value < math.inf:
        raise ValueError(f"--tolerance {text}: the value must be a number from 0 on, in the unit of {key}, or with %")
    if relative and key in _SIGNALS:
        raise ValueError(f"--tolerance {text}: {key} is in percent of the reference's signal: leave % out")
    return key, Tolerance(value, relative)


def actuator_quantities(
    estimates: Mapping[str, Estimate], signals: Mapping[str, tuple[float, float]], tolerances: Mapping[str, Tolerance]
) -> tuple[Quantity, ...]:
    """Return the compared figures of one actuator.

    Parameters
    ----------
    estimates : by key; see `replay.comparison.quantities.compare_parts`.
    signals : rms and peak of the difference of ``command`` and ``measured``, percent of the reference's.
    """
    found = [Quantity(key, estimate, tolerances.get(key)) for key, estimate in estimates.items()]
    for name, sizes in signals.items():
        for kind, size in zip(("rms", "peak"), sizes, strict=True):
            key = f"{name}_{kind}_percent"
            found.append(Quantity(key, Estimate(0.0, size, size), tolerances.get(key)))
    return tuple(found)


def run_quantities(
    reference: Mapping[str, object], other: Mapping[str, object], tolerances: Mapping[str, Tolerance]
) -> tuple[Quantity, ...]:
    """Return the compared figures of two runs as a whole, of their summaries' rows."""
    values = ((key, float(str(reference[key])), float(str(other[key]))) for key in _OF_RUN)
    return tuple(Quantity(key, Estimate(one, two, two - one), tolerances.get(key)) for key, one, two in values)
