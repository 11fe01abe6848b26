"""Descriptions of recordings as commands print them in JSON: of one before playback, of the run files of a folder."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

import msgspec
import numpy as np

from monitor.messages.alarms import Transition
from monitor.messages.blocks import Channel, Samples


class FileColumn(msgspec.Struct, frozen=True):
    """Column of a file whose columns the user assigns.

    Parameters
    ----------
    name, unit : from the header; names are unique.
    number : counted from 1.
    reference : unique reference in options: the name, or the number where names are ambiguous.
    dataset : that has it, of a file with several; empty otherwise.
    """

    name: str
    unit: str = ""
    number: int = 0
    reference: str = ""
    dataset: str = ""

    @property
    def option_value(self) -> str:
        """Value that selects it in an option."""
        return self.reference or self.name


class ColumnGuess(msgspec.Struct, frozen=True):
    """Columns by reference, one for each actuator, forces for all of them or none; the dataset that has them."""

    command: tuple[str, ...] = ()
    measured: tuple[str, ...] = ()
    force: tuple[str, ...] = ()
    time: str | None = None
    auxiliary: bool = False
    dataset: str | None = None


class RecordedEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """Event of a recorded run, `time` in s after its first sample."""

    time: float
    kind: str
    detail: str
    alarm: Transition | None = None


class Overview(msgspec.Struct, frozen=True):
    """Minimum and maximum of every channel, in columns of equal time.

    Parameters
    ----------
    seconds : left edges of the columns, s after the recording's first sample.
    low, high : of each channel by its name; NaN (null in JSON, None when read) for missing samples.
    """

    seconds: tuple[float, ...] = ()
    low: dict[str, tuple[float | None, ...]] = {}
    high: dict[str, tuple[float | None, ...]] = {}

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the channels, in order."""
        return tuple(self.low)

    def curve(self, channel: str) -> tuple[Samples, Samples, Samples]:
        """Return seconds, low and high of a channel, NaN for missing samples; empty for an unknown channel."""
        seconds = np.array(self.seconds, dtype=np.float64)
        # None becomes NaN
        low, high = (np.array(of.get(channel, ()), dtype=np.float64) for of in (self.low, self.high))
        n = min(len(seconds), len(low), len(high))
        return seconds[:n], low[:n], high[:n]


class Description(msgspec.Struct, frozen=True):
    """Properties of a recording before playback.

    Parameters
    ----------
    format : the kind of file, or ``simulation``.
    rig : its name in the stream.
    sample_rate : Hz; None, like rig, duration and start_time, until the columns are assigned.
    n_samples : number of samples, or of rows of a file whose columns are not assigned.
    duration : s, number of samples over the rate.
    start_time : of the first sample, on the clock of the recording, s.
    channels : as sent.
    columns : of a file whose columns the user may assign, in file order; otherwise empty.
    guess : assumed assignment; with a problem what the columns' values propose, or None; None without columns.
    problem : one line on what must be chosen; empty if nothing.
    notes : assumptions of the reader.
    doubts : those of the notes that report damage.
    events : of a recorded run.
    overview : None unless requested.
    remembered : whether the assignment is one that is remembered beside the file.
    share : of the samples, by which it was made.
    """

    format: str = ""
    rig: str | None = None
    sample_rate: float | None = None
    n_samples: int | None = None
    duration: float | None = None
    start_time: float | None = None
    channels: tuple[Channel, ...] = ()
    columns: tuple[FileColumn, ...] = ()
    guess: ColumnGuess | None = None
    problem: str = ""
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    events: tuple[RecordedEvent, ...] = ()
    overview: Overview | None = None
    remembered: bool = False
    share: float = 1.0

    @property
    def datasets(self) -> tuple[str, ...]:
        """Names of the datasets to choose from, in file order; empty where there are not several."""
        names = tuple(dict.fromkeys(column.dataset for column in self.columns))
        return names if len(names) > 1 and all(names) else ()

    @property
    def default_channel(self) -> str:
        """Channel displayed first: measured of the first actuator, otherwise the first one."""
        measured = [channel.name for channel in self.channels if channel.role == "measured"]
        known = () if self.overview is None else self.overview.channels
        return next((name for name in (*measured, *known) if name in known), "")

    def unit(self, channel: str) -> str:
        """Return the unit of a channel; empty when unknown."""
        return next((known.unit for known in self.channels if known.name == channel), "")


