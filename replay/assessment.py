"""A recorded run -> what the indicators say of it: the series, and their statistics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitor.blocks import Column, Pair, Samples, Stream
from monitor.config import IndicatorSettings
from monitor.engine import Monitor
from replay.formats import Recording

_BLOCK = 4096
# the statistics of ten million values an indicator are no better than those of one
_MOST_ROWS = 2_000_000


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

    ``valid_fraction`` is the part of the instants at which FDB and PAEI both say something and the command is
    above the gate's fraction of its largest amplitude in the whole record: lead-ins are left out.
    """

    pair: Pair
    spreads: dict[str, Spread]
    valid_fraction: float


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
    series = _series(recording, settings)
    width = len(series.columns) // len(stream.pairs)
    pairs = tuple(
        _assess_pair(
            pair,
            series.columns[i * width : (i + 1) * width],
            series.values[:, i * width : (i + 1) * width],
            settings.relative_gate,
        )
        for i, pair in enumerate(stream.pairs)
    )
    if not any(pair.valid_fraction for pair in pairs):
        notes.append(
            "no value is valid: the window holds less than one cycle of the motion, or the command stands still"
        )
    return Assessment(stream, settings, recording.n_samples, pairs, series, tuple(notes))


def _series(recording: Recording, settings: IndicatorSettings) -> Series:
    times, values = [], []
    columns: tuple[Column, ...] = ()
    monitor = Monitor(settings)
    for block in recording.blocks(_BLOCK):
        results = monitor.update(block).results
        if results is not None:
            columns = results.stream.columns
            step = results.stream.every / results.stream.sample_rate
            times.append(results.time + step * np.arange(len(results)))
            values.append(results.values)
    return Series(np.concatenate(times), np.concatenate(values), columns)


def _assess_pair(pair: Pair, columns: tuple[Column, ...], values: Samples, relative_gate: float) -> PairAssessment:
    by_name = {column.name: values[:, i] for i, column in enumerate(columns)}
    amplitude = by_name["fdb_amplitude"]
    largest = np.nanmax(amplitude, initial=0.0)
    moving = ~np.isnan(by_name["fdb_phase"]) & ~np.isnan(by_name["paei_phase"])
    moving &= np.nan_to_num(amplitude) >= relative_gate * largest
    spreads = {name: _spread(series[moving], angle=name.endswith("_phase")) for name, series in by_name.items()}
    return PairAssessment(pair, spreads, float(moving.mean()) if len(moving) else 0.0)


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
