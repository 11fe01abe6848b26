"""Named arrays of a file, in a tree -> tables of equally long columns, each with its times or its rate."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from monitor.messages.blocks import Samples
from replay.formats.attributes import Sampling, beside, read_sampling, read_scaling, scaled
from replay.formats.base import RecordingError
from replay.formats.cells import find_form, has_zone, parse_instants
from replay.formats.columns import TableColumn, name_and_unit, some, words
from replay.formats.reading import as_numbers
from replay.formats.signal_table import SignalTable, read_states

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
            kind = {"c": "complex", "O": "objects"}.get(values.dtype.kind, str(values.dtype))
            self.others.append(f"{path} ({kind})")
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


_VALUES = words("values data value samples y signal")
_NAMES = words("name label title signalname signal_name")
_LEFT_OUT, _LONGEST = 6, 120
_PIECE = 1 << 18  # rows read at a time
_MOST_COLUMNS = 4096


@dataclass(frozen=True, eq=False)
class _Columns:
    """An array as columns: the number of rows, and whether they are along its second axis."""

    entry: Entry
    n_rows: int
    width: int
    across: bool

    def read(self, begin: int, end: int, places: Sequence[int]) -> Samples:
        """Return rows of some of its columns, (n, n_places); of a wide array never all columns of many rows."""
        if len(places) == self.width or self.across:
            return self._whole(begin, end)[:, places]
        found = np.empty((end - begin, len(places)))
        for row in range(begin, end, _PIECE):
            last = min(row + _PIECE, end)
            found[row - begin : last - begin] = self._whole(row, last)[:, places]
        return found

    def _whole(self, begin: int, end: int) -> Samples:
        entry = self.entry
        if self.across:
            part = entry.read_across or (lambda first, last: entry.read(0, entry.shape[0])[:, first:last])
            values = part(begin, end).reshape(self.width, end - begin).T
        else:
            values = entry.read(begin, end).reshape(-1, self.width)
        return as_numbers(values)[0]


def tables_of(path: Path, contents: Contents, *, columns_first: bool = False) -> list[SignalTable]:
    """Return the tables in a file.

    Parameters
    ----------
    path : of the file.
    contents : its arrays; a vector is a column, a matrix has one for each of its columns.
    columns_first : the file stores a matrix by columns, so that its first axis is that of the columns.

    Raises
    ------
    RecordingError : no array can be a signal.
    """
    _scale(contents)
    found = _as_columns(contents, columns_first)
    _give_own_numbers(contents)
    others = [f"{each[:_LONGEST]}{'..' * (len(each) > _LONGEST)}" for each in contents.others]
    if not found:
        held = f"; it holds {', '.join(others[:_LEFT_OUT])}" if others else ""
        raise RecordingError(f"{path}: no array of numbers with two rows or more{held}")
    if sum(each.width for each in found) > _MOST_COLUMNS:
        raise RecordingError(f"{path}: more than {_MOST_COLUMNS} columns: this is no record of signals")
    notes = list(contents.notes)
    if others:
        notes.append(f"left out, not numbers by rows and columns: {some(others)}")
    groups = _grouped(found)
    owns = [
        name_and_unit(label)[0] for group in groups.values() for each in group for label in _labels(each, contents)
    ]
    tables: list[SignalTable] = []
    # texts that name columns are no column of their own
    used = {path for path in contents.texts if path.rpartition("/")[2].lower() in LABELS | UNITS}
    taken: set[str] = set()
    for name, n_rows, group, sampling in _by_sampling(groups, contents):
        columns: list[TableColumn] = []
        places: dict[int, tuple[_Columns, int]] = {}
        turned = [each for each in group if each.across and each.width > 1 and not columns_first]
        said = [sampling.note] if sampling.note else []
        said += [f"{each.entry.path}: each of its {each.width} rows is a channel" for each in turned]
        for each, place, label in ((e, at, text) for e in group for at, text in enumerate(_labels(e, contents))):
            own, written = name_and_unit(label)
            position = len(taken)
            whole = own if owns.count(own) == 1 else f"{each.entry.parent}/{own}".strip("/")
            whole = f"{whole}_{position + 1}" if whole in taken else whole
            taken.add(whole)
            header = f"{each.entry.path}/{label}" if each.width > 1 else each.entry.path
            columns.append(TableColumn(position, whole[:120], _unit(each, place, contents) or written, header, own))
            places[position] = each, place
        unread = [path for path, texts in contents.texts.items() if len(texts) == n_rows and path not in used]
        states, about_texts = read_states({path: contents.texts[path] for path in unread})
        said += about_texts
        used.update(unread)
        tables.append(
            SignalTable(
                path,
                tuple(columns),
                n_rows,
                _reader(places),
                name,
                (*notes, *said),
                named=not _is_bare(group, contents),
                days={at: each.entry.day for at, (each, _) in places.items() if each.entry.day is not None},
                in_utc=frozenset(at for at, (each, _) in places.items() if each.entry.in_utc),
                times_of_day=frozenset(at for at, (each, _) in places.items() if each.entry.time_of_day),
                rate=sampling.rate,
                start=sampling.start if sampling.rate is not None else 0.0,
                ordered=contents.ordered,
                cut=contents.cut,
                states=states,
            )
        )
    return _distinct(tables)


def _give_own_numbers(contents: Contents) -> None:
    """Give arrays the numbers beside them that bear their names, such as ``t0_measured`` or ``command_dt``."""
    for path, value in list(contents.numbers.items()):
        parent, _, own = path.rpartition("/")
        for entry in contents.entries:
            if entry.parent == parent and own.startswith(f"{entry.own}_"):
                contents.numbers[f"{entry.path}/{own[len(entry.own) + 1 :]}"] = value
            elif entry.parent == parent and own.endswith(f"_{entry.own}"):
                contents.numbers[f"{entry.path}/{own[: -len(entry.own) - 1]}"] = value


def _scale(contents: Contents) -> None:
    """Scale arrays by the numbers that belong to them, such as ``scale_factor``."""
    for place, entry in enumerate(contents.entries):
        scaling = read_scaling(entry.path, beside(entry.path, contents.numbers, _VALUES))
        contents.notes += scaling.notes
        if not scaling.does_nothing:
            across = entry.read_across
            contents.entries[place] = replace(
                entry,
                read=scaled(entry.read, scaling),
                read_across=None if across is None else scaled(across, scaling),
            )


def _as_columns(contents: Contents, columns_first: bool) -> list[_Columns]:
    """Return the arrays that can be columns; the longer axis is that of the samples, or that of a vector's length."""
    lengths = {max(e.shape) for e in contents.entries if len(e.shape) == 1 or sorted(e.shape)[:-1] == [1]}
    found = []
    for entry in contents.entries:
        shape = entry.shape
        if len(shape) not in (1, 2) or max(shape) < 2 or min(shape) < 1:
            contents.others.append(f"{entry.path} ({' x '.join(map(str, shape)) or 'one number'})")
            continue
        if len(shape) == 1:
            found.append(_Columns(entry, shape[0], 1, False))
            continue
        first, second = shape[::-1] if columns_first else shape
        by_vector = second in lengths and first not in lengths
        across = by_vector or (second > first and first not in lengths)
        rows, width = (second, first) if across else (first, second)
        found.append(_Columns(entry, rows, width, across != columns_first))
    return found


