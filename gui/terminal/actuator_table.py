"""Table of the actuators, with as many columns as fit the terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

from rich.table import Table
from rich.text import Text

from gui.model.results import TRACE, ResultHistory
from gui.model.tracking_status import CONTRADICTION_SIGN, headline_status
from gui.terminal.sections import sparkline
from monitor.catalogue import RATIO_UNIT, Output, display_unit, outputs_by_name
from monitor.messages.headline import HEADLINE, LABELS, contradicts, first_indicator, read_headline
from monitor.text.numbers import DASH, fitted

HEADING_LINES = 3
_MAX_NAME = 14
_MIN_CURVE = 10
_MAX_CURVE = 60
_SCALE = 9
_SPARKLINE_MIN_RANK = 3  # columns up to this rank have priority over the curve
_LEAST_SPAN = 2.0  # ms


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
        if curve >= _MIN_CURVE:
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
        curve = sparkline(1e3 * results.trace(actuator, f"{indicator}_delay"), layout.curve, _LEAST_SPAN)
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
