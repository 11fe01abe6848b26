"""The figures of an actuator: tracking over time, subspace plots, transfer function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitor.catalogue import PER_SHARE, display_unit
from monitor.messages.blocks import TransferBlock, ratio_unit, units_differ
from monitor.messages.headline import HEADLINE, LABELS
from replay.assessment import Assessment, PairAssessment
from replay.assessment.record_survey import RecordSignals
from replay.assessment.warnings import is_closed_loop
from replay.formats import Recording
from replay.formats.parts import RecordingPart
from replay.formats.run_file import RunRecording
from replay.report.svg import Curve, Mark, Plane, Row, planes_figure, rows_figure
from replay.report.tables import shown_length
from replay.report.windows import TrackedWindow, window_words

# standard deviations of a band
_BAND = 2.0
# points of a subspace plot
_POINTS = 1200
_MEASURES = (HEADLINE, "first"), ("fdb", "second"), ("paei", "third")


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: its caption, its picture as SVG, and the names and styles of its curves."""

    caption: str
    svg: str
    legend: tuple[tuple[str, str], ...] = ()


def tracking_figures(
    found: PairAssessment,
    assessment: Assessment,
    time: NDArray[np.float64],
    worst: TrackedWindow | None,
    marks: Sequence[Mark],
    columns: int,
) -> Iterator[Figure]:
    """Yield delay with its band and amplitude ratio over time, then added damping and error; those that have values.

    Parameters
    ----------
    time : (n,), s after the record's first sample.
    marks : alarms and notes.
    columns : of pixels that are distinguished.
    """
    values = assessment.series.of(found.pair.actuator)
    channels = assessment.stream.channels
    unit = ratio_unit(channels[found.pair.command], channels[found.pair.measured])

    def curves(key: str, factor: float) -> tuple[Curve, ...]:
        parts = []
        for name, style in _MEASURES:
            if _has(values, f"{name}_{key}"):
                sd = values.get(f"{name}_{key}_sd") if name == HEADLINE else None
                band = None if sd is None else _BAND * factor * sd
                parts.append(Curve(LABELS.get(name, name), factor * values[f"{name}_{key}"], style, band))
        return tuple(parts)

    # drawn to fit in the axes; unknown where the worst window has no delay
    of_worst = () if worst is None else (1e3 * worst.delay, worst.ratio)
    extremes = [(value,) if np.isfinite(value) else () for value in of_worst] or [(), ()]
    rows = [
        Row("delay", "ms", curves("delay", 1e3), extremes[0]),
        Row("ratio command/measured", "" if unit == "1" else unit, curves("ratio", 1.0), extremes[1]),
    ]
    for name, title in (
        ("hsem_added_damping", "added damping, by the force"),
        ("fdb_added_damping", "added damping, by FDB"),
    ):
        if is_closed_loop(found, assessment.settings) and name in values and np.isfinite(values[name]).any():
            unit = display_unit("% of critical", "1" if assessment.settings.share else PER_SHARE)
            rows.append(Row(title, unit, (Curve("added damping", 100.0 * values[name], "plain"),), (0.0,)))
            break
    if "nrmse" in values and not units_differ(channels[found.pair.command], channels[found.pair.measured]):
        rows.append(Row("error, NRMSE", "%", (Curve("NRMSE", 100.0 * values["nrmse"], "plain"),), (0.0,)))
    rows = [row for row in rows if any(np.isfinite(curve.values).any() for curve in row.curves)]
    if len(time) < 2:
        return
    shaded = [] if worst is None else [Mark(worst.start, worst.stop, "worst")]
    measures = [(style, LABELS.get(name, name)) for name, style in _MEASURES if _has(values, f"{name}_delay")]
    more = [("worst", "worst window")] if shaded else []
    more += [("mark bad", "trip"), ("mark warn", "warning"), ("mark info", "note")] if marks else []
    # two rows a figure: on paper, a higher one leaves half of the page before it blank
    for i in range(0, len(rows), 2):
        part = rows[i : i + 2]
        titles = " and ".join(row.title for row in part)
        description = f"{titles} from {time[0]:.4g} to {time[-1]:.4g} s; the table of indicators has the numbers."
        name = f"{titles[:1].upper()}{titles[1:]}"
        svg = rows_figure(
            f"{name} of {found.pair.actuator} over time",
            description,
            time,
            "time [s]",
            part,
            [*shaded, *marks],
            columns,
        )
        banded = any(curve.band is not None for row in part for curve in row.curves)
        band = f"; the band of broadband is ±{_BAND:g} standard deviations" if banded else ""
        shown = {curve.style for row in part for curve in row.curves}
        legend = [(style, label) for style, label in measures if style in shown]
        yield Figure(f"{name} over time{band}", svg, (*legend, *more))


