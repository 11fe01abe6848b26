"""The published values: whether measures and model fit the rig, and limits are set on values that there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from monitor.blocks import Channel, Column, Role, Stream
from monitor.commands.checks.finding import Finding, fail, ok, warn
from monitor.config import IndicatorSettings, Settings

if TYPE_CHECKING:
    from monitor.reliability.plan import ReliabilityPlan

_ASSUMED = 1000.0  # Hz: any rate gives the same names


def measures(settings: IndicatorSettings, stream: Stream, published: list[Column]) -> Iterator[Finding]:
    """Get ready to compute, as the engine does for this stream; `published` takes the columns."""
    from monitor.actuator_monitor import ActuatorMonitor

    if not stream.pairs:
        yield warn("measures", f"rig {stream.rig} has no actuator: no indicators")
        return
    ready = ActuatorMonitor(settings, stream)
    for note in ready.notes:
        yield warn("measures", note)
    published += ready.columns
    yield ok(
        "measures",
        f"window of {settings.window:g} s, {round(settings.window * stream.sample_rate)} samples; "
        f"{len(ready.columns)} values, {stream.sample_rate / settings.every:g} times a second",
    )


def model(plan: ReliabilityPlan, stream: Stream, published: list[Column]) -> Iterator[Finding]:
    """Get ready to judge the model by this stream; `published` takes the columns."""
    from monitor.reliability_monitor import ReliabilityMonitor

    published += ReliabilityMonitor(plan, stream).columns
    yield ok("model", f"rig {stream.rig} sends {', '.join(site.channel for site in plan.sites)}")


def alarms(settings: Settings, columns: Sequence[Column]) -> Iterator[Finding]:
    """Look for the values that limits are set on among `columns`, those of the rig."""
    watched, findings = _watched(settings, columns)
    yield from findings
    if not findings:
        yield ok("alarms", f"{watched}, of {len(settings.alarms.limit)} limits and the standing ones")


def assumed_alarms(settings: Settings, plan: ReliabilityPlan | None) -> Iterator[Finding]:
    """The same without a rig: among the columns that any would have, for actuators as the limits name them."""
    _, findings = _watched(settings, _assumed(settings, plan))
    yield from findings
    if settings.alarms.limit:
        yield warn("alarms", "whether the rig has the actuators that limits are for is seen when it is heard")


def _watched(settings: Settings, columns: Sequence[Column]) -> tuple[int, list[Finding]]:
    from monitor.alarms.watches import plan

    watches, notes = plan(settings.alarms, settings.stream.stale_after, columns)
    # a value that is not there is not watched, and nobody would miss the alarm
    return len(watches), [fail("alarms", note.removeprefix("alarms: ")) for note in notes]


def _assumed(settings: Settings, plan: ReliabilityPlan | None) -> tuple[Column, ...]:
    from monitor.actuator_monitor import ActuatorMonitor
    from monitor.reliability_monitor import ReliabilityMonitor

    # in the order of the settings
    actuators = dict.fromkeys(["", *(limit.actuator for limit in settings.alarms.limit)])
    roles = (Role.COMMAND, Role.MEASURED, Role.FORCE)
    channels = tuple(Channel(f"{name}.{role}", role, "", name) for name in actuators for role in roles)
    # windows and the like change no name
    plain = IndicatorSettings(measures=settings.indicators.measures)
    columns = ActuatorMonitor(plain, Stream("", 0, _ASSUMED, channels)).columns
    if plan is not None:
        sites = tuple(Channel(site.channel, Role.AUXILIARY, site.ensemble.unit) for site in plan.sites)
        columns += ReliabilityMonitor(plan, Stream("", 0, 1.0 / plan.sites[0].ensemble.dt, sites)).columns
    return columns
