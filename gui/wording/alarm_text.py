"""An alarm as a person reads it: how grave in a word and a shape, of what, its value beside its limit, its state."""

from __future__ import annotations

import math
from collections.abc import Iterable

from gui.wording.level import Level
from gui.wording.numbers import DASH, bytes_text, duration_text, instant_text
from gui.wording.quantity_names import QUANTITIES
from monitor.messages.alarms import Alarm, AlarmAction, AlarmState, Severity, Transition
from monitor.messages.headline import HEADLINE

_SHAPES = {Severity.TRIP: "■", Severity.WARN: "▲"}
_LEVELS = {Severity.TRIP: Level.BAD, Severity.WARN: Level.WARN}
_STATES = {
    AlarmState.RETURNED: "returned, unacknowledged",
    AlarmState.LATCHED_UNACKNOWLEDGED: "latched, unacknowledged",
    AlarmState.LATCHED_ACKNOWLEDGED: "latched, acknowledged",
    AlarmState.OUT_OF_SERVICE: "out of service",
}
_SUBJECTS = {
    "dead_stream": "dead stream",
    "lost_data": "lost data",
    "account": "counts that do not add up",
    "overload": "overload",
    "recording": "recording",
    "run_file": "run file",
    "disk": "room on the disk",
    "reliability_instantaneous": "instantaneous reliability",
    "reliability_first_passage": "first-passage reliability",
    "reliability_accumulated": "accumulated reliability",
    "reliability_windowed": "windowed reliability",
}
_OF_HEALTH = "health."
_BYTES = ("B", "byte", "bytes")
_FIGURES, _EXACT, _MOST_FIGURES = 4, 6, 12
_MINUS = "−"


def severity_shape(severity: Severity) -> str:
    """Return the shape of a severity; shapes and words say what colours say."""
    return _SHAPES[severity]


def severity_word(severity: Severity) -> str:
    """Return ``TRIP`` or ``WARN``."""
    return severity.value.upper()


def severity_level(severity: Severity) -> Level:
    """Return how much a severity matters."""
    return _LEVELS[severity]


def state_word(state: AlarmState) -> str:
    """Return a state in the standard's words."""
    return _STATES.get(state, state.value.replace("_", " "))


def state_words(alarm: Alarm) -> str:
    """Return the state of an alarm; of what is put aside, for how long."""
    if alarm.state is AlarmState.SHELVED:
        return f"shelved, {duration_text(math.ceil(max(0.0, alarm.shelved_for)))} left"
    return state_word(alarm.state)


def value_words(value: str, *, measure: bool = True) -> str:
    """Return what a published value is called: ``delay (FDB)``; ``delay`` of the headline and without the measure."""
    if value in _SUBJECTS:
        return _SUBJECTS[value]
    quantity = _QUANTITIES.get(value)
    if quantity is None:
        return value.removeprefix(_OF_HEALTH).replace("_", " ")
    label = next(each.label for each in quantity.measures if each.name == value)
    plain = not measure or len(quantity.measures) == 1 or value.startswith(f"{HEADLINE}_")
    return quantity.title if plain else f"{quantity.title} ({label})"


def subject(alarm: Alarm) -> str:
    """Return what an alarm is of: ``north delay (FDB)``."""
    # standing alarms of a service are known by their names, whatever value they watch
    own = alarm.name.rpartition(".")[0]
    words = _SUBJECTS.get(own) if not alarm.actuator else None
    return " ".join(filter(None, (alarm.actuator, words or value_words(alarm.value))))


def transition_words(transition: Transition) -> str:
    """Return what an alarm's step was: ``north delay (FDB) 31.2 ms, limit 20 ms: unacknowledged``."""
    owner, quantity, unit = transition.actuator, transition.quantity, transition.unit
    called = transition.name.removesuffix(f".{transition.severity.value}").removeprefix(f"{owner}.")
    said = [f"{owner} {value_words(called)}".strip()]
    at_limit, limit = transition.action in (AlarmAction.OCCUR, AlarmAction.RETURN_TO_NORMAL), transition.limit
    # what the service says of itself is told by its reason, unless it has a name that says what of
    named = called in _SUBJECTS or quantity in _QUANTITIES or quantity in _SUBJECTS or not transition.reason
    if at_limit and named and limit is not None:
        if called != quantity and quantity in _QUANTITIES:
            # an alarm with a name of its own does not tell of which value it is
            said.append(value_words(quantity))
        said[-1] += f" {shown(quantity, transition.value, unit, limits=(limit,))}"
        said.append(f"limit {shown(quantity, limit, unit, _EXACT)}")
    elif transition.reason:
        said.append(transition.reason)
    return f"{', '.join(said)}: {state_word(transition.state)}"


