"""Results of an assessment: headline, statistics, series and warnings of each actuator."""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitor.config import IndicatorSettings
from monitor.indicators.benchmark_criteria import BenchmarkCriteria
from monitor.indicators.frequency_evaluation import FrequencyEvaluation
from monitor.messages.blocks import Column, Pair, Samples, Stream, TransferBlock
from monitor.messages.reasons import Reason
from replay.assessment.change_points import Segmentation


@dataclass(frozen=True)
class WholeRecord:
    """FEI and J1 to J3 of one actuator, over all good samples of a record.

    ``fei_tapered`` is FEI under a Hann taper: a record that ends in mid-motion leaks into ``fei`` as published.
    ``left_out`` samples are missing or not finite; ``fei_left_out`` are these, and those of stretches between gaps
    that are too short for FEI.
    """

    fei: FrequencyEvaluation
    fei_tapered: FrequencyEvaluation
    criteria: BenchmarkCriteria
    left_out: int
    fei_left_out: int


_UNKNOWN = Segmentation()
# in words of segments
_MOST_SEGMENTS = 8
# fraction of the instants from which an indicator contradicts the headline
_OFTEN = 0.1


@dataclass(frozen=True, slots=True)
class RecordWarning:
    """A problem of a record that makes its figures misleading, and what to do about it.

    Parameters
    ----------
    code : one word for scripts, such as ``delay_changes``; one of `replay.assessment.warnings.WORST_FIRST`.
    text : what was found and, after a colon or semicolon, what to do; one line.
    actuator : the one concerned; None for the record as a whole.
    """

    code: str
    text: str
    actuator: str | None = None


@dataclass(frozen=True)
class Spread:
    """Median, mean and percentiles of the valid values of an indicator; NaN where there are none."""

    median: float
    mean: float
    p05: float
    p95: float


@dataclass(frozen=True, slots=True)
class Departure:
    """A stretch of windows, from ``start`` to ``stop`` [s], that depart from the headline to one side.

    ``value`` is the mean over the stretch, each window weighted by its uncertainty, and ``sd`` that of one window, in
    the unit of the quantity.
    """

    start: float
    stop: float
    value: float
    sd: float

    @property
    def duration(self) -> float:
        """Length of the stretch, s."""
        return self.stop - self.start


@dataclass(frozen=True)
class HeadlineEstimate:
    """The delay and the ratio of an actuator to read first; NaN where no window gave them.

    ``delay`` [s] and ``ratio`` command/measured are medians over the windows; ``delay_sd`` and ``ratio_sd`` the
    medians of one window's standard deviation; ``delay_median_sd`` and ``ratio_median_sd`` the standard deviations of
    the medians themselves, from the effective number of independent windows. ``valid_fraction`` is the fraction of
    instants that have a value. ``delay_range`` [s] and ``ratio_range`` span the 5th and 95th percentile of the
    certain windows and all constant levels where the value changes within the record by more than its uncertainty;
    None where it does not.
    ``delay_segments`` [s] and ``ratio_segments`` have the change points. ``delay_departure`` and ``ratio_departure``
    are the farthest departures from the value, or from its range where it changes; None where there is none.
    """

    delay: float
    delay_sd: float
    ratio: float
    ratio_sd: float
    valid_fraction: float
    delay_range: tuple[float, float] | None = None
    ratio_range: tuple[float, float] | None = None
    delay_segments: Segmentation = _UNKNOWN
    ratio_segments: Segmentation = _UNKNOWN
    delay_departure: Departure | None = None
    ratio_departure: Departure | None = None
    delay_median_sd: float = math.nan
    ratio_median_sd: float = math.nan

    @property
    def lasting_delay(self) -> float:
        """The delay [s]; where it changes, the end of its range that is farther from zero."""
        return self.delay if self.delay_range is None else max(self.delay_range, key=abs)

    @property
    def farthest_delay(self) -> float:
        """The delay [s] farthest from zero: the lasting one, or that of the farthest departure."""
        departure, delay = self.delay_departure, self.lasting_delay
        return delay if departure is None else max(delay, departure.value, key=abs)


@dataclass(frozen=True)
class Contradiction:
    """How far an indicator that is compared with the headline contradicts it.

    ``fraction`` is the fraction of the instants at which its delay or ratio differs from the headline's by more than
    the bands, of those at which both have a value; NaN where there are none. ``delay`` [s] and ``ratio`` [of the
    headline's] are the medians of the absolute differences at those instants; 0 where there are none.
    """

    fraction: float
    delay: float
    ratio: float

    @property
    def often(self) -> bool:
        """Whether this is more than chance would give."""
        return self.fraction >= _OFTEN


@dataclass(frozen=True)
class Presence:
    """How often a measure has a value, and why it has none otherwise.

    ``valid`` is the fraction of the instants at which the command moves and there is a value; ``missing`` has the
    fraction of all instants by the reason of the missing value, the largest first.
    """

    valid: float
    missing: dict[Reason, float]


@dataclass(frozen=True)
class PairAssessment:
    """One actuator: the spread of every indicator by column name, in SI and rad, and the valid fraction.

    The spreads are over the instants at which the command is above the gate's fraction of its largest amplitude in
    the whole record: lead-ins are left out. ``headline`` is None where the broadband delay was not computed.
    ``contradicts`` has the contradiction of each other indicator with the headline, outside its departures.
    ``valid_fraction`` is the fraction of instants at which the command moves and FDB and PAEI, if they were computed,
    both have a value, and ``presence`` has that of each measure. ``totals`` are the last values of the cumulative
    columns. ``stiffness`` has the specimen's change points, in the unit of ``specimen_stiffness``.
    """

    pair: Pair
    headline: HeadlineEstimate | None
    contradicts: dict[str, Contradiction]
    spreads: dict[str, Spread]
    totals: dict[str, float]
    valid_fraction: float
    presence: dict[str, Presence]
    whole: WholeRecord
    stiffness: Segmentation = _UNKNOWN


