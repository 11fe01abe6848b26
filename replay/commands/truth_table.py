"""What was injected into a simulated test beside what was indicated, printed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from monitor.messages.headline import LABELS
from replay.assessment.truth import Stretch, compare

_DASH = "—"
_NAME = 8  # characters of an actuator's


@dataclass(frozen=True, slots=True)
class _Quantity:
    """A table: its title, the attribute of `Tracking`, how it is written and how a difference is."""

    title: str
    name: str
    factor: float
    form: str
    off_factor: float


_OFF_FORM = "+.2f"
_QUANTITIES = (
    _Quantity("Delay, ms (positive: the actuator lags); off by, ms", "delay", 1e3, ".2f", 1e3),
    _Quantity("Amplitude ratio, command/measured; off by, %", "ratio", 1.0, ".4f", 100.0),
)


def print_truth(record: Path, ramp: float, console: Console) -> None:
    """Print a table of delays and one of ratios, the headline first, at most 80 characters wide.

    Parameters
    ----------
    record : run file of a simulated test.
    ramp : s in which its load grew.
    """
    print_stretches(compare(record, ramp), console)


def print_stretches(stretches: Sequence[Stretch], console: Console) -> None:
    """Print the tables of what was injected and indicated in these parts of a run."""
    for quantity in _QUANTITIES:
        console.print(Text(quantity.title, style="bold"))
        console.print(_table(stretches, quantity))
        console.print()
    if any(math.isnan(stretch.injected.delay) for stretch in stretches):
        console.print(Text(f"{_DASH}  this part of the run is too short for a window to settle in it", style="dim"))


def _table(stretches: Sequence[Stretch], quantity: _Quantity) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=0)
    table.add_column("actuator", no_wrap=True, max_width=_NAME, overflow="ellipsis")
    table.add_column("part of run, s", no_wrap=True)
    table.add_column("true", justify="right", no_wrap=True)
    indicators = stretches[0].indicated if stretches else ()
    for indicator in indicators:
        table.add_column(LABELS[indicator], justify="right", no_wrap=True)
        table.add_column("off", justify="right", no_wrap=True, style="dim")
    for before, stretch in zip([None, *stretches], stretches, strict=False):
        same = before is not None and before.actuator == stretch.actuator
        injected = getattr(stretch.injected, quantity.name)
        cells = [_number(quantity.factor * injected, quantity.form)]
        for indicator in indicators:
            indicated = getattr(stretch.indicated[indicator], quantity.name)
            cells += [
                _number(quantity.factor * indicated, quantity.form),
                _number(quantity.off_factor * (indicated - injected), _OFF_FORM),
            ]
        slides = ", slides" if stretch.slides else ""
        part = f"{stretch.start:.1f}–{stretch.stop:.1f}{slides}"
        table.add_row("" if same else stretch.actuator, part, *cells)
    return table


def _number(value: float, form: str) -> str:
    if not math.isfinite(value):
        return _DASH
    text = f"{value:{form}}"
    # nothing is ever "-0.00"
    return text.replace("-", "+" if form.startswith("+") else "") if not float(text) else text
