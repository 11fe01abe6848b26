"""Alarms and events as text: severity, source, value and limit, state; kind and sentence of an event."""

from __future__ import annotations

import math
from collections.abc import Iterable

from msgspec.structs import replace

from gui.wording.level import Level
from gui.wording.quantity_names import QUANTITIES
from monitor.catalogue import display_unit
from monitor.messages.alarms import Alarm, AlarmAction, AlarmState, LimitChange, Severity, Transition
from monitor.messages.blocks import Event, EventKind
from monitor.messages.headline import HEADLINE, LABELS
from monitor.messages.headline import QUANTITIES as HEADLINE_QUANTITIES
from monitor.text.numbers import DASH, bytes_text, count, duration_text, instant_text

_SEVERITY_SHAPES = {Severity.TRIP: "■", Severity.WARN: "▲"}
NOT_JUDGED_SHAPE = "⊘"
"""Marks what is not judged; no other state has it."""
_LEVELS = {Severity.TRIP: Level.BAD, Severity.WARN: Level.WARN}
_STATES = {
    AlarmState.RETURNED: "returned, unacknowledged",
    AlarmState.LATCHED_UNACKNOWLEDGED: "latched, unacknowledged",
    AlarmState.LATCHED_ACKNOWLEDGED: "latched, acknowledged",
    AlarmState.OUT_OF_SERVICE: "out of service",
}
_SOURCES = {
    "dead_stream": "dead stream",
    "lost_data": "lost data",
    "account": "inconsistent counts",
    "overload": "overload",
    "memory": "memory",
    "not_judged": "alarms not judged",
    "recording": "recording",
    "run_file": "run file",
    "disk": "disk space",
    "reliability_instantaneous": "instantaneous reliability",
    "reliability_first_passage": "first-passage reliability",
    "reliability_accumulated": "accumulated reliability",
    "reliability_windowed": "windowed reliability",
}
_OF_HEALTH = "health."
_BYTES = ("B", "byte", "bytes")
_DIGITS, _LIMIT_DIGITS, _MAX_DIGITS = 4, 6, 12
_ROUNDING = 1e-9  # of the largest limit: a smaller value is zero
_MOST_WRITTEN_OUT = 1e9
_MINUS = "−"


def severity_shape(severity: Severity) -> str:
    """Return the shape of a severity, so that it does not depend on colours."""
    return _SEVERITY_SHAPES[severity]


def severity_word(severity: Severity) -> str:
    """Return ``TRIP`` or ``WARN``."""
    return severity.value.upper()


def severity_level(severity: Severity) -> Level:
    """Return the level of a severity."""
    return _LEVELS[severity]


def state_name(state: AlarmState) -> str:
    """Return a state in the words of ISA-18.2."""
    return _STATES.get(state, state.value.replace("_", " "))


def state_text(alarm: Alarm) -> str:
    """Return the state of an alarm; with the time left if it is shelved, with the reason if it is not judged."""
    words = state_name(alarm.state)
    if alarm.state is AlarmState.SHELVED:
        words = f"shelved, {duration_text(math.ceil(max(0.0, alarm.shelved_for)))} left"
    if not alarm.not_judged:
        return words
    reason = f"not judged: {alarm.not_judged}"
    return reason if alarm.state is AlarmState.NOT_JUDGED else f"{words}, {reason}"


def value_name(value: str, *, measure: bool = True) -> str:
    """Return the name of a published value: ``delay (FDB)``; ``delay`` of the headline and without the measure."""
    if value in _SOURCES:
        return _SOURCES[value]
    quantity = _QUANTITIES.get(value)
    if quantity is None:
        return value.removeprefix(_OF_HEALTH).replace("_", " ")
    label = next((each.label for each in quantity.curves if each.name == value), "")
    plain = not label or not measure or len(quantity.curves) == 1 or value.startswith(f"{HEADLINE}_")
    return quantity.title if plain else f"{quantity.title} ({label})"


def alarm_source(alarm: Alarm) -> str:
    """Return the source of an alarm: ``north delay (FDB)``; of a headline value with the indicator that speaks."""
    # built-in alarms of a service have names of their own
    own = alarm.name.rpartition(".")[0]
    name = _SOURCES.get(own) if not alarm.actuator else None
    return " ".join(filter(None, (alarm.actuator, name or value_name(alarm.source or alarm.value))))


