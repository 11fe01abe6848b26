"""What a report says: words in front, a section for each actuator, events, data quality, settings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from monitor import __version__
from monitor.alarms.text import describe_transition
from monitor.messages.alarms import AlarmAction, Severity
from monitor.messages.blocks import Channel, Event, EventKind, Samples
from monitor.text.numbers import DASH, number, percent
from replay import Progress, silent
from replay.assessment import Assessment, PairAssessment
from replay.assessment.record_survey import RecordSignals, read_signals
from replay.assessment.summary import recording_start
from replay.assessment.wording import (
    change_words,
    compensator_words,
    headline_words,
    unresolved_transfer,
    whole_record_notes,
    worst_actuator,
)
from replay.formats import Recording
from replay.formats.parts import RecordingPart
from replay.formats.run_file import RunRecording, Unjudged, covered, unjudged_times
from replay.report.figures import (
    Figure,
    recorded_reliability,
    reliability_figure,
    reliability_words,
    subspace_figure,
    tracking_figures,
    transfer_figure,
)
from replay.report.svg import Mark
from replay.report.tables import SettingTables, Table, compared_table, indicators_table, setting_tables, shown_length
from replay.report.windows import best_and_worst, damping_words, worst_words

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


# columns of pixels of a figure; fewer where there are many actuators, for the size of the page
_COLUMNS, _FEWER_COLUMNS, _MANY = 600, 240, 8
_MOST_EVENTS = 400


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event: time in the run, s; ``level`` is one of the window's scale: none, info, warn, bad."""

    time: str
    level: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class ActuatorSection:
    """An actuator: words, warnings, figures, remarks on them and on the table of its indicators, and the table."""

    name: str
    words: tuple[str, ...]
    warnings: tuple[str, ...]
    figures: tuple[Figure, ...]
    remarks: tuple[str, ...]
    table: Table


@dataclass(frozen=True, slots=True)
class Report:
    """The contents of a report.

    Parameters
    ----------
    title : of the page.
    facts : about the run: name and value.
    lead : sentences in front.
    overview : the actuators compared, of several.
    warnings, notes : on the record as a whole.
    events : None where the file has no events; ``events_left_out`` are more than are shown.
    unjudged : alarms that were not judged at times; None without.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    lead: tuple[str, ...]
    overview: Table | None
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    actuators: tuple[ActuatorSection, ...]
    reliability: tuple[Figure, ...]
    events: tuple[EventRow, ...] | None
    events_left_out: int
    unjudged: Table | None
    quality: Table
    channels: Table
    settings: SettingTables
    version: str


def report_contents(
    path: Path, recording: Recording, assessment: Assessment | None, notes: Sequence[str], progress: Progress = silent
) -> Report:
    """Return the contents of the report on a recording.

    Parameters
    ----------
    assessment : None for one without command and measured channels, whose model reliability was recorded.
    notes : on the settings.

    Raises
    ------
    RecordingError : the file has become unreadable.
    """
    signals = read_signals(recording)
    pairs = () if assessment is None else assessment.pairs
    columns = _COLUMNS if len(pairs) <= _MANY else _FEWER_COLUMNS
    every, part = _timed_events(recording)
    events = None if every is None else [each for each in every if part[0] <= each[1] <= part[1]]
    unjudged = unjudged_times(every or (), *part)
    marks = [Mark(seconds, seconds, f"mark {_level(event)}") for event, seconds in events or () if _level(event)]
    sections = []
    if assessment is not None:
        for done, found in enumerate(pairs):
            progress("figures", done, len(pairs))
            sections.append(_section(found, assessment, signals, assessment.series.elapsed, marks, columns))
    overview = None
    if assessment is not None and len(sections) > 1:
        overview = compared_table(assessment)
    reliabilities = recorded_reliability(recording)
    lead = [reliability_words(each) for each in reliabilities] if assessment is None else _lead(sections, assessment)
    shown = None if events is None else tuple(_event_row(event, seconds) for event, seconds in events[:_MOST_EVENTS])
    noted = recording.notes if assessment is None else assessment.notes
    return Report(
        title=path.name,
        facts=tuple(_facts(recording, assessment, unjudged)),
        lead=tuple(lead),
        overview=overview,
        warnings=() if assessment is None else tuple(warning.text for warning in assessment.warnings_of(None)),
        notes=tuple(dict.fromkeys([*notes, *(n for n in noted if not _is_event(n, events))])),
        actuators=tuple(sections),
        reliability=tuple(reliability_figure(each, columns) for each in reliabilities),
        events=shown,
        events_left_out=max(0, len(events or ()) - _MOST_EVENTS),
        unjudged=_unjudged_table(unjudged, part[1] - part[0]),
        quality=Table("The record", ("property", "value"), tuple(quality_rows(recording, signals))),
        channels=Table("The channels", QUALITY_HEADINGS, tuple(channel_rows(recording, signals))),
        settings=setting_tables(
            None if assessment is None else assessment.settings,
            getattr(recording, "settings", {}),
            recording.stream.sample_rate,
        ),
        version=__version__,
    )


def _facts(
    recording: Recording, assessment: Assessment | None, unjudged: Mapping[str, Unjudged]
) -> Iterator[tuple[str, str]]:
    """Yield names and values of what the run is."""
    stream = recording.stream
    yield "rig", stream.rig
    start = recording_start(recording)
    if start is not None:
        yield "start", _date(start)
    yield "length", f"{recording.n_samples / stream.sample_rate:.6g} s at {stream.sample_rate:g} Hz"
    if isinstance(recording, RunRecording):
        yield "outcome", recording.outcome
    if unjudged:
        seconds = covered(span for each in unjudged.values() for span in each.spans)
        yield "alarms not judged", f"{len(unjudged)}, for {seconds:.4g} s"
    if assessment is not None:
        yield "window", f"{assessment.settings.window:.4g} s"
        yield "actuators", ", ".join(found.pair.actuator for found in assessment.pairs)


def _date(text: str) -> str:
    """Return an ISO 8601 date to the second, in UTC; other text as it is."""
    try:
        return f"{datetime.fromisoformat(text).astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError):
        return text


def _lead(sections: Sequence[ActuatorSection], assessment: Assessment) -> Iterator[str]:
    """Yield the sentences in front: of one actuator all of its words, of several the worst one's."""
    if len(sections) == 1:
        yield from sections[0].words
        return
    compared = worst_actuator(assessment)
    if compared:
        yield f"{compared[:1].upper()}{compared[1:]}."
    named = compared.removeprefix("worst: ").partition(", delay")[0]
    for section in sections:
        if section.name == named or (not named and section is sections[0]):
            yield from section.words


