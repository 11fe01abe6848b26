"""Summary of an assessed run in plain values: one row of the run, and one of each actuator."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from monitor import __version__
from monitor.messages.alarms import AlarmAction, Severity
from monitor.messages.blocks import Event, EventKind
from monitor.messages.headline import HEADLINE
from replay.assessment.results import Assessment, HeadlineEstimate, PairAssessment, farthest_delay
from replay.formats import Recording
from replay.formats.run_file import RunRecording

Value = str | int | float | bool | None

# a time of a sample from here on is seconds since 1970, not since the beginning of a record: the year 2000
_UNIX_TIME = 946_684_800.0
_LAST_TIME = 253_370_764_800.0  # the year 9999, the last of a date
SEPARATOR = "; "


@dataclass(frozen=True, slots=True)
class ActuatorSummary:
    """One actuator of a run; None where there is no value, and where a figure was not computed.

    Parameters
    ----------
    actuator : its name.
    delay_ms, delay_sd_ms : the headline's delay, positive where measured lags, and its standard deviation.
    delay_low_ms, delay_high_ms : the range of the delay where it changes within the run.
    worst_delay_ms, worst_delay_at_s : the delay farthest from zero, and the end of the window that has it, s after
        the first sample; no time where the delay neither changes nor departs.
    ratio, ratio_sd : amplitude of the command over that of the measured signal.
    fdb_delay_ms, fdb_delay_sd_ms, fdb_ratio, fdb_frequency_hz, fdb_added_damping : medians of FDB.
    paei_delay_ms, paei_ratio : medians of PAEI.
    rms_error_percent, peak_error_percent : J2 and J3, of the command's standard deviation and largest value.
    valid_fraction : of the instants at which the command moves.
    warnings, warning_codes : their number and codes, of this actuator and of the run as a whole.
    alarms, trips, alarm_names : occurrences of alarms, those of trips, and the alarms, of this actuator.
    """

    actuator: str
    delay_ms: float | None
    delay_sd_ms: float | None
    delay_low_ms: float | None
    delay_high_ms: float | None
    worst_delay_ms: float | None
    worst_delay_at_s: float | None
    ratio: float | None
    ratio_sd: float | None
    fdb_delay_ms: float | None
    fdb_delay_sd_ms: float | None
    fdb_ratio: float | None
    fdb_frequency_hz: float | None
    fdb_added_damping: float | None
    paei_delay_ms: float | None
    paei_ratio: float | None
    rms_error_percent: float | None
    peak_error_percent: float | None
    valid_fraction: float | None
    warnings: int
    warning_codes: str
    alarms: int
    trips: int
    alarm_names: str


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run as a whole, and its actuators.

    Parameters
    ----------
    file : its path, as it was given.
    start : ISO 8601, of the first sample; None where the file does not know it.
    duration_s, sample_rate, samples, window_s : of the record, Hz, and of the indicators.
    lost_samples, gaps, restarts : samples that are missing, the gaps that lack them, and restarts of the rig.
    outcome : clean, lossy, truncated or recovered, of a run file; truncated or None of other files.
    warnings, warning_codes : of all actuators and of the run.
    alarms, trips, alarm_names : occurrences of all alarms.
    notes, note_texts : what the operator noted.
    worst_actuator, worst_delay_ms, worst_delay_at_s : the actuator with the delay farthest from zero.
    version : of the program that assessed.
    actuators : in the order of their commands.
    """

    file: str
    start: str | None
    duration_s: float
    sample_rate: float
    samples: int
    window_s: float
    lost_samples: int
    gaps: int
    restarts: int
    outcome: str | None
    warnings: int
    warning_codes: str
    alarms: int
    trips: int
    alarm_names: str
    notes: int
    note_texts: str
    worst_actuator: str | None
    worst_delay_ms: float | None
    worst_delay_at_s: float | None
    version: str
    actuators: tuple[ActuatorSummary, ...]

    def row(self) -> dict[str, Value]:
        """Return the run's own values by name."""
        values: dict[str, Value] = asdict(self)
        del values["actuators"]
        return values

    def actuator_rows(self) -> list[dict[str, Value]]:
        """Return a row for each actuator: the run's values, then its own instead of the run's of the same name."""
        run = self.row()
        del run["worst_actuator"]
        return [{**run, **asdict(actuator)} for actuator in self.actuators]


