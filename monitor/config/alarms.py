"""The settings of alarms: limits on published values, and the alarms that every service has."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from monitor.config.section import NotNegative, Positive, Section, Time, setting

HEALTH_VALUES = (
    *("age", "latency", "lag", "load", "sample_rate", "measured_rate"),
    *("disk_free", "unwritten_age", "broker_waiting", "all_unrecorded", "unaccounted"),
    *("lost", "duplicates", "reordered", "gaps", "restarts", "clock_jumps", "reconnects", "rejected"),
    *("unrecorded", "recording_breaks", "requests_refused", "broker_dropped", "unpublished"),
)
"""What limits may be set on of the service itself, after ``health.``; those of the last two lines are what has been
counted since the last look, a fifth of a second ago."""

Text = Annotated[str, Field(max_length=64, pattern=r"^[^\x00-\x1f\x7f]*$")]


def _not_falling(band: tuple[float, float]) -> tuple[float, float]:
    if band[0] > band[1]:
        raise ValueError("must be [lowest, highest], the first not above the second")
    return band


Boundary = Annotated[
    Annotated[tuple[Time, Time], AfterValidator(_not_falling)] | Time | None,
    BeforeValidator(lambda given: tuple(given) if isinstance(given, list) else given),
]
"""A number to stay on one side of, or a pair to stay within."""


class LimitSettings(Section):
    """A limit on a published value; the terms are those of ISA-18.2 and IEC 62682.

    Each of ``warn`` and ``trip`` makes an alarm of its own, for each actuator (or response) that has the value.
    """

    value: Annotated[str, Field(min_length=1, max_length=128)] = setting(
        ..., "Value", "An indicator, a reliability, or health.NAME."
    )
    actuator: str = setting("", "Actuator", "The alarm is for this one alone.", empty="for each that has the value")
    warn: Boundary = setting(
        None, "Warning limit", "In the value's unit: a number, or a pair to stay within.", empty="no warning"
    )
    trip: Boundary = setting(None, "Trip limit", "The same for a trip, not within the warning's.", empty="no trip")
    side: Literal["above", "below"] = setting("above", "Side", "Where a value is too far, of a single number.")
    deadband: NotNegative = setting(0.0, "Deadband", "How far a value must be back, in its unit.")
    on_delay: NotNegative = setting(
        0.0, "On-delay", "How long the condition must hold before the alarm occurs.", unit="s"
    )
    off_delay: NotNegative = setting(
        0.0, "Off-delay", "How long the value must be back before the alarm returns to normal.", unit="s"
    )
    latching: bool = setting(False, "Latching", "An alarm that has occurred stays until it is reset.")
    acknowledge: bool = setting(True, "Acknowledge", "The alarm asks to be acknowledged.")
    in_service: bool = setting(True, "In service", "Out of service it is listed and never occurs.")
    name: Text = setting("", "Name", "What the alarm is called.", empty="as the value")
    advice: Annotated[str, Field(max_length=120)] = setting("", "Advice", "What the operator is to do.", empty="none")

    @field_validator("value")
    @classmethod
    def _known(cls, value: str) -> str:
        kind, dot, name = value.partition(".")
        if kind == "health" and dot and name not in HEALTH_VALUES:
            raise ValueError(f"no {value}: of the service there are {', '.join(HEALTH_VALUES)}")
        return value

    @property
    def called(self) -> str:
        """What alarms are named after."""
        return self.name or self.value.removeprefix("health.")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.warn is None and self.trip is None:
            raise ValueError("neither warn nor trip: give one of the two or both")
        if self.warn is not None and self.trip is not None:
            warn, trip = self.bounds(self.warn), self.bounds(self.trip)
            if not (trip[0] <= warn[0] and warn[1] <= trip[1]):
                raise ValueError(f"trip {self.trip} comes before warn {self.warn}: let it lie further out")
        for boundary in (self.warn, self.trip):
            if isinstance(boundary, tuple) and boundary[1] - boundary[0] < 2.0 * self.deadband:
                raise ValueError(
                    f"deadband {self.deadband:g} leaves nothing between {boundary[0]:g} and {boundary[1]:g}"
                )
        return self

    def bounds(self, boundary: float | tuple[float, float]) -> tuple[float, float]:
        """Return the lowest and the highest value that is normal; infinite where there is none."""
        if isinstance(boundary, tuple):
            return boundary
        return (float("-inf"), boundary) if self.side == "above" else (boundary, float("inf"))


class AlarmSettings(Section):
    """Alarms: limits on values, and those of stream and recording, which are on unless switched off."""

    limit: tuple[LimitSettings, ...] = setting((), "Limits", "Limits on published values.", shown=False)
    dead_stream: bool = setting(True, "Dead stream", "Trips when nothing has come for as long as makes it stale.")
    overload: bool = setting(True, "Overload", "Warns when results are more than 2 s late.")
    lost_data: bool = setting(True, "Lost data", "Warns when samples are missing.")
    recording: bool = setting(
        True, "Recording", "Trips when samples cannot be recorded; warns of a late disk or a missing run file."
    )
    disk_warn: NotNegative = setting(2e9, "Disk space, warning", "Less than this warns; 0: never.", unit="bytes")
    disk_trip: NotNegative = setting(2e8, "Disk space, trip", "Less than this trips; 0: never.", unit="bytes")
    state: str = setting(
        "", "State file", "Keeps alarms over a restart of the service.", empty="beside the recording", opens="file"
    )
    shelve_at_most: Positive = setting(28800.0, "Longest shelving", "No alarm is shelved for longer.", unit="s")

    @model_validator(mode="after")
    def _told_apart(self) -> Self:
        seen: set[tuple[str, str]] = set()
        for limit in self.limit:
            which = (limit.called, limit.actuator)
            if which in seen:
                raise ValueError(
                    f"limit: two on {' of '.join(filter(None, which))}: write both bounds as a pair, or name one"
                )
            seen.add(which)
        return self
