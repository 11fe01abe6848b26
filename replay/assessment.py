"""A recorded run -> what the indicators say of it: the series, and their statistics."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitor.blocks import Column, Pair, Samples, Stream
from monitor.config import MEASURES, IndicatorSettings
from monitor.engine import Monitor
from monitor.indicators.base import LARGEST_WINDOW
from monitor.transfer import TransferBlock
from replay.formats import Recording
from replay.whole_record import WholeRecord, whole_record

_BLOCK = 4096
# the statistics of ten million values an indicator are no better than those of one
_MOST_ROWS = 2_000_000
# half of each overlaps the next: about six averages
_FEWEST_SEGMENTS = 4
_SHORTEST_SEGMENT = 32  # samples


@dataclass(frozen=True)
class Spread:
    """Where the valid values of an indicator lie; NaN where there are none."""

    median: float
    mean: float
    p05: float
    p95: float


@dataclass(frozen=True)
class PairAssessment:
    """One actuator: the spread of every indicator by column name, in SI and rad, and the valid fraction.

    The spreads are over the instants at which the command is above the gate's fraction of its largest amplitude in
    the whole record: lead-ins are left out. ``valid_fraction`` is the part of all instants that are such and at which
    FDB and PAEI, if they were computed, both say something. ``totals`` are the last values of what counts since the
    start.
    """

    pair: Pair
    spreads: dict[str, Spread]
    totals: dict[str, float]
    valid_fraction: float
    whole: WholeRecord


@dataclass(frozen=True)
class Series:
    """All values over time: ``time`` (n,), ``values`` (n, n_columns)."""

    time: NDArray[np.float64]
    values: Samples
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class Assessment:
    """What the indicators say of a recording."""

    stream: Stream
    settings: IndicatorSettings
    samples: int
    pairs: tuple[PairAssessment, ...]
    series: Series
    transfer: TransferBlock | None
    notes: tuple[str, ...]

    @property
    def duration(self) -> float:
        """Length of the record, s."""
        return self.samples / self.stream.sample_rate


def assess(recording: Recording, settings: IndicatorSettings, *, thin: bool = True) -> Assessment:
    """Run the engine over a recording, as it would run live.

    Parameters
    ----------
    settings : of the indicators.
    thin : look only at every n-th sample where a record is longer than statistics need; noted.

    Raises
    ------
    ValueError : the recording has no command and measured pair, or the settings do not fit it.
    """
    stream = recording.stream
    if not stream.pairs:
        raise ValueError("the recording has no command and measured channels: name them with --command, --measured")
    if not recording.n_samples:
        raise ValueError("the recording holds no samples")
    notes = list(recording.notes)
    every = max(settings.every, -(-recording.n_samples // _MOST_ROWS)) if thin else settings.every
    if every != settings.every:
        notes.append(f"a long record: results at every {every}-th sample only")
        settings = settings.model_copy(update={"every": every})
    if settings.window * stream.sample_rate > recording.n_samples:
        notes.append(f"the record is shorter than the window of {settings.window:g} s: no values; give --window")
    series, transfer = _follow(recording, _for_a_record(settings, recording))
    width = len(series.columns) // len(stream.pairs)
    pairs = tuple(
        _assess_pair(
            whole_record(recording, pair, settings.max_delay),
            pair,
            series.columns[i * width : (i + 1) * width],
            series.values[:, i * width : (i + 1) * width],
            settings.relative_gate,
        )
        for i, pair in enumerate(stream.pairs)
    )
    asked = settings.measures != MEASURES and "hsem" in settings.measures
    if asked and all(pair.force is None for pair in stream.pairs):
        notes.append("hsem needs a force: name its column with --force")
    if series.columns and not any(pair.valid_fraction for pair in pairs):
        notes.append(
            "no value is valid: the window holds less than one cycle of the motion, the command stands still or is"
            " under the gate, or the measured signal does not follow it"
        )
    return Assessment(stream, settings, recording.n_samples, pairs, series, transfer, tuple(notes))


def _for_a_record(settings: IndicatorSettings, recording: Recording) -> IndicatorSettings:
    """Let the transfer function forget nothing, and cut a short record into enough segments for a coherence."""
    duration = recording.n_samples / recording.stream.sample_rate
    # the window is half as long again as a segment, for the lags
    largest = LARGEST_WINDOW / (1.6 * recording.stream.sample_rate * len(recording.stream.pairs))
    segment = min(settings.transfer_segment, duration / _FEWEST_SEGMENTS, largest)
    measures = settings.measures
    if segment * recording.stream.sample_rate < _SHORTEST_SEGMENT:
        measures = tuple(measure for measure in measures if measure != "transfer")
    return settings.model_copy(
        update={"transfer_segment": segment, "transfer_memory": math.inf, "measures": measures}
    )


def _follow(recording: Recording, settings: IndicatorSettings) -> tuple[Series, TransferBlock | None]:
    times, values = [], []
    columns: tuple[Column, ...] = ()
    transfer: TransferBlock | None = None
    monitor = Monitor(settings)
    for block in recording.blocks(_BLOCK):
        update = monitor.update(block)
        results, transfer = update.results, update.transfer or transfer
        if results is not None:
            columns = results.stream.columns
            step = results.stream.every / results.stream.sample_rate
            times.append(results.time + step * np.arange(len(results)))
            values.append(results.values)
    if not values:
        return Series(np.empty(0), np.empty((0, 0)), ()), transfer
    # times of a thousandth of a sample are rounding
    return Series(np.concatenate(times).round(9), np.concatenate(values), columns), transfer


def _assess_pair(
    whole: WholeRecord, pair: Pair, columns: tuple[Column, ...], values: Samples, relative_gate: float
) -> PairAssessment:
    by_name = {column.name: values[:, i] for i, column in enumerate(columns)}
    moving = np.ones(len(values), dtype=bool)
    if "fdb_amplitude" in by_name:
        amplitude = np.nan_to_num(by_name["fdb_amplitude"])
        moving = amplitude >= relative_gate * np.max(amplitude, initial=0.0)
    valid = moving.copy()
    for name in ("fdb_phase", "paei_phase"):
        if name in by_name:
            valid &= ~np.isnan(by_name[name])
    totals, spreads = {}, {}
    for name, series in by_name.items():
        if name.endswith("_total"):
            counted = series[~np.isnan(series)]
            totals[name] = float(counted[-1]) if len(counted) else np.nan
        else:
            spreads[name] = _spread(series[moving], angle=name.endswith("_phase"))
    return PairAssessment(pair, spreads, totals, float(valid.mean()) if len(valid) else 0.0, whole)


def _spread(values: NDArray[np.float64], *, angle: bool) -> Spread:
    values = values[~np.isnan(values)]
    if not len(values):
        return Spread(np.nan, np.nan, np.nan, np.nan)
    centre = 0.0
    if angle:
        # about their own direction, so that -179 and 179 degrees do not average to zero
        centre = float(np.angle(np.exp(1j * values).sum()))
        values = np.angle(np.exp(1j * (values - centre)))
    low, median, high = np.percentile(values, [5.0, 50.0, 95.0])
    return Spread(centre + median, centre + values.mean(), centre + low, centre + high)
