"""Alarms in words: why a transition happened, and a transition as an event that can be read back."""

from __future__ import annotations

import math
import re

from monitor.messages.alarms import Alarm, AlarmAction, AlarmState, Severity, Transition
from monitor.messages.blocks import Event, EventKind

MAX_DETAIL = 200
"""Bytes that the run file keeps of an event's detail."""

_MOST_NAME, _MOST_UNIT, _MOST_DIGITS, _ENDING = 48, 10, 17, 5
_SIZES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
_NOT_IN_UNITS = {ord(","): " ", ord(":"): " "}


def reading(value: float, unit: str, beside: float | None = None, like: float | None = None) -> str:
    """Return a value in its unit with four digits; with more, where it would look like another `beside` it.

    Bytes are told in the multiple that is fit for `like`, by default for the one beside it.
    """
    factor, unit = _scale(like or beside or value) if unit == "B" else (1.0, unit)
    for digits in range(4, 18):
        text = _number(value / factor, digits)
        if beside is None or value == beside or text != _number(beside / factor, digits):
            break
    return f"{text} {unit}".rstrip()


def _number(value: float, digits: int) -> str:
    return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.{digits}g}"


def _scale(size: float) -> tuple[float, str]:
    return next(((factor, unit) for factor, unit in _SIZES if abs(size) >= factor), (1.0, "B"))


def crossed(alarm: Alarm, value: float | None) -> float | None:
    """Return the limit that `value` is beyond, or the nearest one; None where there is none."""
    sides = [limit for limit in (alarm.low, alarm.high) if limit is not None]
    if not sides:
        return None
    if value is None or not math.isfinite(value):
        return sides[0] if value == -math.inf else sides[-1]
    return min(sides, key=lambda limit: abs(value - limit))


def occurred(alarm: Alarm, value: float, limit: float | None, delay: float = 0.0, said: str = "") -> str:
    """Return why the condition of an alarm has begun to hold."""
    if said:
        return said.format(value=reading(value, alarm.unit))
    what = f"{_subject(alarm)} {reading(value, alarm.unit, limit)}"
    if limit is None:
        return what
    side = "above" if value > limit else "below"
    lasting = f", for {delay:g} s" if delay else ""
    return f"{what} is {side} {reading(limit, alarm.unit, value, limit)}{lasting}"


def returned(alarm: Alarm, value: float, limit: float | None, said: str = "", untold: int = 0) -> str:
    """Return why the condition of an alarm has ended; before, it had `untold` times, too soon to be told."""
    if said:
        return said
    before = f", {untold} times before too briefly" if untold else ""
    if not math.isfinite(value) or limit is None:
        return f"{_subject(alarm)} is back to normal{before}"
    side = "below" if limit == alarm.high else "above"
    what = f"{_subject(alarm)} {reading(value, alarm.unit, limit)}"
    return f"{what} is back {side} {reading(limit, alarm.unit, value, limit)}{before}"


def unwatched(alarm: Alarm, *, published: bool) -> str:
    """Return why an alarm has returned that is not watched any more: its limit is not there, or its value."""
    return f"{_subject(alarm)} {'has no such limit' if published else 'is not published'} any more"


def asked(what: str, by: str) -> str:
    """Return what somebody has done."""
    return f"{what} by {by}" if by else what


def _subject(alarm: Alarm) -> str:
    return f"{alarm.actuator} {alarm.value}".strip()


def event_of(transition: Transition) -> Event:
    """Return the event that the run file and every client get; its detail is as docs/run-file.md says."""
    t = transition
    numbers = [f", {name} {_digits(n)}" for name, n in (("value", t.value), ("limit", t.limit)) if n is not None]
    if numbers and t.unit:
        numbers.append(f" {_shortened(t.unit.translate(_NOT_IN_UNITS), _MOST_UNIT)}")
    name = t.name
    if len(name.encode()) > _MOST_NAME:
        # the end tells warn from trip
        name = _shortened(name, _MOST_NAME - _ENDING) + name[-_ENDING:]
    detail = f"#{t.number} {name} {t.action}: {t.previous} -> {t.state}{''.join(numbers)}: "
    return Event(
        EventKind.ALARM, t.time, t.index, 0, detail + _shortened(t.reason, MAX_DETAIL - len(detail.encode()))
    )


def _digits(number: float) -> str:
    exact = repr(number)
    return exact if len(exact) <= _MOST_DIGITS else f"{number:.9g}"


def _shortened(text: str, most: int) -> str:
    """Return `text` in at most so many bytes of UTF-8, with dots where something is left out."""
    if len(text.encode()) <= most:
        return text
    return text.encode()[: max(most - 3, 0)].decode(errors="ignore") + "…" if most >= 3 else ""


_STATES = "|".join(AlarmState)
_NUMBER = r"[-+.0-9einfa]+"
_DETAIL = re.compile(
    rf"#(?P<number>\d{{1,16}}) (?P<name>.+?) (?P<action>{'|'.join(AlarmAction)}): (?P<previous>{_STATES}) -> "
    rf"(?P<state>{_STATES})(?:, value (?P<value>{_NUMBER}))?(?:, limit (?P<limit>{_NUMBER}))?"
    rf"(?: (?P<unit>[^,:]*))?: (?P<reason>.*)",
    re.DOTALL | re.ASCII,
)


def transition_of(event: Event) -> Transition | None:
    """Return the transition that an event of the stream or of a run file tells; None for any other event.

    Names, units and reasons that were too long for an event are cut and end in dots; who asked is in the reason.
    """
    found = _DETAIL.fullmatch(event.detail) if event.kind is EventKind.ALARM else None
    if found is None:
        return None
    said = found.groupdict()
    try:
        value, limit = (None if said[name] is None else float(said[name]) for name in ("value", "limit"))
    except ValueError:
        return None
    return Transition(
        number=int(said["number"]),
        name=said["name"],
        severity=Severity.TRIP if said["name"].endswith(".trip") else Severity.WARN,
        action=AlarmAction(said["action"]),
        previous=AlarmState(said["previous"]),
        state=AlarmState(said["state"]),
        time=event.time,
        index=event.index,
        value=value,
        limit=limit,
        unit=said["unit"] or "",
        reason=said["reason"],
    )


def in_words(event: Event) -> str:
    """Return what an event of an alarm says, for a person: which alarm, its state, and why."""
    step = transition_of(event)
    return event.detail if step is None else f"{step.name} {step.state.replace('_', ' ')}: {step.reason}"
