"""Parquet files, by pyarrow: a table whose columns may have units in their metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from monitor.messages.blocks import Samples
from replay.formats.arrays import INDEX_IS_TIME
from replay.formats.attributes import Sampling, Scaling, read_sampling, read_scaling
from replay.formats.base import Format, RecordingError, begins_with
from replay.formats.cells import DateForm, find_form, has_zone, parse_instants
from replay.formats.columns import TableColumn, name_and_unit
from replay.formats.reading import as_numbers, check_memory, damage_reported, optional
from replay.formats.roles import pairs_given
from replay.formats.signal_table import SignalTable, read_states
from replay.formats.units import unit_symbol

_MAGIC = b"PAR1"
_WHAT = "a Parquet file"
_UNIT_KEYS = (b"unit", b"units", b"Unit", b"Units")
_PANDAS_INDEX = "__index_level_"
_AT_ONCE = "is read as a whole; write smaller ones"
_TEXT = 80.0  # bytes of a text and its place
_DAY_NS = 86_400_000_000_000


def _tables(path: Path) -> list[SignalTable]:
    parquet = optional("pyarrow.parquet", _WHAT, path)
    types = optional("pyarrow.types", _WHAT, path)
    with damage_reported(path, _WHAT), parquet.ParquetFile(path, page_checksum_verification=True) as file:
        schema, n_rows = file.schema_arrow, int(file.metadata.num_rows)
        _check_texts(path, file.metadata)
        columns: list[TableColumn] = []
        roles: dict[int, tuple[str, str]] = {}
        days: dict[int, int] = {}
        in_utc, of_day = set[int](), set[int]()
        notes: list[str] = []
        forms: dict[int, DateForm | None] = {}
        names: dict[int, str] = {}
        scalings: dict[int, Scaling] = {}
        left_out, texts = [], dict[str, list[object]]()
        for position, field in enumerate(schema):
            kind = field.type
            held = kind.value_type if types.is_dictionary(kind) else kind
            is_text = types.is_string(held) or types.is_large_string(held)
            form, written = _date_form(file, field.name) if is_text else (None, "")
            dated = types.is_timestamp(kind) or form is not None
            numeric = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
            if is_text and not dated:
                check_memory(path, _TEXT * n_rows, f"{n_rows} texts of {field.name} {_AT_ONCE}")
                texts[field.name] = file.read(columns=[field.name]).column(0).to_pylist()
                continue
            of_day |= {position} if types.is_time(kind) else set()
            if not (dated or numeric or types.is_decimal(kind) or types.is_duration(kind) or position in of_day):
                left_out.append(f"{field.name} ({kind})")
                continue
            if dated:
                forms[position] = form
                days[position] = _first_day(file, field.name, form)
                if form is not None and form.note:
                    notes.append(f"{field.name}: {form.note}")
                if has_zone(written) if written else kind.tz is not None:
                    in_utc.add(position)
            names[position] = field.name
            about = {key.decode("utf-8", "replace"): value for key, value in (field.metadata or {}).items()}
            said = {key: number for key, value in about.items() if (number := _float(value)) is not None}
            scalings[position] = read_scaling(field.name, said)
            own = read_sampling(said)
            if own.rate or own.start:
                listed = ", ".join(f"{key} {value:g}" for key, value in said.items())
                notes.append(f"{field.name}: its metadata give {listed}, which is not used: rows have one time")
            columns.append(_column(position, field, {column.name for column in columns}))
            raw = field.metadata or {}
            role, actuator = (raw.get(key, b"").decode("utf-8", "replace") for key in (b"role", b"actuator"))
            roles[position] = role, actuator
        if not columns or n_rows < 2:
            raise RecordingError(f"{path}: no columns of numbers with two rows or more")
        notes += [f"left out, not numbers: {', '.join(left_out)}"] if left_out else []
        states, said_of_texts = read_states(texts)
        notes += said_of_texts
        of_day |= {p for p, form in forms.items() if form is not None and not form.order}
        if not days and any(column.header.startswith(_PANDAS_INDEX) for column in columns):
            notes.append(INDEX_IS_TIME)
        sampling = _sampling(schema.metadata or {})
        notes += [sampling.note] if sampling.note else []
    notes += [note for scaling in scalings.values() for note in scaling.notes]
    reader, pairs = _Reader(path, names, (days, forms), scalings), pairs_given(columns, roles)
    return [
        SignalTable(
            path,
            tuple(columns),
            n_rows,
            reader,
            notes=tuple(notes),
            days={position: day for position, day in days.items() if position not in of_day},
            times_of_day=frozenset(of_day),
            in_utc=frozenset(in_utc),
            rate=sampling.rate,
            start=sampling.start,
            pairs=pairs,
            states=states,
        )
    ]


def _check_texts(path: Path, metadata: Any) -> None:
    """Check that the largest column of a row group fits into memory: a column of texts has no other bound."""
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    largest = max((g.column(n).total_uncompressed_size for g in groups for n in range(g.num_columns)), default=0)
    check_memory(path, largest, f"a column of a row group {_AT_ONCE}")


def _column(position: int, field: Any, taken: set[str]) -> TableColumn:
    name, unit = name_and_unit(field.name)
    if name.startswith(_PANDAS_INDEX):
        # the index of pandas, without a name; one that only counts the rows is not stored
        name = "time"
    given = next((field.metadata[key] for key in _UNIT_KEYS if key in (field.metadata or {})), None)
    if given is not None:
        unit = unit_symbol(given.decode("utf-8", "replace"))
    # names may be equal once they are cut to what a channel's may have
    name = f"{name}_{position + 1}" if name in taken else name
    return TableColumn(position, name or f"column_{position + 1}", unit, field.name)


def _date_form(file: Any, name: str) -> tuple[DateForm | None, str]:
    """Return how a column of texts writes dates and times, by all of them, and the first; None where it has none."""
    found: dict[str, None] = {}
    for batch in file.iter_batches(1 << 16, columns=[name]):
        texts = batch.column(0).drop_null().unique().to_pylist()
        if not found and find_form([str(text) for text in texts[:1]]) is None and texts:
            return None, ""
        found |= dict.fromkeys(map(str, texts))
    first = next(iter(found), "")
    # one that is none is named where it is read
    return (find_form(list(found)) or find_form([first]) if found else None), first


def _instants(values: Any, name: str, form: DateForm | None) -> np.ndarray:
    """Return dates and times, (n,) datetime64[ns], of a column of time stamps or of texts; NaT where one is missing.

    Raises
    ------
    RecordingError : a text is no date and time.
    """
    import pyarrow as pa

    if pa.types.is_timestamp(values.type):
        return np.asarray(values.cast(_nanoseconds(values.type)).to_numpy(zero_copy_only=False)).astype(
            "datetime64[ns]"
        )
    texts = values.to_pylist()
    found = np.full(len(texts), np.datetime64("NaT", "ns"))
    there = [at for at, text in enumerate(texts) if text is not None]
    instants = parse_instants([texts[at] for at in there], form) if there else found[:0]
    if instants is None:
        wrong = next(at for at in there if parse_instants([texts[at]], form) is None)
        raise RecordingError(f"column {name}: {texts[wrong][:30]!r} is no date and time as those before it")
    found[there] = instants
    return found


def _first_day(file: Any, name: str, form: DateForm | None) -> int:
    """Return the day of the first instant, in days since 1970."""
    for batch in file.iter_batches(1 << 16, columns=[name]):
        values = batch.column(0).drop_null()
        if len(values):
            return int(_instants(values[:1], name, form).astype(np.int64)[0] // _DAY_NS)
    return 0


def _nanoseconds(kind: Any) -> Any:
    import pyarrow as pa

    return pa.timestamp("ns", tz=kind.tz)


def _float(value: bytes) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None


def _sampling(metadata: Mapping[bytes, bytes]) -> Sampling:
    """Return what the metadata of the file say of its sampling."""
    texts = {key.decode("utf-8", "replace"): (value.decode("utf-8", "replace"),) for key, value in metadata.items()}
    return read_sampling({}, texts)


_Dates = tuple[Mapping[int, int], Mapping[int, DateForm | None]]


class _Reader:
    """Reads rows of columns; only the row groups that hold them are decoded."""

    def __init__(self, path: Path, names: Mapping[int, str], dates: _Dates, scalings: Mapping[int, Scaling]) -> None:
        self._path, self._names, self._scalings = path, names, scalings
        self._days, self._forms = dates

    def __call__(self, begin: int, end: int, columns: Sequence[TableColumn]) -> Samples:
        parquet = optional("pyarrow.parquet", _WHAT, self._path)
        with (
            damage_reported(self._path, _WHAT),
            parquet.ParquetFile(self._path, page_checksum_verification=True) as file,
        ):
            sizes = [file.metadata.row_group(number).num_rows for number in range(file.metadata.num_row_groups)]
            edges = np.concatenate([[0], np.cumsum(sizes)])
            wanted = [n for n in range(len(sizes)) if edges[n] < end and edges[n + 1] > begin]
            # by name; a name with a dot means a nested column to pyarrow, a tuple of them is not
            names = list(dict.fromkeys(self._names[c.position] for c in columns))
            largest = max(sizes[n] for n in wanted)
            check_memory(self._path, 8.0 * largest * len(names), f"a row group of {largest} rows {_AT_ONCE}")
            found = np.empty((end - begin, len(columns)))
            for n in wanted:
                first, last = max(begin, int(edges[n])), min(end, int(edges[n + 1]))
                part = file.read_row_group(n, columns=names).slice(first - int(edges[n]), last - first)
                found[first - begin : last - begin] = np.column_stack([self._values(part, c) for c in columns])
            return found

    def _values(self, table: Any, column: TableColumn) -> Samples:
        values = table.column(self._names[column.position])
        day = self._days.get(column.position)
        if day is not None:
            found = _instants(values, column.name, self._forms.get(column.position))
            since = (found - np.datetime64(day, "D")).astype(np.int64) / 1e9
            return np.where(np.isnat(found), np.nan, since)
        if str(values.type).startswith("time"):
            return np.asarray(values.cast("time64[ns]").cast("int64").to_numpy() / 1e9)
        # integers beyond 2^53, such as ns since 1970, are rounded by a float
        if str(values.type).startswith("duration"):
            return as_numbers(values.to_numpy())[0]
        numbers = as_numbers(values.cast("float64", safe=False).to_numpy())[0]
        return self._scalings[column.position].applied(numbers)


FORMAT = Format("Parquet", ("*.parquet", "*.pq"), begins_with(_MAGIC), tables=_tables)
