"""Derived channels: formulas over the signals of a rig, computed as samples come, and stored like these."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from gui.model.formula import Formula, compile_formula
from gui.model.pyramid import Pyramid
from monitor.messages.blocks import Samples

MAX_DERIVED = 16
"""Derived channels at most: each needs as much memory as a channel of the rig."""
_MAX_TEXT = 40  # letters of a name or unit
_CHUNK = 1 << 16  # samples that are computed at once


@dataclass(frozen=True, slots=True)
class DerivedChannel:
    """Definition of a channel that is computed from others.

    Parameters
    ----------
    name : unique among the channels.
    unit : of its values.
    formula : see `compile_formula`.
    """

    name: str
    unit: str
    formula: str


def check_names(channel: DerivedChannel, taken: Collection[str]) -> str:
    """Return why its name or unit cannot be used; empty if nothing is wrong. `taken` are those of other channels."""
    for word, text in (("name", channel.name), ("unit", channel.unit)):
        if len(text) > _MAX_TEXT or any(not letter.isprintable() for letter in text):
            return f"a {word} has at most {_MAX_TEXT} printable characters"
    if not channel.name.strip():
        return "a name is needed"
    return f"there is a channel {channel.name} already" if channel.name in taken else ""


def to_text(channels: Iterable[DerivedChannel]) -> str:
    """Return definitions as JSON."""
    return msgspec.json.encode(list(channels)).decode()


def from_text(text: str) -> tuple[DerivedChannel, ...]:
    """Return the definitions in JSON.

    Raises
    ------
    ValueError : the text is not such definitions, or there are too many.
    """
    found = msgspec.json.decode(text, type=list[DerivedChannel])
    if len(found) > MAX_DERIVED or len({channel.name for channel in found}) < len(found):
        raise ValueError(f"at most {MAX_DERIVED} channels of different names are possible")
    return tuple(found)


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    definition: DerivedChannel
    formula: Formula
    inputs: tuple[int, ...]
    values: Pyramid


class DerivedColumns:
    """Columns of derived channels, after `width` columns that they are computed from.

    Parameters
    ----------
    width : columns of a history.
    levels : lengths of its rings.
    rate : rows a second.

    Attributes
    ----------
    problems : of the channels that cannot be computed, by name, why.
    """

    def __init__(self, width: int, levels: Sequence[int], rate: float) -> None:
        self._width, self._levels, self._rate = width, tuple(levels), rate
        self._columns: list[_Column] = []
        self.problems: dict[str, str] = {}

    @property
    def channels(self) -> tuple[DerivedChannel, ...]:
        """Definitions of the columns, in order."""
        return tuple(column.definition for column in self._columns)

    @property
    def nbytes(self) -> int:
        """Allocated bytes."""
        return sum(column.values.nbytes for column in self._columns)

    def values(self, column: int) -> Pyramid:
        """Return the stored values of a column."""
        return self._columns[column - self._width].values

    def define(
        self,
        definitions: Sequence[DerivedChannel],
        signals: Collection[str],
        stored: Pyramid,
        rows: Callable[[int, int, Sequence[int]], Samples],
    ) -> None:
        """Replace the channels; those that are the same as before keep their values.

        Parameters
        ----------
        definitions : may use `signals`, and channels that are defined earlier.
        signals : names of the `width` columns.
        stored : rows that are stored; new channels are computed of those that are stored as received.
        rows : reads rows from the first number to before the second, of columns.
        """
        before = {column.definition: column for column in self._columns}
        self._columns, self.problems = [], {}
        columns = {name: i for i, name in enumerate(signals)}
        recomputed: set[int] = set()
        for definition in definitions:
            try:
                if problem := check_names(definition, columns):
                    raise ValueError(problem)
                formula = compile_formula(definition.formula, columns, self._rate)
            except ValueError as problem_of_it:
                self.problems[definition.name] = str(problem_of_it)
                continue
            inputs = tuple(columns[name] for name in formula.inputs)
            place = self._width + len(self._columns)
            old = before.get(definition)
            if old is not None and old.inputs == inputs and not recomputed.intersection(inputs):
                self._columns.append(old)
            else:
                recomputed.add(place)
                new = _Column(definition, formula, inputs, Pyramid(1, self._levels, rate=self._rate))
                self._columns.append(new)
                _compute(new, stored, rows)
            columns[definition.name] = place

    def append(self, first: int, rows: Samples, *, follows: bool) -> None:
        """Compute the values of new rows, (n_rows, width), the first of which has the number `first`.

        `follows`: no row is missing before them.
        """
        columns = list(np.ascontiguousarray(rows.T))
        for column in self._columns:
            if not follows:
                column.formula.interrupt()
            found = column.formula.advance([columns[i] for i in column.inputs])
            columns.append(found)
            column.values.append(first / self._rate, found[:, np.newaxis])


def _compute(column: _Column, stored: Pyramid, rows: Callable[[int, int, Sequence[int]], Samples]) -> None:
    """Compute the rows that are stored as received."""
    if not stored.end:
        return
    if stored.begin < stored.exact_begin:
        # its buckets begin where those of the others do
        column.values.append(stored.begin / stored.rate, np.full((1, 1), np.nan))
    for start in range(stored.exact_begin, stored.end, _CHUNK):
        found = rows(start, min(start + _CHUNK, stored.end), column.inputs)
        values = column.formula.advance(list(np.ascontiguousarray(found.T)))
        column.values.append(start / stored.rate, values[:, np.newaxis])
