"""The published values: whether measures and model fit the rig, and limits are set on values that there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from monitor.commands.checks.check_result import CheckResult, fail, ok, warn
from monitor.config import IndicatorSettings, LimitSettings, Settings
from monitor.messages.blocks import Channel, Column, Role, Stream

if TYPE_CHECKING:
    from monitor.reliability.plan import ReliabilityPlan

_ASSUMED = 1000.0  # Hz: any rate gives the same names


def measures(settings: IndicatorSettings, stream: Stream, published: list[Column]) -> Iterator[CheckResult]:
    """Get ready to compute, as the engine does for this stream; `published` takes the columns."""
    from monitor.engine.actuators import ActuatorMonitor
    from monitor.engine.monitor import MOST_ROWS, rows_apart

    if not stream.pairs:
        yield warn("measures", f"rig {stream.rig} has no actuator: no indicators")
        return
    ready = ActuatorMonitor(settings, stream)
    for note in ready.notes:
        yield warn("measures", note)
    every = rows_apart(settings, stream.sample_rate, MOST_ROWS)
    published += ready.columns
    yield ok(
        "measures",
        f"window of {settings.window:g} s, {round(settings.window * stream.sample_rate)} samples; "
        f"{len(ready.columns)} values, {stream.sample_rate / every:g} times a second",
    )


def model(plan: ReliabilityPlan, stream: Stream, published: list[Column]) -> Iterator[CheckResult]:
    """Get ready to judge the model by this stream; `published` takes the columns."""
    from monitor.engine.reliability import ReliabilityMonitor

    published += ReliabilityMonitor(plan, stream).columns
    yield ok("model", f"rig {stream.rig} sends {', '.join(site.channel for site in plan.sites)}")


def alarms(settings: Settings, columns: Sequence[Column]) -> Iterator[CheckResult]:
    """Look for the values that limits are set on among `columns`, those of the rig."""
    watched, findings = _watched(settings, columns)
    yield from findings
    if not findings:
        yield ok("alarms", f"{watched}, of {len(settings.alarms.limit)} limits and the standing ones")
    yield from _limits(settings)


def assumed_alarms(settings: Settings, plan: ReliabilityPlan | None) -> Iterator[CheckResult]:
    """The same without a rig: among the columns that any would have, for actuators as the limits name them."""
    _, findings = _watched(settings, _assumed(settings, plan))
    yield from findings
    yield from _limits(settings)
    if settings.alarms.limit:
        yield warn("alarms", "whether the rig has the actuators that limits are for is seen when it is heard")


def check_published(settings: Settings, plan: ReliabilityPlan | None) -> None:
    """Refuse limits on values that the service cannot publish, whatever rig comes.

    Raises
    ------
    ValueError : there are such; one line names them all.
    """
    from monitor.alarms.definitions import missing_values

    if settings.alarms.limit and (notes := missing_values(settings.alarms.limit, _assumed(settings, plan))):
        raise ValueError("; ".join([notes[0], *(note.removeprefix("alarms: ") for note in notes[1:])]))


def _limits(settings: Settings) -> Iterator[CheckResult]:
    """Say where each limit lies, and which alarms may come and go without end."""
    limits = settings.alarms.limit
    yield from (ok("alarms", _in_words(limit)) for limit in limits if limit.in_service)
    bare = [limit for limit in limits if limit.in_service and not limit.deadband and not limit.off_delay]
    if names := ", ".join(_named(limit) for limit in bare if not _counted(limit)):
        yield warn("alarms", f"{names}: without deadband, may chatter at the limit; give deadband in the settings")


def _in_words(limit: LimitSettings) -> str:
    """Return where a limit lies, such as ``fdb_delay warn above 0.02, trip above 0.04``."""
    levels = []
    for name, boundary in (("warn", limit.warn), ("trip", limit.trip)):
        if isinstance(boundary, tuple):
            levels.append(f"{name} below {boundary[0]:g} and above {boundary[1]:g}")
        elif boundary is not None:
            levels.append(f"{name} {limit.side} {boundary:g}")
    return f"{_named(limit)} {', '.join(levels)}"


def _named(limit: LimitSettings) -> str:
    return f"{limit.actuator} {limit.value}".strip()


def _counted(limit: LimitSettings) -> bool:
    """Whether the value is a whole number of things, which does not waver about a limit."""
    from monitor.alarms.conditions import metric_unit
    from monitor.alarms.definitions import HEALTH_PREFIX

    is_health = limit.value.startswith(HEALTH_PREFIX)
    return is_health and metric_unit(limit.value.removeprefix(HEALTH_PREFIX)) not in ("s", "Hz", "B")


def _watched(settings: Settings, columns: Sequence[Column]) -> tuple[int, list[CheckResult]]:
    from monitor.alarms.definitions import define_alarms

    definitions, notes = define_alarms(settings.alarms, settings.stream.stale_after, columns)
    # a value that is not there is not watched, and nobody would miss the alarm
    return len(definitions), [fail("alarms", note.removeprefix("alarms: ")) for note in notes]


def _assumed(settings: Settings, plan: ReliabilityPlan | None) -> tuple[Column, ...]:
    from monitor.engine.actuators import ActuatorMonitor
    from monitor.engine.reliability import ReliabilityMonitor

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
