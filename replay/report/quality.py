"""Quality of the data of a recording: losses, gaps, rate, and each channel's range, clipping and quantisation."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from monitor.messages.blocks import Channel, Samples
from monitor.text.numbers import DASH, number
from replay.assessment.record_signals import RecordSignals
from replay.formats import Recording
from replay.report.tables import shown_length

_BLOCK, _PARTS = 1 << 16, 8
# a channel is quantised if its samples have fewer distinct values than this fraction of them
_DISTINCT = 0.5
# relative differences below this are rounding
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class ChannelQuality:
    """Samples of a channel.

    Parameters
    ----------
    channel : the column.
    low, high : extremes of the finite samples; NaN without.
    not_finite : number of samples that are not finite.
    at_low, at_high : samples exactly at the extremes; many suggest clipping.
    step : difference of two neighbouring values of a quantised channel; NaN where none is seen.
    """

    channel: Channel
    low: float
    high: float
    not_finite: int
    at_low: int
    at_high: int
    step: float


def channel_quality(channel: Channel, samples: Samples) -> ChannelQuality:
    """Return the quality of the (n,) samples of a channel."""
    finite = samples[np.isfinite(samples)]
    lost = len(samples) - len(finite)
    if not len(finite):
        return ChannelQuality(channel, math.nan, math.nan, lost, 0, 0, math.nan)
    values, counts = np.unique(finite, return_counts=True)
    step = math.nan
    if 2 < len(values) < _DISTINCT * len(finite):
        differences = np.diff(values)
        differences = differences[differences > _ROUNDING * np.abs(values).max()]
        # not the smallest: a clipped value is less than a step away from the next
        step = float(np.percentile(differences, 25.0, method="lower")) if len(differences) else math.nan
    return ChannelQuality(channel, float(values[0]), float(values[-1]), lost, int(counts[0]), int(counts[-1]), step)


def clock_rate(recording: Recording) -> float:
    """Return the samples a second by the times in the recording, of its longest run of blocks; NaN where unknown."""
    rates: dict[int, tuple[int, float, int, float]] = {}
    # several blocks of a short record too, because only their starts have a time
    length = min(_BLOCK, max(1, recording.n_samples // _PARTS))
    for block in recording.blocks(length):
        first, time, _, _ = rates.get(block.stream.epoch, (block.index, block.time, 0, 0.0))
        rates[block.stream.epoch] = first, time, block.index, block.time
    first, start, last, stop = max(rates.values(), key=lambda found: found[2] - found[0], default=(0, 0.0, 0, 0.0))
    return (last - first) / (stop - start) if last > first and stop > start else math.nan


def quality_rows(recording: Recording, signals: RecordSignals) -> list[tuple[str, str]]:
    """Return what is known of the record as a whole: names and values."""
    rate, n = recording.stream.sample_rate, len(signals.samples)
    share = 100.0 * signals.missing / max(1, n + signals.missing)
    rows = [
        ("samples", f"{n}, {n / rate:.6g} s"),
        ("sample rate", f"{rate:.6g} Hz"),
        (
            "lost samples",
            f"{signals.missing} ({share:.3g} %) in {signals.gaps} gap{'s' * (signals.gaps > 1)}"
            if signals.gaps
            else "none",
        ),
        ("restarts of the publisher", str(signals.restarts) if signals.restarts else "none"),
    ]
    clock = clock_rate(recording)
    if math.isfinite(clock):
        rows.insert(2, ("sample rate by the clock", f"{clock:.6g} Hz"))
    return rows


QUALITY_HEADINGS = ("channel", "role", "unit", "lowest", "at lowest", "highest", "at highest", "not finite", "step")


def channel_rows(recording: Recording, signals: RecordSignals) -> list[tuple[str, ...]]:
    """Return a row of `QUALITY_HEADINGS` for each channel."""
    rows: list[tuple[str, ...]] = []
    for i, channel in enumerate(recording.stream.channels):
        q = channel_quality(channel, signals.samples[:, i])
        largest = max(abs(q.low), abs(q.high))
        unit, factor = shown_length(channel.unit, largest)
        step, low, high = number(factor * q.step, ".3g"), *(number(factor * x, ".5g") for x in (q.low, q.high))
        rows.append(
            (
                channel.name,
                channel.role.value,
                unit or DASH,
                low,
                str(q.at_low),
                high,
                str(q.at_high),
                str(q.not_finite),
                step,
            )
        )
    return rows
