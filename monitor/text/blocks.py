"""What a command tells, as blocks: paragraphs, points, tables with typed columns, figures, and data for programs.

A list of blocks is rendered three times: by a console, as JSON (`to_json`, which needs nothing else), and as a page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from numbers import Integral, Real
from typing import Any

from monitor.text.numbers import DASH, number


class Tone(StrEnum):
    """How a text or a row is told: what a paper prints has a tone of its own beside what was found."""

    PLAIN = "plain"
    HEADING = "heading"
    STRONG = "strong"
    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"
    PAPER = "paper"
    ASIDE = "aside"


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph, or a heading."""

    text: str
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True)
class Points:
    """Sentences that stand under one another."""

    lines: tuple[str, ...]
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Parameters
    ----------
    title : above it, perhaps in several lines; None: told to programs only.
    unit : that is shown, in brackets after the title.
    form : format of its numbers; empty for a column of words.
    factor : from the unit of the values to the one that is shown.
    key : of its values in JSON, where they are not scaled; empty: told to people only.
    """

    title: str | None
    unit: str = ""
    form: str = ".4g"
    factor: float = 1.0
    key: str = ""

    @property
    def heading(self) -> str:
        """The title with its unit."""
        return f"{self.title or ''} [{self.unit}]".strip() if self.unit else self.title or ""

    def cell(self, value: object) -> str:
        """Return a value as text: words as they are, whole numbers in full, a dash for what is no number."""
        if value is None:
            return DASH
        if self.form and isinstance(value, Real) and not (isinstance(value, Integral) and self.factor == 1.0):
            return number(self.factor * float(value), self.form)
        return str(value)


def words(title: str = "", key: str = "") -> Column:
    """Return a column of words."""
    return Column(title, form="", key=key)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table that is told in another tone; for people only."""

    cells: Sequence[object]
    tone: Tone


Rows = Sequence[Sequence[object] | Row | None]


@dataclass(frozen=True, slots=True)
class Table:
    """A table, whose leading columns of words name its rows.

    Parameters
    ----------
    title : above it.
    columns, rows : one value for each column; None between two rows parts them.
    note : under the title: what the columns are.
    key : of its rows in JSON, with dots between nested ones; empty: told to people only.
    """

    title: str
    columns: Sequence[Column]
    rows: Rows
    note: str = ""
    key: str = ""

    @property
    def shown(self) -> tuple[Column, ...]:
        """The columns that are shown."""
        return tuple(column for column in self.columns if column.title is not None)

    @property
    def groups(self) -> list[list[Sequence[object] | Row]]:
        """The rows between parting lines."""
        groups: list[list[Sequence[object] | Row]] = [[]]
        for row in self.rows:
            if row is None:
                groups.append([])
            else:
                groups[-1].append(row)
        return groups

    def cells(self, row: Sequence[object] | Row) -> tuple[str, ...]:
        """Return the cells of a row as text, one for each column that is shown."""
        values = row.cells if isinstance(row, Row) else row
        pairs = zip(self.columns, values, strict=True)
        return tuple(column.cell(value) for column, value in pairs if column.title is not None)

    @property
    def records(self) -> list[dict[str, Any]]:
        """Its rows for programs."""
        return [
            {column.key: value for column, value in zip(self.columns, row, strict=True) if column.key}
            for group in self.groups
            for row in group
            if not isinstance(row, Row)
        ]


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture, which is drawn when it is wanted; its name is that of its file without the suffix."""

    name: str
    draw: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Data:
    """What is told to programs only.

    Parameters
    ----------
    values : by their keys in JSON, with dots between nested ones; arrays and dataclasses too.
    """

    values: Mapping[str, Any]


Block = Text | Points | Table | Figure | Data


def to_json(blocks: Iterable[Block]) -> dict[str, Any]:
    """Return what the blocks tell programs, in their order."""
    found: dict[str, Any] = {}
    for block in blocks:
        values = block.values if isinstance(block, Data) else {}
        if isinstance(block, Table) and block.key:
            values = {block.key: block.records}
        for path, value in values.items():
            *outer, key = path.split(".")
            place = found
            for name in outer:
                place = place.setdefault(name, {})
            place[key] = value
    return found