@dataclass(frozen=True, slots=True)
class CompensatorSummary:
    """What a compensator did in a record, from its channels; NaN where a channel is missing.

    ``delay`` [s] is the mean of its compensated delay and ``delay_range`` [s] the 5th and 95th percentile, ``gain``
    the mean gain. ``adapting`` and ``limited`` are fractions of the samples, ``bridged`` is a number of samples.
    """

    delay: float
    delay_range: tuple[float, float]
    gain: float
    adapting: float
    limited: float
    bridged: float


@dataclass(frozen=True)
class Series:
    """All values over time: ``values`` (n, n_columns).

    Parameters
    ----------
    time : (n,) s on the publisher's clock.
    elapsed : (n,) s after the record's first sample; gaps count, pauses at restarts do not, whatever the clock shows.
    """

    time: NDArray[np.float64]
    elapsed: NDArray[np.float64]
    values: Samples
    columns: tuple[Column, ...]

    def of(self, actuator: str) -> dict[str, NDArray[np.float64]]:
        """Return the (n,) values of an actuator by the names of their columns."""
        return {c.name: self.values[:, i] for i, c in enumerate(self.columns) if c.actuator == actuator}


@dataclass(frozen=True)
class Assessment:
    """Results of the indicators for a recording; ``compensators`` by actuator, of those that have one.

    ``start`` [s] is the time of the first sample that was assessed, from the record's first. ``missing`` samples are
    lacking in ``gaps`` gaps, and the publisher restarted ``restarts`` times.
    """

    stream: Stream
    settings: IndicatorSettings
    samples: int
    pairs: tuple[PairAssessment, ...]
    series: Series
    transfer: TransferBlock | None
    warnings: tuple[RecordWarning, ...]
    notes: tuple[str, ...]
    compensators: dict[str, CompensatorSummary]
    start: float
    missing: int
    gaps: int
    restarts: int

    @property
    def duration(self) -> float:
        """Length of the record through its gaps, s."""
        return (self.samples + self.missing) / self.stream.sample_rate

    def warnings_of(self, actuator: str | None) -> tuple[RecordWarning, ...]:
        """Return the warnings about one actuator; None: about the record as a whole."""
        return tuple(warning for warning in self.warnings if warning.actuator == actuator)


def delay_changes(found: PairAssessment) -> bool:
    """Whether the headline's delay changes within the record."""
    return found.headline is not None and found.headline.delay_range is not None


def delay_varies(found: PairAssessment) -> bool:
    """Whether the headline's delay changes within the record, or departs for a while."""
    return delay_changes(found) or (found.headline is not None and found.headline.delay_departure is not None)


def milliseconds(seconds: float) -> str:
    """Return a delay in ms with one decimal, and no minus before a zero."""
    return f"{round(1e3 * seconds, 1) + 0.0:.1f}"


def departure_words(departure: Departure, usual: float, shown: str) -> str:
    """Return ``up to 4.4 ms late``, or ``down to`` a value that is smaller than the `usual` one and of its sign."""
    smaller = departure.value * usual > 0.0 and abs(departure.value) < abs(usual)
    return f"{'down' if smaller else 'up'} to {shown} in the mean of {departure.duration:.2g} s"


def late_or_early(seconds: float) -> str:
    """Return ``4.4 ms late`` or ``4.4 ms early``."""
    return f"{milliseconds(abs(seconds))} ms {'late' if seconds > 0.0 else 'early'}"


def segment_words(segmentation: Segmentation) -> str:
    """Return where a delay has which value; empty where it is unknown, or has very many segments."""
    if not segmentation.changes or len(segmentation.segments) > _MOST_SEGMENTS:
        return ""
    listed = ", ".join(
        f"{' to '.join(map(milliseconds, (s.first, s.last) if s.drifts else (s.first,)))} ms "
        f"from {s.start:.4g} to {s.stop:.4g} s"
        for s in segmentation.segments
    )
    return f" ({listed})"


def lasting_delay(found: PairAssessment) -> float:
    """Return the headline's delay [s]; where it changes, the end of its range that is farther from zero."""
    return math.nan if found.headline is None else found.headline.lasting_delay


def farthest_delay(found: PairAssessment) -> float:
    """Return the delay [s] farthest from zero: the lasting one, or that of the farthest departure."""
    return math.nan if found.headline is None else found.headline.farthest_delay


def phase_at_dominant(found: PairAssessment, delay: float) -> tuple[float, float]:
    """Return the phase [rad] of a delay [s] at the dominant frequency, and that frequency [Hz]."""
    spread = found.spreads.get("fdb_frequency")
    if spread is None:
        return math.nan, math.nan
    return -2.0 * math.pi * spread.median * delay, spread.median


def synchronization_error(found: PairAssessment) -> float:
    """Return |measured - command| / |command| of the dominant motion from the farthest delay; NaN where unknown."""
    phase, _ = phase_at_dominant(found, farthest_delay(found))
    if found.headline is None or not math.isfinite(phase * found.headline.ratio):
        return math.nan
    return abs(cmath.rect(1.0 / found.headline.ratio, phase) - 1.0)
