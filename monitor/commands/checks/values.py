"""Checks of the published values: measures and model for the rig's channels, and alarm limits on existing values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from monitor.commands.checks import CheckResult, fail, ok, warn
from monitor.config import IndicatorSettings, LimitSettings, Settings
from monitor.messages.blocks import Channel, Column, Role, Stream

if TYPE_CHECKING:
    from monitor.reliability.plan import ReliabilityPlan

_ASSUMED_RATE = 1000.0  # Hz: column names do not depend on it


def measures(settings: IndicatorSettings, stream: Stream, published: list[Column]) -> Iterator[CheckResult]:
    """Set up the indicators for this stream; their columns are appended to `published`."""
    from monitor.engine.actuators import ActuatorMonitor
    from monitor.engine.monitor import MAX_ROWS_PER_SECOND, row_interval

    if not stream.pairs:
        yield warn("measures", f"rig {stream.rig} has no actuator: no indicators")
        return
    monitor = ActuatorMonitor(settings, stream)
    for note in monitor.notes:
        yield warn("measures", note)
    every = row_interval(settings, stream.sample_rate, MAX_ROWS_PER_SECOND)
    published += monitor.columns
    yield ok(
        "measures",
        f"window of {settings.window:g} s, {round(settings.window * stream.sample_rate)} samples; "
        f"{len(monitor.columns)} values, {stream.sample_rate / every:g} times per second",
    )


def model(plan: ReliabilityPlan, stream: Stream, published: list[Column]) -> Iterator[CheckResult]:
    """Set up the model reliability for this stream; its columns are appended to `published`."""
    from monitor.engine.reliability import ReliabilityMonitor

    published += ReliabilityMonitor(plan, stream).columns
    yield ok("model", f"rig {stream.rig} sends {', '.join(site.channel for site in plan.sites)}")


def alarms(settings: Settings, columns: Sequence[Column]) -> Iterator[CheckResult]:
    """Check that the limited values are among `columns`, those of the rig."""
    watched, findings = _watched(settings, columns)
    yield from findings
    if not findings:
        yield ok("alarms", f"{watched}, of {len(settings.alarms.limit)} limits and the built-in ones")
    yield from _limits(settings)


def assumed_alarms(settings: Settings, plan: ReliabilityPlan | None) -> Iterator[CheckResult]:
    """Check the limits without a rig: with the columns of any rig that has the actuators named in the limits."""
    _, findings = _watched(settings, _assumed_columns(settings, plan))
    yield from findings
    yield from _limits(settings)
    if settings.alarms.limit:
        yield warn("alarms", "whether the rig has the actuators of the limits is checked when it is received")


def check_published(settings: Settings, plan: ReliabilityPlan | None) -> None:
    """Reject limits on values that the service cannot publish for any rig.

    Raises
    ------
    ValueError : there are some; one line names all of them.
    """
    from monitor.alarms.definitions import missing_values

    if settings.alarms.limit and (notes := missing_values(settings.alarms, _assumed_columns(settings, plan))):
        raise ValueError(f"alarms: {'; '.join(notes)}")


def _limits(settings: Settings) -> Iterator[CheckResult]:
    """Yield each limit, and a warning about alarms that may chatter."""
    limits = settings.alarms.limit
    yield from (ok("alarms", _limit_text(limit)) for limit in limits if limit.in_service)
    bare = [limit for limit in limits if limit.in_service and not limit.deadband and not limit.off_delay]
    if names := ", ".join(_limit_name(limit) for limit in bare if not _is_count(limit)):
        yield warn("alarms", f"{names}: may chatter without a deadband: in the settings, or VALUE=WARN,deadband=D")


def _limit_text(limit: LimitSettings) -> str:
    """Return a limit as text, such as ``fdb_delay warn above 0.02, trip above 0.04``."""
    levels = []
    for name, boundary in (("warn", limit.warn), ("trip", limit.trip)):
        if isinstance(boundary, tuple):
            levels.append(f"{name} below {boundary[0]:g} and above {boundary[1]:g}")
        elif boundary is not None:
            levels.append(f"{name} {limit.side} {boundary:g}")
    return f"{_limit_name(limit)} {', '.join(levels)}"


def _limit_name(limit: LimitSettings) -> str:
    return f"{limit.actuator} {limit.value}".strip()


def _is_count(limit: LimitSettings) -> bool:
    """Whether the value is a count, which does not fluctuate around a limit."""
    from monitor.alarms.definitions import HEALTH_PREFIX, metric_unit

    is_health = limit.value.startswith(HEALTH_PREFIX)
    return is_health and metric_unit(limit.value.removeprefix(HEALTH_PREFIX)) not in ("s", "Hz", "B")


def _watched(settings: Settings, columns: Sequence[Column]) -> tuple[int, list[CheckResult]]:
    from monitor.alarms.definitions import define_alarms

    definitions, notes = define_alarms(settings.alarms, settings.stream.stale_after, columns)
    # a limit on a missing value would silently have no effect
    return len(definitions), [fail("alarms", note) for note in notes]


def _assumed_columns(settings: Settings, plan: ReliabilityPlan | None) -> tuple[Column, ...]:
    from monitor.engine.actuators import ActuatorMonitor
    from monitor.engine.reliability import ReliabilityMonitor

    # in the order of the settings
    actuators = dict.fromkeys(["", *(limit.actuator for limit in settings.alarms.limit)])
    roles = (Role.COMMAND, Role.MEASURED, Role.FORCE)
    channels = tuple(Channel(f"{name}.{role}", role, "", name) for name in actuators for role in roles)
    # other settings do not change the names
    plain = IndicatorSettings(measures=settings.indicators.measures)
    columns = ActuatorMonitor(plain, Stream("", 0, _ASSUMED_RATE, channels), plain.measures).columns
    if plan is not None:
        sites = tuple(Channel(site.channel, Role.AUXILIARY, site.ensemble.unit) for site in plan.sites)
        stream = Stream("", 0, 1.0 / plan.sites[0].ensemble.dt, sites)
        columns += ReliabilityMonitor(plan, stream, compiling=True).columns
    return columns
