"""What trials have found, counted: one row a class, in one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

HEADINGS = ("tried", "kept", "announced", "unannounced", "aborts", "tracebacks", "hangs", "wrong", "memory")
ZEROS = ("unannounced", "aborts", "tracebacks", "hangs", "wrong")
"""Columns in which anything but zero is a defect."""


@dataclass
class Tally:
    """What happened in one trial, or in all of a class.

    Parameters
    ----------
    tried : faults that were inflicted.
    kept : samples found where they belong, each with the value that was sent.
    announced, unannounced : samples lost, of which the run file or the service says so, or not.
    aborts : processes that ended by a signal that no trial sent, or by an assertion of a library.
    tracebacks : processes that printed one.
    hangs : processes that did not say, or do, what they should within their time.
    wrong : whatever else was not as it should be, as an exit code or a value that was not sent.
    memory : MB, the most that one process had.
    figures : more of what was measured; of several trials the largest counts.
    faults : a line each for whatever stands in a column of zeros, with the name of the trial.
    """

    tried: int = 0
    kept: int = 0
    announced: int = 0
    unannounced: int = 0
    aborts: int = 0
    tracebacks: int = 0
    hangs: int = 0
    wrong: int = 0
    memory: float = 0.0
    figures: dict[str, float] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Take in what another found."""
        for name in HEADINGS[:-1]:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.memory = max(self.memory, other.memory)
        for name, figure in other.figures.items():
            self.largest(name, figure)
        self.faults += other.faults

    def largest(self, name: str, figure: float) -> None:
        """Note a figure of which the largest counts."""
        self.figures[name] = max(figure, self.figures.get(name, figure))

    @property
    def clean(self) -> bool:
        """Only zeros where zeros belong."""
        return not any(getattr(self, name) for name in ZEROS)


def table(rows: Mapping[str, Tally]) -> str:
    """Return the table, and beneath it the figures and the faults of each class."""
    total = Tally()
    for row in rows.values():
        total.add(row)
    width = max(map(len, (*rows, "total")))
    lines = [f"{'':{width}}" + "".join(f"{heading:>13}" for heading in HEADINGS)]
    for name, row in {**rows, "total": total}.items():
        counts = "".join(f"{getattr(row, heading):13,}" for heading in HEADINGS[:-1])
        lines.append(f"{name:{width}}{counts}{row.memory:10.0f} MB")
    for name, row in rows.items():
        lines += [f"{name}: {what} {figure:.4g}" for what, figure in sorted(row.figures.items())]
    for row in rows.values():
        lines += [f"FAULT {fault}" for fault in row.faults]
    return "\n".join(lines)


def as_json(rows: Mapping[str, Tally], seed: int) -> dict[str, object]:
    """Return the same for a file."""
    names = [each.name for each in fields(Tally)]
    return {"seed": seed, "classes": {name: {key: getattr(row, key) for key in names} for name, row in rows.items()}}