class RunHeader(msgspec.Struct, frozen=True):
    """First message of a computed recording (``synchroscope assess --messages``), and again once settings are known.

    Parameters
    ----------
    n_samples : number of samples.
    duration : s from the first sample to the one that would follow the last, through gaps and restarts.
    n_breaks : restarts of the rig and jumps of its clock.
    window : of the indicators, s.
    every : samples between results.
    notes : on the file and the settings.
    doubts : those of the notes that report damage.
    """

    n_samples: int
    duration: float
    n_breaks: int = 0
    window: float = 0.0
    every: int = 1
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


SIGNALS_COMPLETE = b"signals"
"""Message after the signals that come ahead of the results of a computed recording."""


class RunProgress(msgspec.Struct, frozen=True):
    """Progress message of a computed recording: amount done of a task, and its total."""

    task: str
    done: int
    total: int


def read_description(answer: object) -> Description:
    """Return the description from the decoded JSON output of a process.

    Raises
    ------
    ValueError : it is not a description.
    """
    try:
        return msgspec.convert(answer, Description, strict=False)
    except msgspec.ValidationError as problem:
        raise ValueError(f"the description cannot be read: {problem}") from None


Value = str | int | float | None

NO_RESULTS = "no results"
"""Outcome of a whole file that has signals alone."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run file of a folder; None where there is no value.

    Parameters
    ----------
    file : path below the folder.
    start : ISO 8601, of the first sample by the rig's clock, or else when it was recorded.
    duration_s, sample_rate, samples : through gaps and restarts; Hz.
    rig, actuators : names, the actuators separated by semicolons.
    outcome : clean, lossy, truncated or recovered; open: being written, or its recorder was killed; no results:
        whole, of signals alone.
    worst_delay_ms, worst_delay_at_s, worst_actuator : the recorded delay farthest from zero as `assess` defines it,
        the end of the window that has it, s after the first sample, and the actuator. No time where it is constant.
    alarms, trips, alarm_names : occurrences of alarms, those of trips, and the alarms.
    notes, note_texts : of the operator.
    gaps, lost_samples, restarts : gaps that were recorded as events, samples that are missing, restarts of the rig.
    window_s : of the indicators.
    bytes : size of the file.
    problem : why the file, or a part of it, cannot be read; empty where it can.
    not_judged_s, not_judged_names : for how long at least one alarm was not judged, and the alarms that were not.
    """

    file: str
    start: str | None = None
    duration_s: float | None = None
    sample_rate: float | None = None
    samples: int | None = None
    rig: str | None = None
    actuators: str | None = None
    outcome: str | None = None
    worst_delay_ms: float | None = None
    worst_delay_at_s: float | None = None
    worst_actuator: str | None = None
    alarms: int | None = None
    trips: int | None = None
    alarm_names: str | None = None
    notes: int | None = None
    note_texts: str | None = None
    gaps: int | None = None
    lost_samples: int | None = None
    restarts: int | None = None
    window_s: float | None = None
    bytes: int | None = None
    problem: str = ""
    not_judged_s: float | None = None
    not_judged_names: str | None = None

    def values(self) -> dict[str, Value]:
        """Return the values by key."""
        return asdict(self)


KEYS = tuple(field.name for field in fields(RunRow))
TEXTS = frozenset(field.name for field in fields(RunRow) if str(field.type).startswith("str"))
"""Keys of texts; the others are of numbers."""


def row_of(values: object) -> RunRow:
    """Return the row with these values, as from JSON.

    Raises
    ------
    ValueError : they are not those of a row.
    """
    if not isinstance(values, dict) or values.keys() != set(KEYS):
        raise ValueError("other keys than those of a row")
    given: dict[str, Any] = values
    for key, value in given.items():
        expected = str if key in TEXTS else (int, float)
        if (value is None and key not in ("file", "problem")) or (
            isinstance(value, expected) and not isinstance(value, bool)
        ):
            continue
        raise ValueError(f"{key} is of another type")
    return RunRow(**given)
