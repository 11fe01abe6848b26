"""A recording that is shown as a whole, and its states at an instant: alarms and transfer functions."""

from __future__ import annotations

import math
from bisect import bisect_right, insort
from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import itemgetter

from msgspec.structs import replace

from gui.model.results import ResultHistory
from gui.model.timeline import PAUSE
from monitor.messages.alarms import Alarm, AlarmAction, AlarmState, LimitChange, Transition
from monitor.messages.blocks import Event, TransferBlock
from monitor.messages.headline import FALLBACKS, HEADLINE, QUANTITIES
from monitor.messages.recordings import RunHeader
from monitor.text.numbers import percent

_X = itemgetter(0)
_NO_VALUE = "no value at this instant"


class RecordedStates:
    """The states of a recording's alarms by its events, and its transfer functions, each from its instant on.

    A live history has those of now only, as the service reports them.
    """

    def __init__(self) -> None:
        self._configured: dict[str, Alarm] = {}
        self._transitions: dict[str, list[tuple[float, Transition]]] = {}
        self._changes: dict[str, list[tuple[float, LimitChange]]] = {}
        self._transfers: list[tuple[float, TransferBlock]] = []

    def configure(self, alarms: Iterable[Alarm]) -> None:
        """Set the alarms of the recorded settings, with their limits at the end."""
        self._configured = {alarm.name: alarm for alarm in alarms}

    def add_event(self, x: float, event: Event) -> None:
        """Add a transition or a change of limits; other events have no state."""
        if event.alarm is not None:
            insort(self._transitions.setdefault(event.alarm.name, []), (x, event.alarm), key=_X)
        if event.limits is not None:
            insort(self._changes.setdefault(event.limits.name, []), (x, event.limits), key=_X)

    def add_transfer(self, x: float, block: TransferBlock) -> None:
        """Add the transfer functions up to `x`."""
        insort(self._transfers, (x, block), key=_X)

    def transfer(self, x: float, epoch: int | None) -> TransferBlock | None:
        """Return the transfer functions of an epoch up to `x`; None where there are none yet."""
        at = bisect_right(self._transfers, x, key=_X) - 1
        block = self._transfers[at][1] if at >= 0 else None
        return block if block is not None and epoch in (None, block.stream.epoch) else None

    def is_last_transfer(self, block: TransferBlock) -> bool:
        """Whether transfer functions are those at the end of the recording."""
        return block is self._transfers[-1][1]

    def alarms(self, x: float, results: ResultHistory | None) -> tuple[Alarm, ...]:
        """Return the alarms in their states at `x`, each with the value at `x` where there is one.

        An alarm without any recorded transition is normal, unless its value is outside its limits: whether it was
        active before the recording, or waited for its delay, is not known then, and it is left out. What would be
        normal is not judged where there is no value.
        """
        found = []
        for name in dict.fromkeys((*self._configured, *self._transitions)):
            steps = self._transitions.get(name, [])
            alarm = self._limits_at(x, self._configured.get(name) or _alarm_of(steps[0][1]))
            at = bisect_right(steps, x, key=_X) - 1
            reason = _not_judged_reason(steps, at)
            source, value = ("", math.nan) if results is None or reason else _value_at(results, alarm, x)
            last = value if math.isfinite(value) else None
            alarm = replace(alarm, source=source, not_judged=reason or (_NO_VALUE if last is None else ""))
            if not steps:
                if last is None or not _is_outside(alarm, last):
                    found.append(replace(alarm, state=_judged_state(alarm), last=last))
                continue
            # before the first transition it was in the state that this one has left
            step = steps[max(at, 0)][1]
            state, time, index = (step.state, step.time, step.index) if at >= 0 else (step.previous, 0.0, 0)
            if state in (AlarmState.NORMAL, AlarmState.NOT_JUDGED):
                state = _judged_state(alarm)
            active = _is_active(steps, at + 1)
            found.append(replace(alarm, state=state, active=active, last=last, time=time, index=index))
        return tuple(found)

    def _limits_at(self, x: float, alarm: Alarm) -> Alarm:
        changes = self._changes.get(alarm.name, [])
        at = bisect_right(changes, x, key=_X) - 1
        if at >= 0:
            return replace(alarm, low=changes[at][1].low, high=changes[at][1].high)
        if changes:
            return replace(alarm, low=changes[0][1].previous_low, high=changes[0][1].previous_high)
        return alarm


def _alarm_of(step: Transition) -> Alarm:
    """Return an alarm that the recorded settings do not have."""
    return Alarm(step.name, step.quantity, step.actuator, step.unit, step.severity)


def _judged_state(alarm: Alarm) -> AlarmState:
    if alarm.state is AlarmState.OUT_OF_SERVICE:
        return alarm.state
    return AlarmState.NOT_JUDGED if alarm.not_judged else AlarmState.NORMAL


def _not_judged_reason(steps: list[tuple[float, Transition]], at: int) -> str:
    """Return the recorded reason why it was not judged after step `at`; empty where it was."""
    for _, step in reversed(steps[: at + 1]):
        if step.action in (AlarmAction.LOSE_VALUE, AlarmAction.REGAIN_VALUE):
            return step.not_judged
    return ""


def _value_at(results: ResultHistory, alarm: Alarm, x: float) -> tuple[str, float]:
    """Return the column and the value of an alarm at `x`; a headline value is that of the first indicator with one.

    It was judged then: another indicator than the first spoke only where that was paused.
    """
    names = [f"{prefix}_{alarm.value}" for prefix in (HEADLINE, *FALLBACKS)] if alarm.value in QUANTITIES else []
    names = [name for name in names if results.column(alarm.actuator, name) is not None]
    for name in names:
        if math.isfinite(value := results.value(alarm.actuator, name, x)):
            return name, value
    return (names[0], math.nan) if names else ("", results.value(alarm.actuator, alarm.value, x))


def _is_active(steps: list[tuple[float, Transition]], n_past: int) -> bool:
    """Whether the condition is met after the first `n_past`: by its last change, else before its next one."""
    changes = (AlarmAction.OCCUR, AlarmAction.RETURN_TO_NORMAL)
    past = [step.action for _, step in steps[:n_past] if step.action in changes]
    later = [step.action for _, step in steps[n_past:] if step.action in changes]
    return past[-1] is AlarmAction.OCCUR if past else later[:1] == [AlarmAction.RETURN_TO_NORMAL]


def _is_outside(alarm: Alarm, value: float) -> bool:
    return (alarm.low is not None and value < alarm.low) or (alarm.high is not None and value > alarm.high)


@dataclass(frozen=True, slots=True)
class LoadedRecording:
    """A recording that is shown as a whole, in place of what a service publishes.

    Parameters
    ----------
    name : of its file.
    path : of its file; empty: of none.
    header : its length, and the settings with which its results were computed.
    states : at an instant.
    share : of its samples that are shown: of the others nothing is known yet.
    """

    name: str
    path: str
    header: RunHeader
    states: RecordedStates = field(default_factory=RecordedStates, compare=False, repr=False)
    share: float = 1.0

    @property
    def coarse(self) -> str:
        """What is shown, where that is not all."""
        return f"coarse, {percent(self.share)} of the samples" if self.share < 1.0 else ""

    @property
    def room(self) -> float:
        """Length on the display's axis, s, at most: a restart takes a pause."""
        return self.header.duration + (1.0 + PAUSE) * (1.0 + self.header.n_breaks)
