"""Tables, numbers and the benchmark criteria as the study of the tracking indicators prints them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from monitor.indicators.benchmark_criteria import BenchmarkCriteria


def table(title: str, first: str, *headings: str) -> Table:
    """Return an empty table: the first column of words, the others of numbers."""
    found = Table(title=Text(title, "bold"), title_justify="left")
    found.add_column(first, no_wrap=True)
    for heading in headings:
        found.add_column(heading, justify="right")
    return found


def number(value: float) -> str:
    """Return five digits, and a dash for what is no number."""
    return f"{value:.5g}" if math.isfinite(value) else "—"


def criteria(found: BenchmarkCriteria, sample_rate: float) -> str:
    """Return J1 to J3, with the step that J1 is rounded to and what makes it small."""
    return (
        f"J1 {number(found.j1)} ms (in whole samples of {1000.0 / sample_rate:.3g} ms; too small where the record "
        f"does not begin and end at rest), J2 {number(found.j2)} %, J3 {number(found.j3)} %"
    )
