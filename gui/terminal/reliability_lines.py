"""How probable it is that the model still describes the test: a line for each site, and the decision."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from rich.text import Text

from gui.model.history.results import ResultHistory
from gui.terminal.sparkline import sparkline
from gui.wording.numbers import DASH, shortened
from monitor.messages.blocks import Samples

_NAME = 14
_COLUMNS = (("first_passage", "first-passage"), ("accumulated", "accumulated"), ("windowed", "windowed"))
_CELL = 13  # characters of "0.987 ±0.0012"
_GAP = "  "
_CURVE = 8  # at least, and three times that at the most
_LEAST_SPAN = 0.1
_DECISIONS = {1.0: ("●", "accept", "green"), 0.0: ("▲", "watch", "yellow"), -1.0: ("■", "reject", "red")}
# a publisher may send anything
_NO_DECISION = (" ", DASH, "default")
_DECIDED = 8


def decision(results: ResultHistory, site: str) -> str:
    """Return accept, watch or reject, a dash for what is none of these; empty while nothing has been decided."""
    verdict = results.last_valid(site, "reliability_decision")
    return _DECISIONS.get(verdict, _NO_DECISION)[1] if verdict == verdict else ""


def reliability_lines(results: ResultHistory, width: int, *, silent: str = "") -> Iterator[Text]:
    """Give a heading, and for each site its reliabilities with their standard errors, the decision and a curve.

    What has no room is left out: first the curve, which is the accumulated reliability's, then the columns from the
    right. Values of an instant before the newest, as after the ensemble's end, are dim.

    Parameters
    ----------
    results : what to show; it has one site or more.
    width : characters.
    silent : a word to show instead of values that are old; empty when they are not.
    """
    sites = results.sites
    name = min(_NAME, max(8, *map(len, sites)))
    decided = any(decision(results, site) for site in sites)
    left = width - name - (len(_GAP) + _DECIDED if decided else 0)
    columns = _COLUMNS[: max(1, min(len(_COLUMNS), left // (_CELL + len(_GAP))))]
    left -= len(columns) * (_CELL + len(_GAP)) + len(_GAP)
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
        if left >= _CURVE:
            line.append(_GAP + _curve(results, site, min(3 * _CURVE, left)), style="not bold cyan")
        yield line


def _heading(name: int, columns: tuple[tuple[str, str], ...], width: int) -> Text:
    rule = "─ model ".ljust(name, "─") + "".join(f"{_GAP}{words:<{_CELL}}" for _, words in columns) + _GAP
    return Text(rule.ljust(width, "─"), style="dim", no_wrap=True, overflow="crop")


def _cell(results: ResultHistory, site: str, name: str) -> Text:
    """Return the newest value that meant something, with its standard error where that is known."""
    value, error = (results.last_valid(site, f"reliability_{name}{suffix}") for suffix in ("", "_se"))
    said = f"{value:.3f}" + (f" ±{error:.4f}" if error == error else "") if value == value else DASH
    now = results.value(site, f"reliability_{name}")
    return Text(f"{_GAP}{said:<{_CELL}}", style="not bold" if now == now else "not bold dim")


def _verdict(results: ResultHistory, site: str) -> Text:
    verdict = results.last_valid(site, "reliability_decision")
    if verdict != verdict:
        return Text(_GAP + " " * _DECIDED)
    mark, word, colour = _DECISIONS.get(verdict, _NO_DECISION)
    return Text(f"{_GAP}{f'{mark} {word}':<{_DECIDED}}", style=f"bold {colour}")


def _curve(results: ResultHistory, site: str, width: int) -> str:
    """Draw from the first value on: a test may be shorter than what the history holds."""
    trace: Samples = results.trace(site, "reliability_accumulated")
    known = np.flatnonzero(~np.isnan(trace))
    first = min(int(known[0]) if len(known) else len(trace), max(0, len(trace) - width))
    return sparkline(trace[first:], width, _LEAST_SPAN).text
