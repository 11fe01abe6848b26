"""What was identified of a recorded run, as tables for a reader."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from monitor.system.safe_text import printable
from replay.commands.identify_names import shown

if TYPE_CHECKING:
    from monitor.messages.blocks import Stream
    from replay.identification.actuators import ActuatorFit

# in a pipe, which has no width of its own
WIDTH = 110
_MOST_DIGITS = 7
_ROUNDING = 1e-12


def print_fits(path: Path, stream: Stream, fits: Sequence[ActuatorFit], notes: Sequence[str]) -> None:
    """Print the parameters of each actuator, times in ms; the errors are for autocorrelated residuals."""
    console = Console(soft_wrap=True, width=None if sys.stdout.isatty() else WIDTH, highlight=False)
    console.print(Text(printable(str(path)), "bold"))
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
    errors, white_errors = found.fit.correlated_standard_errors, found.fit.standard_errors
    columns = np.column_stack([found.fit.parameters, errors, found.fit.intervals(), white_errors])
    rows = dict(zip(found.fit.names, columns, strict=True))
    for name in ("gain", "delay", "lag", *(name for name in rows if name.startswith("beta_"))):
        as_what = shown(name, command, measured)
        if name in rows:
            value, error, low, high, white = (as_what.factor * rows[name]).tolist()
            known = error if math.isfinite(error) else white
            row = _number(value, known), _number(error, error), _number(low, known), _number(high, known)
            table.add_row(as_what.name, Text(as_what.unit), *row, _number(white, white))
        elif name in found.not_told:
            table.add_row(as_what.name, Text(as_what.unit), *"—" * 5)
    return table


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