def transition_text(transition: Transition) -> str:
    """Return a change of state of an alarm: ``north delay (FDB) 31.2 ms, limit 20 ms: unacknowledged``."""
    owner, quantity, unit = transition.actuator, transition.quantity, transition.unit
    name = transition.name.removesuffix(f".{transition.severity.value}").removeprefix(f"{owner}.")
    speaker = transition.reason.rpartition(", by ")[2] if quantity in HEADLINE_QUANTITIES else ""
    said_by = f" ({speaker})" if speaker in _OTHER_SPEAKERS else ""
    parts = [f"{owner} {value_name(name)}{said_by}".strip()]
    at_limit, limit = transition.action in (AlarmAction.OCCUR, AlarmAction.RETURN_TO_NORMAL), transition.limit
    # for other values of the service the reason says more than the name
    known = name in _SOURCES or quantity in _QUANTITIES or quantity in _SOURCES or not transition.reason
    if at_limit and known and limit is not None:
        if name != quantity and quantity in _QUANTITIES:
            # the name of the alarm is not that of its value
            parts.append(value_name(quantity))
        parts[-1] += f" {value_text(quantity, transition.value, unit, limits=(limit,))}"
        parts.append(f"limit {value_text(quantity, limit, unit, _LIMIT_DIGITS)}")
    elif transition.reason:
        parts.append(transition.reason)
    if transition.action is AlarmAction.LOSE_VALUE and transition.state is AlarmState.NOT_JUDGED:
        return ", ".join(parts)
    return f"{', '.join(parts)}: {state_name(transition.state)}"


def change_text(change: LimitChange) -> str:
    """Return a change of limits: ``north delay (FDB): limit ≤ 25 ms, was ≤ 20 ms, by kim``."""
    new = Alarm(change.name, change.quantity, change.actuator, change.unit, change.severity, change.low, change.high)
    former = replace(new, low=change.previous_low, high=change.previous_high)
    by = f", by {change.by}" if change.by else ""
    return f"{range_change(former, new.low, new.high)}{by}"


def range_change(alarm: Alarm, low: float | None, high: float | None) -> str:
    """Return a change of the limits of an alarm: ``north delay (FDB): limit ≤ 25 ms, was ≤ 20 ms``."""
    new = normal_range(replace(alarm, low=low, high=high))
    return f"{alarm_source(alarm)}: limit {new}, was {normal_range(alarm)}"


def alarm_value(alarm: Alarm, value: float | None, digits: int = _DIGITS) -> str:
    """Return a value of an alarm with its unit, with enough digits to differ from the limits."""
    limits = [limit for limit in (alarm.low, alarm.high) if limit is not None]
    is_rounding = value is not None and abs(value) < _ROUNDING * max(map(abs, limits), default=0.0)
    return value_text(alarm.value, 0.0 if is_rounding else value, alarm.unit, digits, limits)


def counted_before(alarm: Alarm) -> bool:
    """Whether an alarm is active for an earlier count: the newest one, which is normal, is not shown beside it."""
    low, high, last = alarm.low, alarm.high, alarm.last
    if last is None or not alarm.active or not alarm.value.startswith(_OF_HEALTH):
        return False
    return (low is None or last >= low) and (high is None or last <= high)


def value_text(name: str, value: float | None, unit: str, digits: int = _DIGITS, limits: Iterable[float] = ()) -> str:
    """Return a published value with its unit: ``31.2 ms``; a dash for none.

    It has enough digits to differ from `limits`.
    """
    if value is None or not math.isfinite(value):
        return DASH
    if unit in _BYTES:
        return bytes_text(int(value))
    factor, unit = scale_of(name, unit)
    others = {_number(limit * factor, _LIMIT_DIGITS) for limit in limits if limit != value}
    text = _number(value * factor + 0.0, digits)
    while text in others and digits < _MAX_DIGITS:
        digits += 1
        text = _number(value * factor, digits)
    text = text.replace("-", _MINUS)
    return f"{text} {unit}".rstrip() if unit != "1" else text


def _number(value: float, digits: int) -> str:
    """Return a number with so many digits, whole numbers with all of theirs: not with a power of ten."""
    return count(round(value)) if 10.0**digits <= abs(value) < _MOST_WRITTEN_OUT else f"{value:.{digits}g}"


def scale_of(value: str, unit: str) -> tuple[float, str]:
    """Return the factor and the unit of a value on the display: delays in ms, phases in degrees."""
    quantity = _QUANTITIES.get(value)
    if quantity is None or not quantity.unit:
        return 1.0, unit
    return quantity.factor, display_unit(quantity.unit, unit)


def normal_range(alarm: Alarm) -> str:
    """Return the normal range: ``≤ 20 ms``, ``≥ 0.9``, ``± 20 ms`` or ``0.9 … 1.1``; empty without limits."""
    low, high = _finite(alarm.low), _finite(alarm.high)
    if high is None:
        return "" if low is None else f"≥ {alarm_value(alarm, low, _LIMIT_DIGITS)}"
    highest = alarm_value(alarm, high, _LIMIT_DIGITS)
    if low is None:
        # the normal count is zero
        return f"≤ {highest}" if high else highest
    if low == -high:
        return f"± {highest}"
    unit = highest.partition(" ")[2]
    return f"{alarm_value(alarm, low, _LIMIT_DIGITS).removesuffix(f' {unit}')} … {highest}"