def amount(alarm: Alarm, value: float | None, figures: int = _FIGURES) -> str:
    """Return a value of an alarm's with its unit, as panels show it; it never looks like a limit that it is not."""
    limits = [limit for limit in (alarm.low, alarm.high) if limit is not None]
    return shown(alarm.value, value, alarm.unit, figures, limits)


def counted_before(alarm: Alarm) -> bool:
    """Whether an alarm holds for what was counted at an earlier look: beside it, the newest count would puzzle."""
    low, high, last = alarm.low, alarm.high, alarm.last
    if last is None or not alarm.active or not alarm.value.startswith(_OF_HEALTH):
        return False
    return (low is None or last >= low) and (high is None or last <= high)


def shown(name: str, value: float | None, unit: str, figures: int = _FIGURES, limits: Iterable[float] = ()) -> str:
    """Return a published value with its unit, as panels show it: ``31.2 ms``; a dash for none.

    Where it would look like one of `limits` that it is not, it has more figures.
    """
    if value is None or not math.isfinite(value):
        return DASH
    if unit in _BYTES:
        return bytes_text(int(value))
    factor, unit = scale_of(name, unit)
    others = {f"{limit * factor:.{_EXACT}g}" for limit in limits if limit != value}
    text = f"{value * factor + 0.0:.{figures}g}"
    while text in others and figures < _MOST_FIGURES:
        figures += 1
        text = f"{value * factor:.{figures}g}"
    text = text.replace("-", _MINUS)
    return f"{text} {unit}".rstrip() if unit != "1" else text


def scale_of(value: str, unit: str) -> tuple[float, str]:
    """Return the factor and the unit in which a value is shown: a delay in ms, a phase in degrees."""
    quantity = _QUANTITIES.get(value)
    return (quantity.factor, quantity.unit) if quantity is not None and quantity.unit else (1.0, unit)


def normal_text(alarm: Alarm) -> str:
    """Return what is normal: ``≤ 20 ms``, ``≥ 0.9``, ``± 20 ms`` or ``0.9 … 1.1``; nothing where all is."""
    low, high = _finite(alarm.low), _finite(alarm.high)
    if high is None:
        return "" if low is None else f"≥ {amount(alarm, low, _EXACT)}"
    highest = amount(alarm, high, _EXACT)
    if low is None:
        # a count is normal as long as nothing is counted
        return f"≤ {highest}" if high else highest
    if low == -high:
        return f"± {highest}"
    unit = highest.partition(" ")[2]
    return f"{amount(alarm, low, _EXACT).removesuffix(f' {unit}')} … {highest}"


def since_text(alarm: Alarm) -> str:
    """Return when its state changed last, on the rig's clock; a dash for what never has."""
    return DASH if alarm.state is AlarmState.NORMAL and not alarm.time else instant_text(alarm.time, 1)


def headline(alarm: Alarm) -> str:
    """Return what is shown first: of what, its value, and what is normal."""
    normal = normal_text(alarm)
    parts = [subject(alarm)]
    if alarm.last is not None and math.isfinite(alarm.last) and not counted_before(alarm):
        parts.append(amount(alarm, alarm.last))
    return " ".join(parts) + (f", normal {normal}" if normal else "")


def sentence(alarm: Alarm) -> str:
    """Return all of it in a few lines."""
    grave = f"{severity_shape(alarm.severity)} {severity_word(alarm.severity)} {headline(alarm)}"
    holds = "its condition holds" if alarm.active else "its condition does not hold"
    advice = f"advice: {alarm.advice}" if alarm.advice else ""
    said = f"{state_words(alarm)}, since {since_text(alarm)}; {holds}"
    return "\n".join(filter(None, (grave, said, advice, alarm.name)))


def _finite(limit: float | None) -> float | None:
    return limit if limit is not None and math.isfinite(limit) else None


_QUANTITIES = {measure.name: quantity for quantity in QUANTITIES for measure in quantity.measures}
