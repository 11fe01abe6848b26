"""Texts of alarms: formatted values, the reason of a transition, the nearest name."""

from __future__ import annotations

import math
from collections.abc import Sequence

from monitor.messages.alarms import Alarm, LimitChange, Transition

_BYTE_UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def format_value(value: float, unit: str, other: float | None = None, scale_of: float | None = None) -> str:
    """Return a value in its unit with four digits; with more if it would look the same as `other`.

    Bytes have the prefix (kB, MB, ...) that suits `scale_of`, by default `other`.
    """
    factor, unit = _byte_unit(scale_of or other or value) if unit == "B" else (1.0, unit)
    for digits in range(4, 18):
        text = _number(value / factor, digits)
        if other is None or value == other or text != _number(other / factor, digits):
            break
    return f"{text} {'sample' if unit == 'samples' and text == '1' else unit}".rstrip()


def _number(value: float, digits: int) -> str:
    return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.{digits}g}"


def _byte_unit(size: float) -> tuple[float, str]:
    return next(((factor, unit) for factor, unit in _BYTE_UNITS if abs(size) >= factor), (1.0, "B"))


def crossed_limit(alarm: Alarm, value: float | None) -> float | None:
    """Return the limit that `value` exceeds, or the nearest one; None if there is none."""
    sides = [limit for limit in (alarm.low, alarm.high) if limit is not None]
    if not sides:
        return None
    if value is None or not math.isfinite(value):
        return sides[0] if value == -math.inf else sides[-1]
    return min(sides, key=lambda limit: abs(value - limit))


def occurrence_reason(alarm: Alarm, value: float, limit: float | None, delay: float = 0.0, template: str = "") -> str:
    """Return why an alarm has occurred; from `template`, with {value}, if given."""
    if template:
        return template.format(value=format_value(value, alarm.unit))
    subject = f"{_subject(alarm)} {format_value(value, alarm.unit, limit)}"
    if limit is None:
        return subject
    side = "above" if value > limit else "below"
    lasting = f", for {delay:g} s" if delay else ""
    return f"{subject} is {side} {format_value(limit, alarm.unit, value, limit)}{lasting}"


def return_reason(alarm: Alarm, value: float, limit: float | None, template: str = "", suppressed: int = 0) -> str:
    """Return why an alarm has returned to normal; `suppressed` returns before were too brief to be reported."""
    if template:
        return template
    before = f", {suppressed} times before too briefly" if suppressed else ""
    if not math.isfinite(value) or limit is None:
        return f"{_subject(alarm)} is back to normal{before}"
    side = "below" if limit == alarm.high else "above"
    subject = f"{_subject(alarm)} {format_value(value, alarm.unit, limit)}"
    return f"{subject} is back {side} {format_value(limit, alarm.unit, value, limit)}{before}"


def removed_reason(alarm: Alarm, *, published: bool) -> str:
    """Return why an alarm without definition has returned: its limit was removed, or its value is not published."""
    return f"{_subject(alarm)} {'has no such limit' if published else 'is not published'} any more"


def attributed(action: str, by: str) -> str:
    """Return an action with the name of the operator, if known."""
    return f"{action} by {by}" if by else action


def range_text(low: float | None, high: float | None, unit: str) -> str:
    """Return a normal range, None where open: ``at most 0.02 s``, ``0.9 to 1.1``; empty without limits."""
    lowest, highest = (None if limit is None else format_value(limit, unit) for limit in (low, high))
    if lowest is not None and highest is not None:
        return f"{lowest} to {highest}"
    if lowest is not None:
        return f"at least {lowest}"
    return "" if highest is None else f"at most {highest}"


def describe_change(change: LimitChange) -> str:
    """Return a change of limits in one line."""
    new = range_text(change.low, change.high, change.unit)
    former = range_text(change.previous_low, change.previous_high, change.unit)
    return attributed(f"{change.name}: limits changed to {new}, from {former},", change.by).removesuffix(",")


def _subject(alarm: Alarm) -> str:
    return f"{alarm.actuator} {alarm.value}".strip()


def describe_transition(transition: Transition) -> str:
    """Return the name of the alarm, its new state and the reason in one line."""
    state = f"{transition.state.replace('_', ' ')}: "
    # the reason of a lost value begins with the state
    return f"{transition.name} {'' if transition.reason.startswith(state) else state}{transition.reason}"


_MIN_SIMILARITY = 0.6  # of the longer name


def nearest_name(name: str, names: Sequence[str]) -> str:
    """Return the most similar of `names`, by common prefix and suffix; empty if none is similar."""
    nearest = max(names, key=lambda other: _similarity(name, other))
    return nearest if _similarity(name, nearest) >= _MIN_SIMILARITY * max(len(name), len(nearest)) else ""


def _similarity(one: str, other: str) -> int:
    """Return the length of the common prefix plus that of the common suffix."""
    prefix = _common_prefix(one, other)
    return prefix + _common_prefix(one[prefix:][::-1], other[prefix:][::-1])


def _common_prefix(one: str, other: str) -> int:
    shorter = min(len(one), len(other))
    return next((i for i in range(shorter) if one[i] != other[i]), shorter)
