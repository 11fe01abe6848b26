"""Row of a run file, as ``synchroscope runs --json`` prints it: what the recorder stored, by keys of a summary."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

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
