"""The settings of alarms: limits on published values, and the alarms that every service has."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from monitor.config.section import NotNegative, Positive, Section, Time

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
    """A limit on a published value: an indicator, a reliability, or ``health.NAME``.

    ``warn`` and ``trip`` are numbers in the value's unit, which it must not be on the ``side`` of, or pairs that it
    must stay within; each makes an alarm of its own for each actuator (or response) that has the value, or for
    ``actuator`` alone. Terms are those of ISA-18.2 and IEC 62682: an alarm occurs when its condition has held for
    ``on_delay`` s, and returns to normal when the value has been back by ``deadband`` for ``off_delay`` s;
    ``latching``, it then waits for a reset; without ``acknowledge`` nobody has to take note of it. One that is not
    ``in_service`` is listed and never occurs. ``name`` is by default the value's, ``advice`` what the operator is
    to do.
    """

    value: Annotated[str, Field(min_length=1, max_length=128)]
    actuator: str = ""
    warn: Boundary = None
    trip: Boundary = None
    side: Literal["above", "below"] = "above"
    deadband: NotNegative = 0.0
    on_delay: NotNegative = 0.0
    off_delay: NotNegative = 0.0
    latching: bool = False
    acknowledge: bool = True
    in_service: bool = True
    name: Text = ""
    advice: Annotated[str, Field(max_length=120)] = ""

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
    """Alarms: ``limit`` for each value, and those of stream and recording, which are on unless said otherwise.

    ``dead_stream`` trips when nothing has come for the stream's ``stale_after``; ``overload`` warns when results
    come more than 2 s late; ``lost_data`` warns when samples are
    missing; ``recording`` trips when samples cannot be kept, warns when the disk is late or the run file
    gone, warns when less than ``disk_warn`` bytes are left and
    trips under ``disk_trip``. ``state`` is a file that keeps alarms over a restart of the service; empty: beside the
    recording, where there is one. Nothing is shelved for more than ``shelve_at_most`` s.
    """

    limit: tuple[LimitSettings, ...] = ()
    dead_stream: bool = True
    overload: bool = True
    lost_data: bool = True
    recording: bool = True
    disk_warn: NotNegative = 2e9
    disk_trip: NotNegative = 2e8
    state: str = ""
    shelve_at_most: Positive = 28800.0

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