def summarise(path: Path | str, recording: Recording, assessment: Assessment) -> RunSummary:
    """Return the summary of a run.

    Parameters
    ----------
    path : of the file, as it is to appear in the summary.
    recording : what was assessed; of a run file its events are read.
    assessment : of the recording.

    Raises
    ------
    RecordingError : the run file has become unreadable.
    """
    events = recording.events() if isinstance(recording, RunRecording) else ()
    actuators = tuple(_actuator(found, assessment, events) for found in assessment.pairs)
    known = [actuator for actuator in actuators if actuator.worst_delay_ms is not None]
    worst = max(known, key=lambda one: abs(one.worst_delay_ms or 0.0), default=None)
    return RunSummary(
        str(path),
        recording_start(recording),
        assessment.duration,
        assessment.stream.sample_rate,
        assessment.samples,
        assessment.settings.window,
        assessment.missing,
        assessment.gaps,
        assessment.restarts,
        getattr(recording, "outcome", None) or None,
        len(assessment.warnings),
        _names(warning.code for warning in assessment.warnings),
        *events_counted(events),
        None if worst is None else worst.actuator,
        None if worst is None else worst.worst_delay_ms,
        None if worst is None else worst.worst_delay_at_s,
        __version__,
        actuators,
    )


def _actuator(found: PairAssessment, assessment: Assessment, events: Sequence[Event]) -> ActuatorSummary:
    name, headline, criteria = found.pair.actuator, found.headline, found.whole.criteria

    def median(column: str, factor: float = 1.0) -> float | None:
        spread = found.spreads.get(column)
        return None if spread is None else _finite(factor * spread.median)

    low, high = (None, None) if headline is None else headline.delay_range or (None, None)
    alarms, trips, alarm_names, *_ = events_counted(events, name)
    warnings = [*assessment.warnings_of(name), *assessment.warnings_of(None)]
    worst = farthest_delay(found)
    series = assessment.series.of(name)
    return ActuatorSummary(
        actuator=name,
        delay_ms=None if headline is None else _finite(1e3 * headline.delay),
        delay_sd_ms=None if headline is None else _finite(1e3 * headline.delay_sd),
        delay_low_ms=None if low is None else _finite(1e3 * low),
        delay_high_ms=None if high is None else _finite(1e3 * high),
        worst_delay_ms=_finite(1e3 * worst),
        worst_delay_at_s=time_of_delay(worst, headline, assessment.series.elapsed, series[f"{HEADLINE}_delay"])
        if headline
        else None,
        ratio=None if headline is None else _finite(headline.ratio),
        ratio_sd=None if headline is None else _finite(headline.ratio_sd),
        fdb_delay_ms=median("fdb_delay", 1e3),
        fdb_delay_sd_ms=median("fdb_delay_sd", 1e3),
        fdb_ratio=median("fdb_ratio"),
        fdb_frequency_hz=median("fdb_frequency"),
        fdb_added_damping=median("fdb_added_damping"),
        paei_delay_ms=median("paei_delay", 1e3),
        paei_ratio=median("paei_ratio"),
        rms_error_percent=_finite(criteria.j2),
        peak_error_percent=_finite(criteria.j3),
        valid_fraction=_finite(found.valid_fraction),
        warnings=len(warnings),
        warning_codes=_names(warning.code for warning in warnings),
        alarms=alarms,
        trips=trips,
        alarm_names=alarm_names,
    )


def time_of_delay(
    delay: float, headline: HeadlineEstimate | None, time: NDArray[np.float64], values: NDArray[np.float64]
) -> float | None:
    """Return the end of the window whose delay is nearest to that [s]; None where the delay is constant.

    Parameters
    ----------
    time, values : (n,), s after the first sample, and the headline's delay then, s.
    """
    if headline is None or not math.isfinite(delay):
        return None
    departure = headline.delay_departure
    if departure is None and headline.delay_range is None:
        return None
    away = np.abs(values - delay)
    if departure is not None and departure.value == delay:
        away = np.where((time >= departure.start) & (time <= departure.stop), away, np.nan)
    return None if np.isnan(away).all() else round(float(time[np.nanargmin(away)]), 9)


def start_of(time: float, created: str) -> str | None:
    """Return when a recording starts, ISO 8601: the rig's clock where it is a date, else when the file was created.

    Parameters
    ----------
    time : of the first sample, s; NaN without one.
    created : of a run file; else empty.
    """
    if _UNIX_TIME <= time < _LAST_TIME:
        return datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds")
    return created or None


def recording_start(recording: Recording) -> str | None:
    """Return when a recording starts, ISO 8601; None where the file does not know it."""
    block = next(iter(recording.blocks(1)), None)
    created = recording.created if isinstance(recording, RunRecording) else ""
    return start_of(math.nan if block is None else block.time, created)


def events_counted(events: Sequence[Event], actuator: str | None = None) -> tuple[int, int, str, int, str]:
    """Return how often alarms occurred, of one actuator or all, the trips, their names; the notes, their texts."""
    steps = [event.alarm for event in events if event.alarm and event.alarm.action is AlarmAction.OCCUR]
    occurred = [step for step in steps if actuator in (None, step.actuator)]
    trips = sum(step.severity is Severity.TRIP for step in occurred)
    noted = [event.detail for event in events if event.kind is EventKind.NOTE]
    return len(occurred), trips, _names(step.name for step in occurred), len(noted), SEPARATOR.join(noted)


def _names(names: Iterable[str]) -> str:
    """Return each name once, in the order of their first appearance."""
    return SEPARATOR.join(dict.fromkeys(names))


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
