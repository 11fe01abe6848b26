"""Sections of the terminal dashboard, among them the table of actuators."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from rich.table import Table
from rich.text import Text

from gui.model.alarms import sorted_alarms, summarize
from gui.model.results import TRACE, ResultHistory
from gui.model.tracking_status import CONTRADICTION_SIGN, MIN_COHERENCE, contradiction_mark, headline_status
from gui.wording.event_text import NOT_JUDGED_SHAPE, counted_before, severity_shape, severity_word
from monitor.alarms.text import format_value
from monitor.catalogue import RATIO_UNIT, Output, display_unit, outputs_by_name
from monitor.messages.alarms import NOT_JUDGED, Alarm, AlarmState, Severity
from monitor.messages.blocks import Samples
from monitor.messages.headline import (
    HEADLINE,
    LABELS,
    contradicting,
    contradicts,
    first_indicator,
    label_of,
    read_headline,
)
from monitor.messages.transfer import TransferBlock
from monitor.text.numbers import DASH, fitted, instant_text, shortened

HEADING_LINES = 3
_MAX_NAME = 14
_MIN_TRACE = 10
_MAX_CURVE = 60
_SCALE = 9
_SPARKLINE_MIN_RANK = 3  # columns up to this rank have priority over the curve
_LEAST_DELAY_SPAN = 2.0  # ms


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of numbers in the display unit of `result`; those with the largest `rank` are omitted first.

    Numbers below `critical` are emphasised. Those of a quantity `beside` the headline's are marked where they
    contradict it; without a `result` the column is the mark alone.
    """

    title: tuple[str, str]
    result: str
    width: int
    decimals: int
    rank: int
    style: str = ""
    critical: float = -math.inf
    beside: str = ""

    def heading(self, published: str) -> tuple[str, str, str]:
        """Return the title in two lines, and the display unit of values published in a unit."""
        output = _OUTPUTS.get(self.result, _NO_OUTPUT)
        unit = display_unit(output.display_unit, published) if output.display_unit else ""
        return (*self.title, unit or output.unit.replace(RATIO_UNIT, ""))

    @property
    def factor(self) -> float:
        """Factor from the published to the displayed value."""
        return _OUTPUTS.get(self.result, _NO_OUTPUT).display_factor


_OUTPUTS, _NO_OUTPUT = outputs_by_name(), Output("", "")
_SIGN = _Column(("", ""), "", 1, 0, 1)
# with the ranks of delay and ratio; FDB's ratio, that at one instant, is not compared
_COMPARED = (("fdb", 5, 8, ""), ("paei", 9, 10, "ratio"))
_OTHERS = (
    _Column(("", "phase"), "fdb_phase", 6, 1, 6),
    _Column(("adds", "damping"), "fdb_added_damping", 7, 2, 2, critical=-0.2),
    _Column(("", "NRMSE"), "nrmse", 5, 1, 3),
    _Column(("", "freq"), "fdb_frequency", 5, 2, 7),
)
_STATUS = 17


@dataclass(frozen=True, slots=True)
class _Layout:
    name: int
    columns: tuple[_Column, ...]
    curve: int


def _numbers(indicator: str) -> tuple[_Column, ...]:
    """Return all columns: the headline indicator, the mark of a contradiction, and the other indicators."""
    label = LABELS[indicator]
    first = (
        _Column((label, "delay"), f"{indicator}_delay", max(6, len(label)), 1, 0, "bold"),
        _Column(("", "±"), f"{indicator}_delay_sd", 4, 1, 4, "dim"),
        _Column(("", "ratio"), f"{indicator}_ratio", 5, 3, 0, "bold"),
        _SIGN,
    )
    others = (
        column
        for prefix, of_delay, of_ratio, compared in _COMPARED
        if prefix != indicator
        for column in (
            _Column((LABELS[prefix], "delay"), f"{prefix}_delay", 7, 1, of_delay, "dim", beside="delay"),
            _Column(("", "ratio"), f"{prefix}_ratio", 6, 3, of_ratio, "dim", beside=compared),
        )
    )
    return (*first, *others, *_OTHERS)