def _grouped(found: Sequence[_Columns]) -> dict[tuple[str, int], list[_Columns]]:
    """Group what has one length, and one column of times where there are several: that of its own group."""
    by_length: dict[int, list[_Columns]] = defaultdict(list)
    for each in found:
        by_length[each.n_rows].append(each)
    groups: dict[tuple[str, int], list[_Columns]] = {}
    for n_rows, members in by_length.items():
        clocks = [m.entry.parent for m in members if m.width == 1 and TableColumn(0, m.entry.own, "", "").is_time]
        if len(set(clocks)) < 2:
            groups[_common([m.entry for m in members]), n_rows] = members
            continue
        for member in members:
            above = [clock for clock in clocks if f"{member.entry.path}/".startswith(f"{clock}/" if clock else "")]
            groups.setdefault((max(above, key=len, default=member.entry.parent), n_rows), []).append(member)
    return groups


def _common(entries: Sequence[Entry]) -> str:
    """Return the path of a single array, or what all paths share."""
    if len(entries) == 1:
        return entries[0].path
    parts = [entry.parent.split("/") for entry in entries]
    shared = [level[0] for level in zip(*parts, strict=False) if len(set(level)) == 1]
    return "/".join(shared)


def _labels(each: _Columns, contents: Contents) -> tuple[str, ...]:
    """Return the names of the columns of an array: its own, those of a text array of that length, or numbers."""
    if each.width == 1:
        label = next((text for text in (*each.entry.labels, _beside(each.entry, contents)) if text.strip()), "")
        return (label if label and len(each.entry.labels) < 2 else each.entry.own,)
    given = each.entry.labels or _text(LABELS, each, contents)
    if len(given) == each.width and len(set(given)) == each.width:
        return tuple(given)
    return _numbered(each)


