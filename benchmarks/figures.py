"""What a benchmark yields, what is aimed at, and the table of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.table import Table

NS, US, MS, SECONDS, MB, COUNT, REAL_TIME = "ns", "us", "ms", "s", "MB", "", "of real time"


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number, beside that of the alternative.

    Parameters
    ----------
    benchmark, case : what was measured.
    value, unit : median over the repetitions where the case does not say otherwise; less is better.
    best : the smallest repetition, which a busy machine disturbs least.
    against, other : the alternative and its median in the same unit.
    ratio : ours over the other's; the median over repetitions that ran next to each other.
    most, most_ratio : the targets for `value` and `ratio`, where there are any.
    """

    benchmark: str
    case: str
    value: float
    unit: str
    best: float | None = None
    against: str = ""
    other: float | None = None
    ratio: float | None = None
    most: float | None = None
    most_ratio: float | None = None

    @property
    def met(self) -> bool | None:
        """Every target is met; None where there is none."""
        aims = ((self.value, self.most), (self.ratio, self.most_ratio))
        kept = [have <= most for have, most in aims if have is not None and most is not None]
        return all(kept) if kept else None


def table(figures: Sequence[Figure]) -> Table:
    """Return the figures as one table for a terminal."""
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("benchmark", "case", "ours", "best", "instead", "theirs", "ours / theirs", "target", "met"):
        grid.add_column(name, justify="right" if name in ("ours", "best", "theirs", "ours / theirs") else "left")
    previous = ""
    for f in figures:
        if previous and f.benchmark != previous:
            grid.add_section()
        grid.add_row(
            "" if f.benchmark == previous else f.benchmark,
            f.case,
            _amount(f.value, f.unit),
            "" if f.best is None else _amount(f.best, f.unit),
            f.against,
            "" if f.other is None else _amount(f.other, f.unit),
            "" if f.ratio is None else _times(f.ratio),
            _target(f),
            {True: "yes", False: "[bold red]NO[/]", None: ""}[f.met],
        )
        previous = f.benchmark
    return grid


def _amount(value: float, unit: str) -> str:
    if unit == COUNT:
        return f"{value:.0f}"
    digits = f"{value:,.0f}" if value >= 1000.0 else f"{value:.3g}"
    return f"{digits} {unit}"


def _times(ratio: float) -> str:
    return f"1 / {1.0 / ratio:.0f}" if ratio < 0.1 else f"{ratio:.2f}"


def _target(figure: Figure) -> str:
    aims = []
    if figure.most is not None:
        aims.append(f"<= {_amount(figure.most, figure.unit)}")
    if figure.most_ratio is not None:
        aims.append(f"ratio <= {_times(figure.most_ratio)}")
    return ", ".join(aims)
