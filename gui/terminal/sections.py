"""Sections of the dashboard, a few lines each: alarms, contradictions, transfer functions, model reliability."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

from gui.model.alarms import sorted_alarms, summarize
from gui.model.results import ResultHistory
from gui.model.tracking_status import MIN_COHERENCE, contradiction_mark
from gui.wording.event_text import NOT_JUDGED_SHAPE, counted_before, severity_shape, severity_word
from monitor.alarms.text import format_value
from monitor.messages.alarms import NOT_JUDGED, Alarm, AlarmState, Severity
from monitor.messages.blocks import Samples
from monitor.messages.headline import HEADLINE, LABELS, contradicting, label_of
from monitor.messages.transfer import TransferBlock
from monitor.text.numbers import DASH, fitted, instant_text, shortened

# no full block: it would touch the line above
_BARS = "▁▂▃▄▅▆▇"
_BLANK = " "


@dataclass(frozen=True, slots=True)
class _Sparkline:
    """Sparkline, and the values of its lowest and highest bar; NaN without a valid value."""

    text: str
    low: float
    high: float


def sparkline(trace: Samples, width: int, least_span: float = 0.0) -> _Sparkline:
    """Return the sparkline of a trace in `width` characters, each the mean of the valid values of its part.

    Parameters
    ----------
    trace : (n,), oldest first; NaN: not drawn.
    width : characters.
    least_span : minimum range of the values, so that noise is not magnified.
    """
    parts = np.array_split(trace, width)
    means = np.array([part[~np.isnan(part)].mean() if (~np.isnan(part)).any() else np.nan for part in parts])
    valid = ~np.isnan(means)
    if not valid.any():
        return _Sparkline(_BLANK * width, float("nan"), float("nan"))
    low, high = float(means[valid].min()), float(means[valid].max())
    widen = max(0.0, least_span - (high - low)) / 2.0
    low, high = low - widen, high + widen
    share = (means - low) / (high - low) if high > low else np.full(width, 0.5)
    levels = np.where(valid, np.rint(share * (len(_BARS) - 1)), -1.0).astype(int)
    return _Sparkline("".join(_BLANK if level < 0 else _BARS[level] for level in levels), low, high)


_ALARM_STYLES = {Severity.WARN: "yellow", Severity.TRIP: "bold red"}


def alarm_lines(alarms: Sequence[Alarm], width: int, room: int, *, silent: str = "") -> Iterator[Text]:
    """Return a heading and the most important alarms, active ones, then those that are not judged; else nothing.

    Parameters
    ----------
    alarms : all of the service.
    width : characters.
    room : maximum number of lines.
    silent : why the alarms are old; empty: they are current.
    """
    found = summarize(alarms)
    if not (found.any_active or found.not_judged) or room < 1:
        return
    unacknowledged = f"{found.unacknowledged} unacknowledged" if found.unacknowledged else ""
    missing = f"{found.not_judged} not judged" if found.not_judged else ""
    heading = f"─ alarms: {', '.join(filter(None, (found.words, unacknowledged, missing)))}"
    if silent:
        heading += f" ({silent})"
    style = _ALARM_STYLES[Severity.TRIP if found.trips else Severity.WARN] if found.any_active else "bold"
    yield _cut(Text(f"{heading} ".ljust(width, "─"), style=style), width)
    shown = (alarm for alarm in alarms if alarm.is_annunciated or alarm.state is AlarmState.NOT_JUDGED)
    for alarm in sorted_alarms(shown)[: room - 1]:
        active = alarm.is_annunciated
        line = Text(f"{instant_text(alarm.time) if active or alarm.time else '':>10}  ", style="dim")
        line.append(
            f"{severity_shape(alarm.severity) if active else NOT_JUDGED_SHAPE} {severity_word(alarm.severity)}  ",
            style=f"not dim {_ALARM_STYLES[alarm.severity]}" if active else "dim",
        )
        line.append(alarm.name.removesuffix(f".{alarm.severity}"), style="not dim bold")
        line.append(f"{_value(alarm)}  {_state(alarm)}", style="not dim")
        yield _cut(line, width)


def _state(alarm: Alarm) -> str:
    words = alarm.state.replace("_", " ")
    if alarm.not_judged:
        return (
            f"{words}: {alarm.not_judged}"
            if alarm.state is AlarmState.NOT_JUDGED
            else f"{words}, {NOT_JUDGED}{alarm.not_judged}"
        )
    return f"{words}, by {label_of(alarm.source)}" if alarm.source else words


def _value(alarm: Alarm) -> str:
    if alarm.last is None or counted_before(alarm):
        return ""
    sides = (("<", alarm.low), (">", alarm.high))
    limits = " or ".join(f"{sign} {format_value(limit, alarm.unit)}" for sign, limit in sides if limit is not None)
    return f"  {format_value(alarm.last, alarm.unit)}" + (f" (alarm {limits})" if limits else "")


def _cut(line: Text, width: int) -> Text:
    line.no_wrap, line.overflow = True, "ellipsis"
    line.truncate(width, overflow="ellipsis")
    return line


_MAX_NAMED = 3  # actuators by name


def contradiction_lines(results: ResultHistory, width: int) -> Iterator[Text]:
    """Yield a line if there is a contradiction."""
    found = ((name, contradiction_mark(contradicting(partial(results.value, name)))) for name in results.actuators)
    marks = [f"{name} {mark}" for name, mark in found if mark]
    if not marks:
        return
    more = f" and {len(marks) - _MAX_NAMED} more" if len(marks) > _MAX_NAMED else ""
    marked = f"{'; '.join(marks[:_MAX_NAMED])}{more}"
    why = f": believe {LABELS[HEADLINE]}; several frequencies, or a delay that changes"
    text = Text(no_wrap=True, overflow="ellipsis")
    text.append(marked, style="cyan")
    text.append(why, style="dim")
    text.truncate(width, overflow="ellipsis")
    yield text


_NAME_WIDTH = 14
_DELAY_WIDTH = 20  # characters of "12.34 Hz 1234.5 ms, "


def transfer_lines(transfer: TransferBlock, width: int) -> Iterator[Text]:
    """Return a heading, and for each actuator the delay at as many coherent frequencies as fit into `width`."""
    # slower than the table above: its window is longer
    heading = "─ delay by frequency, averaged over many cycles "
    yield Text(heading.ljust(width, "─"), style="dim", no_wrap=True, overflow="crop")
    shown = max(1, (width - _NAME_WIDTH - 1) // _DELAY_WIDTH)
    frequency = transfer.frequency
    for actuator in transfer.stream.actuators:
        delay = 1e3 * transfer.curve(actuator, "delay")
        chosen = _spread_out(transfer.curve(actuator, "coherence"), shown)
        line = Text(
            f"{shortened(actuator, _NAME_WIDTH):<{_NAME_WIDTH}} ", style="bold", no_wrap=True, overflow="ellipsis"
        )
        cells = [f"{frequency[i]:5.3g} Hz {fitted(float(delay[i]), 7, 1)} ms" for i in chosen.tolist()]
        yield line.append(", ".join(cells) or "no coherent motion yet", style="not bold" if cells else "dim not bold")


def _spread_out(coherence: Samples, count: int) -> NDArray[np.intp]:
    """Return the positions of at most `count` coherent frequencies, evenly spread."""
    good = np.flatnonzero(np.nan_to_num(coherence) > MIN_COHERENCE)
    if len(good) <= count:
        return good
    return good[np.linspace(0, len(good) - 1, count).round().astype(np.intp)]


_COLUMNS = (("first_passage", "first-passage"), ("accumulated", "accumulated"), ("windowed", "windowed"))
_VALUE_WIDTH = 13  # characters of "0.987 ±0.0012"
_GAP = "  "
_MIN_CURVE = 8  # at least, and three times that at the most
_LEAST_SPAN = 0.1
_DECISIONS = {1.0: ("●", "accept", "green"), 0.0: ("▲", "watch", "yellow"), -1.0: ("■", "reject", "red")}
# values of a publisher may be invalid
_NO_DECISION = (" ", DASH, "default")
_DECISION_WIDTH = 8


def decision(results: ResultHistory, site: str) -> str:
    """Return accept, watch or reject, a dash for an invalid value; empty while there is no decision."""
    verdict = results.last_valid(site, "reliability_decision")
    return _DECISIONS.get(verdict, _NO_DECISION)[1] if verdict == verdict else ""


def reliability_lines(results: ResultHistory, width: int, *, silent: str = "") -> Iterator[Text]:
    """Return a heading, and for each site its reliabilities with standard errors, the decision and a sparkline.

    What does not fit is omitted: first the sparkline of the accumulated reliability, then columns from the right.
    Values of an instant before the newest, as after the end of the ensemble, are dim.

    Parameters
    ----------
    results : of one or more sites.
    width : characters.
    silent : text shown in place of old values; empty: they are current.
    """
    sites = results.sites
    name = min(_NAME_WIDTH, max(8, *map(len, sites)))
    decided = any(decision(results, site) for site in sites)
    left = width - name - (len(_GAP) + _DECISION_WIDTH if decided else 0)
    columns = _COLUMNS[: max(1, min(len(_COLUMNS), left // (_VALUE_WIDTH + len(_GAP))))]
    left -= len(columns) * (_VALUE_WIDTH + len(_GAP)) + len(_GAP)
    yield _heading(name, columns, width)
    for site in sites:
        line = Text(f"{shortened(site, name):<{name}}", style="bold", no_wrap=True, overflow="ellipsis")
        if silent:
            yield line.append(_GAP + silent, style="not bold bold red")
            continue
        for column, _ in columns:
            line.append_text(_cell(results, site, column))
        if decided:
            line.append_text(_verdict(results, site))
        if left >= _MIN_CURVE:
            line.append(_GAP + _curve(results, site, min(3 * _MIN_CURVE, left)), style="not bold cyan")
        yield line


def _heading(name: int, columns: tuple[tuple[str, str], ...], width: int) -> Text:
    rule = "─ model ".ljust(name, "─") + "".join(f"{_GAP}{words:<{_VALUE_WIDTH}}" for _, words in columns) + _GAP
    return Text(rule.ljust(width, "─"), style="dim", no_wrap=True, overflow="crop")


def _cell(results: ResultHistory, site: str, name: str) -> Text:
    """Return the newest valid value, with its standard error if that is known."""
    value, error = (results.last_valid(site, f"reliability_{name}{suffix}") for suffix in ("", "_se"))
    said = f"{value:.3f}" + (f" ±{error:.4f}" if error == error else "") if value == value else DASH
    now = results.value(site, f"reliability_{name}")
    return Text(f"{_GAP}{said:<{_VALUE_WIDTH}}", style="not bold" if now == now else "not bold dim")


def _verdict(results: ResultHistory, site: str) -> Text:
    verdict = results.last_valid(site, "reliability_decision")
    if verdict != verdict:
        return Text(_GAP + " " * _DECISION_WIDTH)
    mark, word, colour = _DECISIONS.get(verdict, _NO_DECISION)
    return Text(f"{_GAP}{f'{mark} {word}':<{_DECISION_WIDTH}}", style=f"bold {colour}")


def _curve(results: ResultHistory, site: str, width: int) -> str:
    """Return the sparkline from the first valid value on: a test may be shorter than the history."""
    trace: Samples = results.trace(site, "reliability_accumulated")
    known = np.flatnonzero(~np.isnan(trace))
    first = min(int(known[0]) if len(known) else len(trace), max(0, len(trace) - width))
    return sparkline(trace[first:], width, _LEAST_SPAN).text
