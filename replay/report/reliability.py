"""Model reliability that was recorded with a run: its curves, a figure of them, and their values in words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replay.formats import Recording
from replay.formats.parts import RecordingPart
from replay.formats.run_file import RunRecording
from replay.report.figures import Figure
from replay.report.svg import Curve, Row, rows_figure

_WORDS = "instantaneous", "first_passage", "accumulated", "windowed"
_STYLES = "first", "second", "third", "plain"
_DECISIONS = {-1.0: "rejected", 0.0: "watched", 1.0: "accepted"}


@dataclass(frozen=True, eq=False)
class ChannelReliability:
    """Reliabilities of a model at a channel.

    Parameters
    ----------
    channel : its name.
    time : (n,), s after the first sample.
    curves : of n values each, NaN where unknown.
    decision : the last one, a word; empty without.
    """

    channel: str
    time: NDArray[np.float64]
    curves: tuple[Curve, ...]
    decision: str


def recorded_reliability(recording: Recording) -> tuple[ChannelReliability, ...]:
    """Return the reliabilities in a run, or in a part of one, by channel; none of files of other formats."""
    low, high = -np.inf, np.inf
    if isinstance(recording, RecordingPart):
        low, high = recording.start, recording.start + recording.duration
        recording = recording.whole
    if not isinstance(recording, RunRecording):
        return ()
    stream, epoch, index, values = recording.results()
    if stream is None or not len(values):
        return ()
    # the first start of the publisher: an ensemble begins there
    rows = np.flatnonzero(epoch == epoch[0])
    time = (index[rows] - recording.epochs[0].index) / stream.sample_rate
    inside = (time >= low) & (time <= high)
    rows, time = rows[inside], time[inside]
    curves: dict[str, list[Curve]] = {}
    decisions: dict[str, str] = {}
    for column, each in zip(stream.columns, values[rows].T, strict=True):
        known = each[np.isfinite(each)]
        word = column.name.removeprefix("reliability_")
        if word in _WORDS and len(known):
            own = curves.setdefault(column.actuator, [])
            own.append(Curve(word.replace("_", " "), each, _STYLES[len(own) % len(_STYLES)]))
        elif column.name == "reliability_decision" and len(known):
            decisions[column.actuator] = _DECISIONS.get(float(known[-1]), "")
    if len(time) < 2:
        return ()
    return tuple(
        ChannelReliability(channel, time, tuple(each), decisions.get(channel, "")) for channel, each in curves.items()
    )


def reliability_figure(found: ChannelReliability, columns: int) -> Figure:
    """Return the model reliabilities of a channel over time."""
    rows = [Row("reliability", "", found.curves, (0.0, 1.0))]
    last = "; ".join(f"{curve.name}: {_known(curve)[-1]:.3f} at the end" for curve in found.curves)
    title = f"Model reliability of {found.channel}"
    svg = rows_figure(title, last, found.time, "time [s]", rows, (), columns)
    return Figure(f"{title} over time", svg, tuple((curve.style, curve.name) for curve in found.curves))


def reliability_words(found: ChannelReliability) -> str:
    """Return each reliability at the end and its lowest value, and the decision, as a sentence."""
    parts = []
    for curve in found.curves:
        known = _known(curve)
        parts.append(f"{curve.name} {known[-1]:.3f} at the end, {known.min():.3f} at least")
    decision = f"; {found.decision} at the end" if found.decision else ""
    return f"Reliability of the model at {found.channel}: {'; '.join(parts)}{decision}."


def _known(curve: Curve) -> NDArray[np.float64]:
    return curve.values[np.isfinite(curve.values)]
