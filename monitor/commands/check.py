"""`synchroscope monitor --check`: looks at everything that a test needs, and begins none."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import msgspec

from monitor.commands.checks.check_result import CheckResult, Level, fail, found, ok, warn

if TYPE_CHECKING:
    from monitor.commands.security import Guard
    from monitor.config import Settings
    from monitor.messages.blocks import Column, Stream
    from monitor.reliability.plan import ReliabilityPlan


def check(
    settings: Callable[[], Settings], *, insecure: bool = False, duration: float | None = None, as_json: bool = False
) -> int:
    """Print one line a finding, or one JSON object; return 0 where nothing fails, else 2.

    Parameters
    ----------
    settings : returns them, or raises ValueError for what is wrong with them.
    insecure : what is bound may be open to other machines without keys.
    duration : s of the test, where it is known.
    as_json : print ``{"ok": ..., "findings": [{"level": ..., "subject": ..., "detail": ...}, ...]}`` instead.
    """
    every = []
    for finding in _findings(settings, insecure, duration):
        every.append(finding)
        if not as_json:
            print(finding, flush=True)
    failed, warned = (sum(each.level is level for each in every) for level in (Level.FAIL, Level.WARN))
    if as_json:
        print(msgspec.json.encode({"ok": not failed, "findings": every}).decode())
    else:
        print(f"{_count(failed, 'failure')}, {_count(warned, 'warning')}", file=sys.stderr)
    return 2 if failed else 0


def _findings(settings: Callable[[], Settings], insecure: bool, duration: float | None) -> Iterator[CheckResult]:
    from monitor.config import SettingsError

    try:
        given = settings()
    except ValueError as problem:
        problems = problem.problems if isinstance(problem, SettingsError) else (str(problem),)
        yield from (fail("settings", each) for each in problems)
        yield warn("settings", "nothing else is looked at before they are right")
        return
    yield ok("settings", "all of them can be used")
    yield from _Look(given, insecure, duration).findings()


class _Look:
    """One look at everything, in an order in which what was found serves what follows."""

    def __init__(self, settings: Settings, insecure: bool, duration: float | None) -> None:
        self._settings, self._insecure, self._duration = settings, insecure, duration
        self._plan: ReliabilityPlan | None = None
        self._guard: Guard | None = None
        self._streams: list[Stream] = []
        self._columns: list[Column] = []
        self._rows = 1  # samples a message

    def findings(self) -> Iterator[CheckResult]:
        """Give them as they are found."""
        from monitor.commands.checks import machine

        yield from machine.clock()
        yield from machine.descriptors()
        yield from found("model", self._model)
        yield from found("kernels", self._kernels)
        with ExitStack() as stack:
            yield from found("keys", lambda: self._keys(stack))
            yield from self._sockets(stack)
        yield from self._values()
        yield from self._kept()
        yield from found("broker", self._broker)

    def _model(self) -> Iterator[CheckResult]:
        from monitor.ensembles.plan_files import open_plan

        self._plan = open_plan(self._settings.reliability)
        for note in self._plan.notes if self._plan is not None else ():
            yield ok("model", note)

    def _kernels(self) -> Iterator[CheckResult]:
        from monitor.commands.checks.machine import kernels

        print(
            "loading kernels; where this is the first time they are compiled, for a minute or two ...",
            file=sys.stderr,
        )
        return kernels(self._settings.indicators, reliability=self._plan is not None)

    def _keys(self, stack: ExitStack) -> Iterator[CheckResult]:
        from monitor.commands.checks.endpoints import keys, no_keys
        from monitor.commands.security import open_guard

        security = self._settings.security
        self._guard = stack.enter_context(open_guard(security.keys, security.rig_key))
        yield from keys(self._settings) if security.keys else no_keys(self._settings)

    def _sockets(self, stack: ExitStack) -> Iterator[CheckResult]:
        from monitor.commands.checks.endpoints import outlets
        from monitor.commands.checks.rigs import RigProbe

        if self._guard is None:
            yield warn("rig", "not listened to, and nothing bound, before the keys are right")
            return
        yield from outlets(self._settings, self._insecure, self._guard, stack)
        rigs = RigProbe(self._settings.stream, self._insecure, self._guard)
        stack.callback(rigs.close)
        yield from rigs.listen()
        self._streams = rigs.streams
        self._rows = rigs.rows(self._streams[0].rig) if self._streams else 1

    def _values(self) -> Iterator[CheckResult]:
        from monitor.commands.checks import values
        from monitor.commands.checks.machine import load
        from monitor.engine.monitor import MOST_ROWS

        settings, plan, columns = self._settings, self._plan, self._columns
        if not self._streams:
            yield warn("measures", "whether window and rate go together is seen when the rig is heard")
            yield from found("alarms", lambda: values.assumed_alarms(settings, plan))
            return
        stream = self._streams[0]
        yield from found("measures", lambda: values.measures(settings.indicators, stream, columns))
        yield from found("load", lambda: load(settings.indicators, plan, stream, self._rows, MOST_ROWS))
        if plan is not None:
            yield from found("model", lambda: values.model(plan, stream, columns))
        yield from found("alarms", lambda: values.alarms(settings, columns))

    def _kept(self) -> Iterator[CheckResult]:
        from monitor.commands.checks import recording

        settings = self._settings
        yield from found("alarm file", lambda: recording.kept_alarms(settings))
        if settings.record.path:
            yield from found(
                "record", lambda: recording.recording(settings, self._streams, self._columns, self._duration)
            )
        else:
            yield warn("record", "nothing is recorded: give record.path or --record")

    def _broker(self) -> Iterator[CheckResult]:
        if self._settings.mqtt.host:
            from monitor.commands.checks.broker import broker

            rig = self._streams[0].rig if self._streams else self._settings.stream.rig
            yield from broker(self._settings.mqtt, rig)


def _count(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"