def _has(values: Mapping[str, NDArray[np.float64]], name: str) -> bool:
    return name in values and bool(np.isfinite(values[name]).any())


def subspace_figure(
    found: PairAssessment, assessment: Assessment, signals: RecordSignals, best: TrackedWindow, worst: TrackedWindow
) -> Figure:
    """Return measured signal over command in two windows; in one where the record has not two apart."""
    several = signals.time[-1] - signals.time[0] >= 2.0 * assessment.settings.window and best.start != worst.start
    windows = (("best window", best), ("worst window", worst)) if several else (("the only window", worst),)
    channels = assessment.stream.channels
    command, measured = channels[found.pair.command], channels[found.pair.measured]
    unit = ratio_unit(command, measured)
    words, pair = ("command", "measured"), (found.pair.command, found.pair.measured)
    largest = max((float(np.nanmax(np.abs(signals.samples[:, i]), initial=0.0)) for i in pair), default=0.0)
    units = [shown_length(channels[i].unit, largest) for i in pair]
    planes = []
    for name, window in windows:
        inside = (signals.time > window.start) & (signals.time <= window.stop)
        samples = signals.samples[inside]
        samples = samples[:: max(1, len(samples) // _POINTS)]
        x_title, y_title = (
            f"{word} [{shown}]" if shown else word for word, (shown, _) in zip(words, units, strict=True)
        )
        planes.append(
            Plane(
                name,
                x_title,
                y_title,
                units[0][1] * samples[:, found.pair.command],
                units[1][1] * samples[:, found.pair.measured],
                not units_differ(command, measured),
            )
        )
    described = "; ".join(
        f"{name}: {window_words(window)}{'' if unit == '1' else f' {unit}'}" for name, window in windows
    )
    if not several:
        described += "; the record has fewer than two windows, so that best and worst are one"
    diagonal = ", with the line of perfect tracking" if planes[0].diagonal else ""
    return Figure(
        f"Measured signal over command{diagonal}; {described}",
        planes_figure(f"Subspace plots of {found.pair.actuator}", described, planes),
    )


def transfer_figure(
    found: PairAssessment, assessment: Assessment, transfer: TransferBlock, columns: int
) -> Figure | None:
    """Return ratio, delay and coherence of an actuator over frequency; None where nothing is known."""
    name = found.pair.actuator
    channels = assessment.stream.channels
    known = np.isfinite(transfer.curve(name, "coherence"))
    if known.sum() < 2:
        return None
    frequency = transfer.frequency[known]
    unit = ratio_unit(channels[found.pair.command], channels[found.pair.measured])
    rows = []
    for key, title, shown, factor in (
        ("ratio", "ratio command/measured", "" if unit == "1" else unit, 1.0),
        ("phase", "phase", "°", 180.0 / np.pi),
        ("coherence", "coherence", "", 1.0),
    ):
        values = factor * transfer.curve(name, key)[known]
        band = None if key == "coherence" else _BAND * factor * transfer.curve(name, f"{key}_sd")[known]
        if np.isfinite(values).any():
            rows.append(
                Row(title, shown, (Curve(title, values, "first", band),), (0.0, 1.0) if key == "coherence" else ())
            )
    description = f"{', '.join(row.title for row in rows)} from {frequency[0]:.3g} to {frequency[-1]:.3g} Hz."
    svg = rows_figure(f"Transfer function of {name}", description, frequency, "frequency [Hz]", rows, (), columns)
    return Figure(f"Transfer function from command to measured signal, ±{_BAND:g} standard deviations", svg)


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
