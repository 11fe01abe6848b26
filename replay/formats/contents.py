"""What a file with a tree of named arrays holds: arrays, numbers and texts by their paths."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from replay.formats.columns import words
from replay.formats.dates import find_form, has_zone, parse_instants
from replay.formats.reading import as_numbers

LABELS = words(
    "columns column_names columnnames names labels channels channel_names channelnames headers colheaders signals"
)
INDEX_IS_TIME = "the index of the table is the time in s"
"""Note on tables of pandas."""
UNITS = frozenset(("unit", "units"))


@dataclass(frozen=True, eq=False)
class Entry:
    """One array of a file.

    Parameters
    ----------
    path : its names from the root, separated by ``/``.
    shape : of the array.
    read : first row, end row -> that part, along the first axis.
    unit, labels : of its columns, where the file gives them.
    day : of an array of dates, whose values are s since the beginning of it, in days since 1970.
    in_utc : whether the dates were written with a zone.
    time_of_day : whether they are times of day alone, s.
    read_across : as `read`, along the second axis; None where the array is in memory.
    """

    path: str
    shape: tuple[int, ...]
    read: Callable[[int, int], np.ndarray]
    unit: str = ""
    labels: tuple[str, ...] = ()
    day: int | None = None
    in_utc: bool = False
    time_of_day: bool = False
    read_across: Callable[[int, int], np.ndarray] | None = None

    @property
    def own(self) -> str:
        """The last of its names."""
        return self.path.rsplit("/", 1)[-1]

    @property
    def parent(self) -> str:
        """The others."""
        return self.path.rpartition("/")[0]


@dataclass
class Contents:
    """All that a file holds: arrays, single numbers and texts by their paths, and what cannot be a signal.

    Not `ordered` are those that a library gives by their names, not as they were written; `cut` is what ends early.
    """

    entries: list[Entry] = field(default_factory=list)
    numbers: dict[str, float] = field(default_factory=dict)
    texts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    ordered: bool = True
    cut: bool = False

    def add(
        self, path: str, values: np.ndarray, unit: str = "", labels: tuple[str, ...] = (), *, in_utc: bool = False
    ) -> None:
        """Add an array that is in memory; a structured one by its fields. `in_utc`: dates, written with a zone."""
        if values.dtype.names is not None:
            for name in values.dtype.names:
                self.add(f"{path}/{name}" if path else name, values[name], unit)
        elif values.dtype.kind in "US":
            flat = np.char.decode(values, "utf-8", "replace") if values.dtype.kind == "S" else values
            self.add_texts(path, tuple(str(each) for each in flat.ravel()))
        elif values.dtype.kind not in "fiubMm":
            self.others.append(f"{path} ({_kind(values)})")
        elif values.size == 1:
            self.numbers[path] = float(as_numbers(values.ravel())[0][0])
        else:
            numbers, day = as_numbers(values) if values.dtype.kind in "Mm" else (values, None)
            self.entries.append(Entry(path, values.shape, lambda a, b: numbers[a:b], unit, labels, day, in_utc))

    def add_texts(self, path: str, texts: tuple[str, ...]) -> None:
        """Add texts; several that are all dates and times, as a column of these."""
        form = find_form(texts) if len(texts) > 1 else None
        instants = None if form is None else parse_instants(texts, form)
        if form is None or instants is None:
            self.texts[path] = texts
        elif form.order:
            self.notes += [f"{path}: {form.note}"] if form.note else []
            self.add(path, instants, in_utc=has_zone(texts[0]))
        else:
            of_day = np.array([form.seconds(text) for text in texts])
            self.entries.append(Entry(path, of_day.shape, lambda a, b: of_day[a:b], "s", time_of_day=True))


def _kind(values: np.ndarray) -> str:
    return {"c": "complex", "O": "objects"}.get(values.dtype.kind, str(values.dtype))
