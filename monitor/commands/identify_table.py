"""What was identified of a recorded run, as tables for a reader."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from monitor.blocks import ratio_unit

if TYPE_CHECKING:
    from monitor.blocks import Channel, Stream
    from replay.identification import ActuatorFit

# in a pipe, which has no width of its own
WIDTH = 110
# how a parameter is shown: as what, in what, and times what
_SHOWN_AS = {"delay": ("ms", 1e3), "lag": ("ms", 1e3)}
_NORMAL_95 = 1.96
_MOST_DIGITS = 7
_ROUNDING = 1e-12


def print_fits(path: Path, stream: Stream, fits: Sequence[ActuatorFit], notes: Sequence[str]) -> None:
    """Print the parameters of each actuator, times in ms; the errors are for residuals that hang together."""
    console = Console(soft_wrap=True, width=None if sys.stdout.isatty() else WIDTH, highlight=False)
    console.print(Text(str(path), "bold"))
    for found in fits:
        console.print(_parameters(found, stream))
        unit = stream.channels[found.pair.measured].unit
        console.print(
            f"{found.compared} samples compared; {100.0 * found.explained:.4g} % of the measured variance explained, "
            f"{f'{found.fit.sigma:.4g} {unit}'.rstrip()} left",
            markup=False,
        )
        for warning in found.warnings:
            console.print(Text(f"warning: {warning}"), style="bold red")
        for note in found.notes:
            console.print(Text(f"note: {note}"), style="yellow")
    for note in notes:
        console.print(Text(f"note: {note}"), style="yellow")


def _parameters(found: ActuatorFit, stream: Stream) -> Table:
    command, measured = (stream.channels[channel] for channel in (found.pair.command, found.pair.measured))
    table = Table(title=Text(f"{command.name} -> {measured.name}"), title_justify="left")
    table.add_column("parameter", no_wrap=True)
    for heading in ("unit", "estimate", "±", "95 % from", "to", "± if white"):
        table.add_column(heading, justify="left" if heading == "unit" else "right")
    columns = found.fit.names, found.fit.parameters, found.standard_errors, found.fit.standard_errors
    for name, value, error, white in zip(*columns, strict=True):
        unit, factor = _SHOWN_AS[name] if name in _SHOWN_AS else (_unit(name, command, measured), 1.0)
        value, error, white = (factor * number for number in (value, error, white))
        known = error if math.isfinite(error) else white
        ends = (_number(value + side * _NORMAL_95 * error, known) for side in (-1.0, 1.0))
        row = _number(value, known), _number(error, error), *ends, _number(white, white)
        table.add_row(_name(name), Text(unit), *row)
    return table


def _name(name: str) -> str:
    """Return the polynomial's terms by what they are."""
    if not name.startswith("beta_"):
        return name
    power = int(name.removeprefix("beta_")) - 1
    return ("offset", "drift")[power] if power < 2 else f"drift t^{power}"


def _unit(name: str, command: Channel, measured: Channel) -> str:
    """Return the unit of the gain, measured over command, or of a term of the polynomial."""
    if name == "gain":
        return ratio_unit(measured, command)
    power, unit = int(name.removeprefix("beta_")) - 1, measured.unit
    return unit if not power else f"{unit or '1'}/s" + (f"^{power}" if power > 1 else "")


def _number(value: float, error: float) -> str:
    """Return a number to the second digit of its error."""
    if not math.isfinite(value):
        return "—"
    # what is smaller is rounding, and hides what is not
    if abs(value) <= _ROUNDING:
        return "0"
    digits = 4
    if math.isfinite(error) and error > 0.0:
        digits = math.floor(math.log10(abs(value))) - math.floor(math.log10(error)) + 2
    return f"{value:.{min(max(digits, 2), _MOST_DIGITS)}g}"
