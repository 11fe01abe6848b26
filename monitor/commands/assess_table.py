"""An assessment as tables for a reader."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from monitor.blocks import Channel, Column
    from monitor.transfer import TransferBlock
    from replay.assessment import Assessment, PairAssessment

_DEGREES = 180.0 / math.pi
_SHOWN_AS = {"s": ("ms", 1e3), "rad": ("deg", _DEGREES)}
_FREQUENCIES = 8
_COHERENT = 0.5
# added damping below this is worth a warning
_NEGATIVE = -0.002
# and an amplitude that is so many times the other one: nothing that tracks
_UNLIKE = 10.0


def print_assessment(path: Path, assessment: Assessment, notes: list[str]) -> None:
    """Print what one record's assessment says; times in ms, angles in degrees, a dash where a value means nothing."""
    # in a pipe Rich takes 80 columns for granted, and cuts the numbers
    console = Console(soft_wrap=True, width=None if sys.stdout.isatty() else 110)
    # Text, because file names and headers may hold brackets, which would be taken for markup
    console.print(
        Text(str(path), "bold"),
        f" {assessment.samples} samples, {assessment.duration:.4g} s at "
        f"{assessment.stream.sample_rate:g} Hz, window {assessment.settings.window:.4g} s",
    )
    for found in assessment.pairs:
        console.print(_indicators(found, assessment))
        units = {c.name: c.unit for c in assessment.series.columns if c.actuator == found.pair.actuator}
        console.print(_whole(found, units))
        if assessment.transfer is not None:
            table = _transfer(assessment.transfer, found.pair.actuator)
            console.print(table if table.row_count else "no frequency is coherent enough for a transfer function")
        for warning in _warnings(found, assessment.stream.channels):
            console.print(Text(f"warning: {warning}"), style="bold red")
    for note in notes:
        console.print(Text(f"note: {note}"), style="yellow")


def _indicators(found: PairAssessment, assessment: Assessment) -> Table:
    channels = assessment.stream.channels
    title = f"{channels[found.pair.command].name} -> {channels[found.pair.measured].name}"
    table = Table(title=Text(f"{title}, valid {100 * found.valid_fraction:.0f} %"), title_justify="left")
    table.add_column("indicator", no_wrap=True)
    table.add_column("unit")
    for heading in ("median", "±", "mean", "5 %", "95 %"):
        table.add_column(heading, justify="right")
    for column in assessment.series.columns:
        if column.actuator != found.pair.actuator or column.name.startswith("fei_"):
            continue
        if column.name.endswith(("_sd", "_total")):
            continue
        unit, factor = _shown_as(column)
        spread, doubt = found.spreads[column.name], found.spreads.get(f"{column.name}_sd")
        table.add_row(
            column.name,
            Text(unit),
            _number(factor * spread.median),
            _number(factor * doubt.median, 2) if doubt else "",
            *(_number(factor * number) for number in (spread.mean, spread.p05, spread.p95)),
        )
    return table


def _whole(found: PairAssessment, units: dict[str, str]) -> Text:
    # under a taper: most records break off in mid-motion
    fei, criteria = found.whole.fei_tapered, found.whole.criteria
    parts = [
        f"whole record: FEI (Hann taper) ratio {_number(fei.ratio)}, phase {_number(_DEGREES * fei.phase)} deg, "
        f"delay {_number(1e3 * fei.delay)} ms at {_number(fei.frequency)} Hz; "
        f"J1 {_number(criteria.j1)} ms, J2 {_number(criteria.j2)} %, J3 {_number(criteria.j3)} %"
    ]
    parts += [
        f"{name} {_number(total)} {units[name]}" for name, total in found.totals.items() if math.isfinite(total)
    ]
    return Text("; ".join(parts))


def _transfer(transfer: TransferBlock, actuator: str) -> Table:
    """Return the transfer function at a few coherent frequencies, evenly spread over those there are."""
    table = Table(title="transfer function, ratio command over measured", title_justify="left")
    for heading in ("Hz", "coherence", "ratio", "phase deg", "delay ms", "±"):
        table.add_column(heading, justify="right")
    good = np.flatnonzero(np.nan_to_num(transfer.of(actuator, "coherence")) > _COHERENT)
    for i in sorted(set(good[np.linspace(0, len(good) - 1, _FREQUENCIES).astype(int)].tolist() if len(good) else [])):
        numbers = (
            (transfer.frequency[i], 4),
            (transfer.of(actuator, "coherence")[i], 3),
            (transfer.of(actuator, "ratio")[i], 4),
            (_DEGREES * transfer.of(actuator, "phase")[i], 4),
            (1e3 * transfer.of(actuator, "delay")[i], 4),
            (1e3 * transfer.of(actuator, "delay_sd")[i], 2),
        )
        table.add_row(*(_number(value, digits) for value, digits in numbers))
    return table


def _warnings(found: PairAssessment, channels: Sequence[Channel]) -> Iterator[str]:
    """Say that the signals are no pair; else that damping is taken away, where the force tells, or the phase."""
    from monitor.blocks import units_differ

    ratio = next((found.spreads[name].median for name in ("fdb_ratio", "paei_ratio") if name in found.spreads), 1.0)
    told_apart = units_differ(channels[found.pair.command], channels[found.pair.measured])
    if math.isfinite(ratio) and not (told_apart or 1.0 / _UNLIKE < ratio < _UNLIKE):
        which, times = ("smaller", ratio) if ratio > 1.0 else ("larger", 1.0 / ratio)
        yield (
            f"the measured signal is {times:.3g} times {which} than the command: other units, a dead channel or a "
            "wrong column; the rest means little"
        )
        return
    for name in ("hsem_added_damping", "fdb_added_damping"):
        spread = found.spreads.get(name)
        if spread is not None and math.isfinite(spread.median):
            if spread.median < _NEGATIVE:
                yield (
                    f"the lag feeds energy into the test: {name} is {100 * spread.median:.2g} % of critical, "
                    "to be compared with the structure's own"
                )
            return


def _shown_as(column: Column) -> tuple[str, float]:
    return _SHOWN_AS.get(column.unit, (column.unit, 1.0))


def _number(value: float, digits: int = 4) -> str:
    # what is smaller is rounding, and hides what is not
    return f"{value if abs(value) > 1e-12 else 0.0:.{digits}g}" if math.isfinite(value) else "—"