def _section(
    found: PairAssessment,
    assessment: Assessment,
    signals: RecordSignals,
    time: NDArray[np.float64],
    marks: Sequence[Mark],
    columns: int,
) -> ActuatorSection:
    extremes = best_and_worst(found, assessment, time)
    worst = None if extremes is None else extremes[1]
    words = [
        f"{headline_words(found, assessment)}.",
        worst_words(found, assessment, worst),
        *filter(None, [damping_words(found, assessment, worst)]),
        *(f"{line}." for line in change_words(found, assessment)),
    ]
    name = found.pair.actuator
    if name in assessment.compensators:
        words.append(f"{name}: {compensator_words(assessment.compensators[name])}.")
    figures: list[Figure | None] = [*tracking_figures(found, assessment, time, worst, marks, columns)]
    if extremes is not None:
        figures.append(subspace_figure(found, assessment, signals, *extremes))
    unresolved = unresolved_transfer(found, assessment)
    if assessment.transfer is not None and not unresolved:
        figures.append(transfer_figure(found, assessment, assessment.transfer, columns))
    warnings = tuple(warning.text for warning in assessment.warnings_of(name))
    remarks = [f"{unresolved[:1].upper()}{unresolved[1:]}."] if unresolved else []
    remarks += [f"{note}." for note in whole_record_notes(found, assessment.stream.sample_rate)]
    table = indicators_table(found, assessment)
    return ActuatorSection(name, tuple(words), warnings, tuple(filter(None, figures)), tuple(remarks), table)


_Events = Sequence[tuple[Event, float]]


def _timed_events(recording: Recording) -> tuple[_Events | None, tuple[float, float]]:
    """Return the events of a run with their times, and begin and end of it or its part; None where there are none."""
    low, length = 0.0, recording.n_samples / recording.stream.sample_rate
    if isinstance(recording, RecordingPart):
        low, recording = recording.start, recording.whole
    elif isinstance(recording, RunRecording):
        length = recording.duration
    events = recording.timed_events() if isinstance(recording, RunRecording) else None
    return events, (low, low + length)


def _unjudged_table(found: Mapping[str, Unjudged], length: float) -> Table | None:
    """Return for how long each alarm was not judged, and what was said; None where all were."""
    rows = tuple(
        (name, f"{each.seconds:.3f} s", percent(each.seconds / length, 3), "; ".join(each.reasons))
        for name, each in found.items()
    )
    headings = ("alarm", "not judged for", "of the time", "because")
    return Table("Alarms that were not judged", headings, rows) if rows else None


def _level(event: Event) -> str:
    """Return the level of an event on the window's scale; empty for one that is not drawn."""
    if event.alarm is not None and event.alarm.action in (AlarmAction.LOSE_VALUE, AlarmAction.REGAIN_VALUE):
        return "info"
    if event.kind is EventKind.ALARM:
        return "warn" if event.alarm is not None and event.alarm.severity is Severity.WARN else "bad"
    return "info" if event.kind is EventKind.NOTE else ""


def _event_row(event: Event, seconds: float) -> EventRow:
    text, kind = event.detail, event.kind.value.replace("_", " ")
    if event.alarm is not None:
        text = describe_transition(event.alarm)
        kind = "▲ warning" if event.alarm.severity is Severity.WARN else "■ trip"
        kind = "⊘ not judged" if event.alarm.not_judged else kind
    elif event.kind is EventKind.GAP and not text:
        text = f"{event.count} sample{'' if event.count == 1 else 's'} lost"
    return EventRow(f"{seconds:.3f}", _level(event) or "none", kind, text)


def _is_event(note: str, events: _Events | None) -> bool:
    """Whether a note of a run repeats what the table of events has."""
    return events is not None and note.startswith(("note at ", "alarm at ", "alarm "))