def _fit(names: tuple[str, ...], width: int, columns: tuple[_Column, ...]) -> _Layout:
    """Return the columns that fit: the curve first, then numbers by their rank."""
    name = min(_MAX_NAME, max(8, *map(len, names)))
    while True:
        left = width - name - 1 - _STATUS - sum(column.width + 1 for column in columns)
        curve = left - _SCALE - 2
        if curve >= _MIN_TRACE:
            return _Layout(name, columns, min(curve, _MAX_CURVE))
        worst = max(column.rank for column in columns)
        if worst == 0 or (worst <= _SPARKLINE_MIN_RANK and left >= 0):
            return _Layout(name, columns, 0)
        columns = tuple(column for column in columns if column.rank != worst)


def actuator_table(
    results: ResultHistory, width: int, rows: int, *, silent: str = "", paused: Collection[str] = ()
) -> Table:
    """Return the table of the first actuators in at most `rows` lines below the heading.

    Parameters
    ----------
    results : that are shown.
    width : characters.
    rows : if there are more actuators, the last line says how many.
    silent : why there are no current values; shown in place of the tracking status.
    paused : what the service has shed: where that is the headline, another indicator stands first.
    """
    names = results.actuators
    indicator = first_indicator(
        lambda result: any(results.column(name, result) is not None for name in names), paused
    )
    layout = _fit(names, width, _numbers(indicator))
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="", show_edge=False)
    _add(table, ("", "", "actuator"), layout.name, "left", "bold")
    units = {column.name: column.unit for column in results.columns}
    for column in layout.columns:
        _add(table, column.heading(units.get(column.result, "")), column.width, "right", column.style)
    if layout.curve:
        _add(table, ("delay", f"last {TRACE:.0f} s", ""), layout.curve, "left", "")
        _add(table, ("", "from…to", "ms"), _SCALE, "left", "dim")
    _add(table, ("", "", "tracking"), _STATUS - 1, "left", "")
    shown = names if len(names) <= rows else names[: max(0, rows - 1)]
    for name in shown:
        table.add_row(*_cells(results, name, indicator, layout, silent))
    if len(shown) < len(names):
        more = f"and {len(names) - len(shown)} more"
        table.add_row(Text(more if len(more) <= layout.name else more[4:], style="dim"))
    return table


def _add(
    table: Table, heading: tuple[str, str, str], width: int, justify: Literal["left", "right"], style: str
) -> None:
    lines = Text("\n".join(heading), style="dim" if style == "dim" else "", no_wrap=True)
    table.add_column(lines, width=width, justify=justify, style=style, no_wrap=True, overflow="ellipsis")


def _cells(results: ResultHistory, actuator: str, indicator: str, layout: _Layout, silent: str) -> list[Text]:
    value: Callable[[str], float] = lambda name: math.nan if silent else results.value(actuator, name)  # noqa: E731
    headline = read_headline(indicator, value)
    found_any = bool(headline.contradicting)
    cells = [Text(actuator)]
    for column in layout.columns:
        differs = _differs(column, indicator, value) if column.beside else not column.result and found_any
        text = CONTRADICTION_SIGN if differs else ""
        style = "cyan" if differs else ""
        if column.result:
            shown = column.factor * value(column.result)
            style = "bold red" if shown < column.critical else style
            text += fitted(shown, column.width - len(text), column.decimals)
        cells.append(Text(text, style=style))
    if layout.curve:
        curve = sparkline(1e3 * results.trace(actuator, f"{indicator}_delay"), layout.curve, _LEAST_DELAY_SPAN)
        cells += [Text(curve.text, style="blue"), Text(_scale(curve.low, curve.high))]
    words = silent or headline_status(headline, value(f"{indicator}_reason")).words
    return [*cells, Text(words, style="dim" if silent else "")]


def _differs(column: _Column, indicator: str, value: Callable[[str], float]) -> bool:
    """Whether a number beside the headline's contradicts it."""
    if indicator != HEADLINE:
        return False
    names = (f"{indicator}_{column.beside}", column.result)
    return bool(contradicts(column.beside, *(value(f"{name}{end}") for name in names for end in ("", "_sd"))))


def _scale(low: float, high: float) -> str:
    if math.isnan(low):
        return DASH
    decimals = 0 if high - low >= 5.0 else 1
    return f"{fitted(low, 4, decimals)}…{fitted(high, 4, decimals)}"


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