def since_text(alarm: Alarm) -> str:
    """Return the time of the last change of state, on the rig's clock; a dash if there was none."""
    never = alarm.state in (AlarmState.NORMAL, AlarmState.NOT_JUDGED) and not alarm.time
    return DASH if never else instant_text(alarm.time, 1)


def alarm_line(alarm: Alarm) -> str:
    """Return source, value and limit: ``north delay 62 ms, limit ±58 ms``."""
    limit = normal_range(alarm).removeprefix("≤ ").removeprefix("≥ ").replace("± ", "±")
    parts = [alarm_source(alarm)]
    if alarm.last is not None and math.isfinite(alarm.last) and not counted_before(alarm):
        parts.append(alarm_value(alarm, alarm.last))
    return " ".join(parts) + (f", {'limits' if '…' in limit else 'limit'} {limit}" if limit else "")


def alarm_details(alarm: Alarm) -> str:
    """Return everything about an alarm, in a few lines."""
    first = f"{severity_shape(alarm.severity)} {severity_word(alarm.severity)} {alarm_line(alarm)}"
    condition = "condition active" if alarm.active else "condition not active"
    if alarm.state is AlarmState.SHELVED:
        state = state_text(alarm).replace("shelved", f"shelved at {since_text(alarm)}", 1)
    else:
        state = f"{state_text(alarm)} since {since_text(alarm)}"
    advice = f"advice: {alarm.advice}" if alarm.advice else ""
    return "\n".join(filter(None, (first, f"{state}; {condition}", advice, alarm.name)))


def _finite(limit: float | None) -> float | None:
    return limit if limit is not None and math.isfinite(limit) else None


_QUANTITIES = {measure.name: quantity for quantity in QUANTITIES for measure in quantity.curves}
_QUANTITIES |= {quantity.key: quantity for quantity in QUANTITIES if quantity.key in HEADLINE_QUANTITIES}
_OTHER_SPEAKERS = [label for prefix, label in LABELS.items() if prefix != HEADLINE]


_KIND_SHAPES = {
    EventKind.STARTED: "●",
    EventKind.ENDED: "■",
    EventKind.RESTART: "▲",
    EventKind.GAP: "▲",
    EventKind.CLOCK_JUMP: "▲",
    EventKind.CONTRADICTION: "▲",
    EventKind.REJECTED: "▼",
    EventKind.NOTE: "✎",
    EventKind.LIMITS: "↕",
}
_VERDICTS = {"reject": Level.BAD, "watch": Level.WARN}
_UNIMPORTANT = (EventKind.STARTED, EventKind.ENDED, EventKind.DECISION, EventKind.NOTE, EventKind.LIMITS)
_COUNTED = {
    EventKind.GAP: "{} sample{} lost",
    EventKind.DUPLICATE: "{} duplicate sample{}",
    EventKind.REORDERED: "{} sample{} out of order",
    EventKind.REJECTED: "{} message{} rejected",
}


def kind_name(kind: EventKind) -> str:
    """Return the name of a kind, such as ``clock jump``."""
    return kind.value.replace("_", " ")


def kind_shape(kind: EventKind) -> str:
    """Return the shape of a kind."""
    return _KIND_SHAPES.get(kind, "◆")


def kind_level(kind: EventKind) -> Level:
    """Return the level of a kind: a warning where samples are lost."""
    return Level.INFO if kind in _UNIMPORTANT else Level.WARN


def event_level(event: Event) -> Level:
    """Return the level of an event: that of its severity where an alarm occurs, of a decision that of its verdict."""
    transition = event.alarm
    if transition is None:
        return _VERDICTS.get(event.verdict) or kind_level(event.kind)
    return severity_level(transition.severity) if transition.action is AlarmAction.OCCUR else Level.INFO


def event_sentence(event: Event) -> str:
    """Return a description in one line; empty where the kind is enough."""
    transition = event.alarm
    if transition is not None:
        severity = transition.severity
        shape = NOT_JUDGED_SHAPE if transition.not_judged else severity_shape(severity)
        return f"{shape} {severity_word(severity)} {transition_text(transition)}"
    if (change := event.limits) is not None:
        return f"{severity_shape(change.severity)} {severity_word(change.severity)} {change_text(change)}"
    plural = "" if event.count == 1 else "s"
    counted = _COUNTED[event.kind].format(count(event.count), plural) if event.kind in _COUNTED else ""
    return ": ".join(part for part in (counted, event.detail) if part)
