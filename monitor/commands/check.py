"""`synchroscope monitor --check`: checks before a test, without starting one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import msgspec

from monitor.commands.checks import CheckLevel, CheckResult, checked, fail, ok, warn

if TYPE_CHECKING:
    from monitor.commands.security import Guard
    from monitor.commands.sources import LiveChannels
    from monitor.config import Settings
    from monitor.messages.blocks import Column, Stream
    from monitor.reliability.plan import ReliabilityPlan


def check(
    settings: Callable[[], Settings],
    live_channels: LiveChannels,
    *,
    insecure: bool = False,
    duration: float | None = None,
    as_json: bool = False,
) -> int:
    """Print the results as lines, or as one JSON object; return 0 if no check fails, otherwise 2.

    Parameters
    ----------
    settings : returns the settings; raises ValueError if they are invalid.
    live_channels : gives the channels of an LSL stream their roles.
    insecure : endpoints may be reachable from other machines without keys.
    duration : of the test, s, if known.
    as_json : print ``{"ok": ..., "findings": [{"level": ..., "subject": ..., "detail": ...}, ...]}`` instead.
    """
    results = []
    for result in _check_all(settings, live_channels, insecure, duration):
        results.append(result)
        if not as_json:
            print(result, flush=True)
    failed, warned = (sum(each.level is level for each in results) for level in (CheckLevel.FAIL, CheckLevel.WARN))
    if as_json:
        print(msgspec.json.encode({"ok": not failed, "findings": results}).decode())
    else:
        print(f"{_count(failed, 'failure')}, {_count(warned, 'warning')}", file=sys.stderr)
    return 2 if failed else 0


def _check_all(
    settings: Callable[[], Settings], live_channels: LiveChannels, insecure: bool, duration: float | None
) -> Iterator[CheckResult]:
    from monitor.config import SettingsError

    try:
        values = settings()
    except ValueError as problem:
        problems = problem.problems if isinstance(problem, SettingsError) else (str(problem),)
        yield from (fail("settings", each) for each in problems)
        yield warn("settings", "nothing else is checked until they are valid")
        return
    yield ok("settings", "valid")
    yield from _Checks(values, live_channels, insecure, duration).run()


class _Checks:
    """All checks, in an order in which later ones use earlier results."""

    def __init__(
        self, settings: Settings, live_channels: LiveChannels, insecure: bool, duration: float | None
    ) -> None:
        self._settings, self._insecure, self._duration = settings, insecure, duration
        self._live_channels = live_channels
        self._plan: ReliabilityPlan | None = None
        self._guard: Guard | None = None
        self._streams: list[Stream] = []
        self._columns: list[Column] = []
        self._rows = 1  # samples per message

    def run(self) -> Iterator[CheckResult]:
        """Run the checks and yield their results."""
        from monitor.commands.checks import machine

        yield from machine.clock()
        yield from machine.descriptors()
        yield from checked("model", self._model)
        yield from checked("kernels", self._kernels)
        with ExitStack() as stack:
            yield from checked("keys", lambda: self._keys(stack))
            yield from self._sockets(stack)
        yield from self._values()
        yield from self._files()
        yield from checked("broker", self._broker)

    def _model(self) -> Iterator[CheckResult]:
        from monitor.ensembles.plan_files import open_plan

        self._plan = open_plan(self._settings.reliability)
        for note in self._plan.notes if self._plan is not None else ():
            yield ok("model", note)

    def _kernels(self) -> Iterator[CheckResult]:
        from monitor.commands.checks.machine import kernels

        print("loading kernels; the first time they are compiled, which takes a minute or two ...", file=sys.stderr)
        return kernels(self._settings.indicators, reliability=self._plan is not None)

    def _keys(self, stack: ExitStack) -> Iterator[CheckResult]:
        from monitor.commands.checks.endpoints import keys, no_keys
        from monitor.commands.security import open_guard

        security = self._settings.security
        self._guard = stack.enter_context(open_guard(security.keys, security.rig_key))
        yield from keys(self._settings) if security.keys else no_keys(self._settings)

    def _sockets(self, stack: ExitStack) -> Iterator[CheckResult]:
        from monitor.commands.checks.endpoints import sockets
        from monitor.commands.checks.rigs import RigProbe

        if self._guard is None:
            yield warn("rig", "not checked, nor any endpoint bound, until the keys are valid")
            return
        yield from sockets(self._settings, self._insecure, self._guard, stack)
        probe = RigProbe(self._settings.stream, self._insecure, self._guard, self._live_channels)
        stack.callback(probe.close)
        yield from probe.listen()
        self._streams = probe.streams
        self._rows = probe.rows(self._streams[0].rig) if self._streams else 1

    def _values(self) -> Iterator[CheckResult]:
        from monitor.commands.checks import values
        from monitor.commands.checks.machine import load
        from monitor.engine.monitor import MAX_ROWS_PER_SECOND

        settings, plan, columns = self._settings, self._plan, self._columns
        if not self._streams:
            yield warn("measures", "window and sample rate are checked when the rig is received")
            yield from checked("alarms", lambda: values.assumed_alarms(settings, plan))
            return
        stream = self._streams[0]
        yield from checked("measures", lambda: values.measures(settings.indicators, stream, columns))
        yield from checked("load", lambda: load(settings.indicators, plan, stream, self._rows, MAX_ROWS_PER_SECOND))
        if plan is not None:
            yield from checked("model", lambda: values.model(plan, stream, columns))
        yield from checked("alarms", lambda: values.alarms(settings, columns))

    def _files(self) -> Iterator[CheckResult]:
        from monitor.commands.checks import recording

        settings = self._settings
        yield from checked("alarm file", lambda: recording.alarm_state(settings))
        if settings.record.path:
            yield from checked(
                "record", lambda: recording.recording(settings, self._streams, self._columns, self._duration)
            )
        else:
            yield warn("record", "nothing is recorded: give record.path or --record")

    def _broker(self) -> Iterator[CheckResult]:
        if self._settings.mqtt.host:
            from monitor.commands.checks.endpoints import broker

            rig = self._streams[0].rig if self._streams else self._settings.stream.rig
            yield from broker(self._settings.mqtt, rig)


def _count(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"
