"""Alarms in words: why a transition happened, and a transition in a sentence."""

from __future__ import annotations

import math

from monitor.messages.alarms import Alarm, Transition

_SIZES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


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


def returned(alarm: Alarm, value: float, limit: float | None, said: str = "", suppressed: int = 0) -> str:
    """Return why the condition of an alarm has ended; before, it had `suppressed` times, too soon to be told."""
    if said:
        return said
    before = f", {suppressed} times before too briefly" if suppressed else ""
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


def sentence(step: Transition) -> str:
    """Return what an alarm's step was, for a person: which alarm, its state, and why."""
    return f"{step.name} {step.state.replace('_', ' ')}: {step.reason}"
