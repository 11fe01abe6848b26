"""Numbers of the study of estimation with delays as the cells of its tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from monitor.messages.blocks import Samples

_BARS = " ▁▂▃▄▅▆▇█"
_COLUMNS = 12
NONE = "—"


def table(*headings: str) -> Table:
    """Return a table with these columns, all flush right."""
    found = Table(box=box.SIMPLE_HEAD)
    found.pad_edge, found.collapse_padding = False, True
    for heading in headings:
        found.add_column(heading, justify="right", no_wrap=True)
    return found


def titled(title: str, caption: str, found: Table) -> Group:
    """Return a table under its title and what its columns are."""
    return Group(Text(title, "bold"), Text(caption), found)


def level_of(sigma: float) -> str:
    """Return a level of noise in four digits: the printed variance of 0.3 is 0.5477."""
    return f"{sigma:.4g}"


def number(value: float, digits: str = ".3g") -> str:
    """Return a number; a dash where there is none."""
    return f"{value:{digits}}" if math.isfinite(value) else NONE


def ratio(above: float, below: float, digits: str) -> str:
    """Return a quotient; a dash where there is none."""
    return number(above / below if below else math.nan, digits)


def estimate(value: float, error: float, interval: tuple[float, float]) -> str:
    """Return an estimate with its standard error and below it an interval, to the places that mean something."""
    if math.isfinite(error) and error > 0.0:
        places = min(max(1 - math.floor(math.log10(error)), 3), 12)
        told = f"{error:.{places}f}"
    else:
        places, told = 4, "at a bound" if math.isnan(error) else "not known" if error else "0"
    low, high = (f"{end:.{max(places - 1, 3)}f}" if math.isfinite(end) else NONE for end in interval)
    return f"{value:.{places}f} ± {told}\n[{low}, {high}]"


def bars(values: Samples, share: float = 1.0) -> str:
    """Return a histogram of one line, of the share in the middle, between its ends."""
    from replay.studies.delays.spread import histogram

    cut = int(0.5 * (1.0 - share) * len(values))
    values = values if not cut else np.sort(values)[cut:-cut]
    counts, edges = histogram(values, _COLUMNS)
    most = max(counts.max(), 1.0)
    drawn = "".join(_BARS[math.ceil(count / most * (len(_BARS) - 1))] for count in counts.tolist())
    return f"{edges[0]:.3g} {drawn} {edges[-1]:.3g}"