def _beside(entry: Entry, contents: Contents) -> str:
    """Return the name of a signal that is a struct: the text beside its values, or the name of the struct.

    So are a scope's ``signals(1).values``, a capture's ``Y(1).Data`` with ``Name``, a time series' ``Data``.
    """
    if entry.own.lower() not in _VALUES or not entry.parent:
        return ""
    for path, texts in contents.texts.items():
        parent, _, own = path.rpartition("/")
        if parent == entry.parent and own.lower() in _NAMES and len(texts) == 1 and texts[0].strip():
            return texts[0]
    struct = entry.parent.rpartition("/")[2]
    siblings = [e.own for e in contents.entries if e.parent == entry.parent and e is not entry]
    several = sum(e.own.lower() == entry.own.lower() for e in contents.entries) > 1
    if "(" in struct or not several or not all(TableColumn(0, own, "", "").is_time for own in siblings):
        return ""
    # the x axis of a capture
    return "time" if struct == "X" else struct


def _is_bare(group: Sequence[_Columns], contents: Contents) -> bool:
    """Whether a table is one matrix whose columns have no names."""
    return len(group) == 1 and group[0].width > 1 and _labels(group[0], contents) == _numbered(group[0])


def _numbered(each: _Columns) -> tuple[str, ...]:
    return tuple(f"{each.entry.own}_{place}" for place in range(1, each.width + 1))


def _unit(each: _Columns, place: int, contents: Contents) -> str:
    units = _text(UNITS, each, contents) if each.width > 1 else ()
    return each.entry.unit or (units[place] if len(units) == each.width else "")


def _text(names: frozenset[str], each: _Columns, contents: Contents) -> tuple[str, ...]:
    """Return the texts of such a name, as many as the array has columns, in the nearest group above."""
    found = [
        (path, texts)
        for path, texts in contents.texts.items()
        if path.rsplit("/", 1)[-1].lower() in names
        and len(texts) == each.width
        and f"{each.entry.path}/".startswith(path.rpartition("/")[0])
    ]
    return max(found, key=lambda item: len(item[0]), default=("", ()))[1]


def _sampling(prefixes: Iterable[str], contents: Contents) -> Sampling:
    """Return what numbers such as ``fs`` or ``dt`` in arrays or groups, or in the nearest group above, say."""

    def near(path: str) -> bool:
        parent = path.rpartition("/")[0]
        return any(f"{prefix}/".startswith(f"{parent}/" if parent else "") for prefix in prefixes)

    numbers = {path: value for path, value in contents.numbers.items() if near(path)}
    return read_sampling(numbers, contents.texts)


def _by_sampling(
    groups: Mapping[tuple[str, int], list[_Columns]], contents: Contents
) -> Iterator[tuple[str, int, list[_Columns], Sampling]]:
    """Give the groups; one without times is divided where its arrays have other rates or starts."""
    for (name, n_rows), group in groups.items():
        shared = _sampling({name, *(each.entry.path for each in group)}, contents)
        if any(TableColumn(0, label, "", "").is_time for each in group for label in _labels(each, contents)):
            # the times are used, and a rate that is another one is told
            yield name, n_rows, group, shared
            continue
        parts: dict[Sampling, list[_Columns]] = {}
        for each in group:
            own = _sampling({each.entry.path}, contents)
            parts.setdefault(own if own.rate is not None else shared, []).append(each)
        for sampling, part in parts.items():
            yield (name if len(parts) == 1 else _common([e.entry for e in part])), n_rows, part, sampling


def _reader(places: Mapping[int, tuple[_Columns, int]]) -> Callable[[int, int, Sequence[TableColumn]], Samples]:
    def read(begin: int, end: int, columns: Sequence[TableColumn]) -> Samples:
        wanted: dict[int, tuple[_Columns, list[int], list[int]]] = {}
        for at, column in enumerate(columns):
            each, place = places[column.position]
            _, inside, outside = wanted.setdefault(id(each), (each, [], []))
            inside.append(place)
            outside.append(at)
        values = np.empty((end - begin, len(columns)))
        for each, inside, outside in wanted.values():
            values[:, outside] = each.read(begin, end, inside)
        return values

    return read


def _distinct(tables: list[SignalTable]) -> list[SignalTable]:
    names = [table.name for table in tables]
    return [
        replace(t, name=f"{t.name or 'root'} ({t.n_rows} rows)") if names.count(t.name) > 1 or not t.name else t
        for t in tables
    ]
