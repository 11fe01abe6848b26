"""Parquet files, by pyarrow: a table whose columns may have units in their metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from monitor.messages.blocks import Samples
from replay.formats.base import Format, RecordingError, Selection
from replay.formats.columns import TableColumn, name_and_unit
from replay.formats.contents import INDEX_IS_TIME
from replay.formats.dates import has_zone, parse_instants
from replay.formats.memory import check_memory
from replay.formats.reading import as_numbers, damage_reported, optional
from replay.formats.sampling import Sampling, read_sampling
from replay.formats.scaling import Scaling, read_scaling
from replay.formats.signal_table import SignalTable, pairs_given
from replay.formats.units import unit_symbol

_MAGIC = b"PAR1"
_WHAT = "a Parquet file"
_UNIT_KEYS = (b"unit", b"units", b"Unit", b"Units")
_PANDAS_INDEX = "__index_level_"
_AT_ONCE = "is read as a whole; write smaller ones"
_DAY_NS = 86_400_000_000_000


def is_parquet(path: Path, head: bytes, selection: Selection) -> bool:  # noqa: ARG001 the signature of Format
    """Whether the file begins as Parquet does."""
    return head.startswith(_MAGIC)


def _tables(path: Path) -> list[SignalTable]:
    parquet = optional("pyarrow.parquet", _WHAT, path)
    types = optional("pyarrow.types", _WHAT, path)
    with damage_reported(path, _WHAT), parquet.ParquetFile(path, page_checksum_verification=True) as file:
        schema, n_rows = file.schema_arrow, int(file.metadata.num_rows)
        _check_texts(path, file.metadata)
        columns: list[TableColumn] = []
        roles: dict[int, tuple[str, str]] = {}
        days: dict[int, int] = {}
        in_utc: set[int] = set()
        names: dict[int, str] = {}
        scalings: dict[int, Scaling] = {}
        left_out = []
        for position, field in enumerate(schema):
            kind = field.type
            written = _written_time(file, field.name) if types.is_string(kind) or types.is_large_string(kind) else ""
            dated = types.is_timestamp(kind) or bool(written)
            numeric = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
            if not (dated or numeric or types.is_decimal(kind)):
                left_out.append(f"{field.name} ({kind})")
                continue
            if dated:
                days[position] = _first_day(file, field.name)
                if has_zone(written) if written else kind.tz is not None:
                    in_utc.add(position)
            names[position] = field.name
            about = {key.decode("utf-8", "replace"): value for key, value in (field.metadata or {}).items()}
            scalings[position] = read_scaling(field.name, {key: _float(value) for key, value in about.items()})
            columns.append(_column(position, field, {column.name for column in columns}))
            raw = field.metadata or {}
            role, actuator = (raw.get(key, b"").decode("utf-8", "replace") for key in (b"role", b"actuator"))
            roles[position] = role, actuator
        if not columns or n_rows < 2:
            raise RecordingError(f"{path}: no columns of numbers with two rows or more")
        notes = [f"left out, not numbers: {', '.join(left_out)}"] if left_out else []
        if not days and any(column.header.startswith(_PANDAS_INDEX) for column in columns):
            notes.append(INDEX_IS_TIME)
        sampling = _sampling(schema.metadata or {})
        notes += [sampling.note] if sampling.note else []
    notes += [note for scaling in scalings.values() for note in scaling.notes]
    reader, pairs = _Reader(path, names, days, scalings), pairs_given(columns, roles)
    return [
        SignalTable(
            path,
            tuple(columns),
            n_rows,
            reader,
            notes=tuple(notes),
            days=days,
            in_utc=frozenset(in_utc),
            rate=sampling.rate,
            start=sampling.start,
            pairs=pairs,
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


def _written_time(file: Any, name: str) -> str:
    """Return the first text of a column where it is an ISO 8601 date and time, or nothing."""
    for batch in file.iter_batches(1 << 10, columns=[name]):
        values = batch.column(0).drop_null()
        if len(values):
            (text,) = values[:1].to_pylist()
            return str(text) if parse_instants([text]) is not None else ""
    return ""


def _instants(values: Any, name: str) -> np.ndarray:
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
    instants = parse_instants([texts[at] for at in there])
    if instants is None:
        wrong = next(at for at in there if parse_instants([texts[at]]) is None)
        raise RecordingError(f"column {name}: {texts[wrong][:30]!r} is no date and time as those before it")
    found[there] = instants
    return found


def _first_day(file: Any, name: str) -> int:
    """Return the day of the first instant, in days since 1970."""
    for batch in file.iter_batches(1 << 16, columns=[name]):
        values = batch.column(0).drop_null()
        if len(values):
            return int(_instants(values[:1], name).astype(np.int64)[0] // _DAY_NS)
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
    numbers = {}
    texts = {key.decode("utf-8", "replace"): (value.decode("utf-8", "replace"),) for key, value in metadata.items()}
    for key, (text,) in texts.items():
        with suppress(ValueError):
            numbers[key] = float(text)
    return read_sampling(numbers, texts)


class _Reader:
    """Reads rows of columns; only the row groups that hold them are decoded."""

    def __init__(
        self, path: Path, names: Mapping[int, str], days: Mapping[int, int], scalings: Mapping[int, Scaling]
    ) -> None:
        self._path, self._names, self._days, self._scalings = path, names, days, scalings

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
            found = _instants(values, column.name)
            since = (found - np.datetime64(day, "D")).astype(np.int64) / 1e9
            return np.where(np.isnat(found), np.nan, since)
        # integers beyond 2^53, such as ns since 1970, are rounded by a float
        numbers = as_numbers(values.cast("float64", safe=False).to_numpy())[0]
        return self._scalings[column.position].applied(numbers)


FORMAT = Format("Parquet", ("*.parquet", "*.pq"), is_parquet, tables=_tables)
