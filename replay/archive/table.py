"""The table of an archive, as Parquet or CSV: written whole, or not at all."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path

from monitor.system.files import atomic_write
from monitor.system.safe_text import csv_cell
from replay.assessment.summary import ActuatorSummary, RunSummary, Value

ENDINGS = (".parquet", ".csv")
_OF_THE_RUN = {field.name: str(field.type) for field in fields(RunSummary)}
_OF_THE_ACTUATOR = {field.name: str(field.type) for field in fields(ActuatorSummary)}
_LAST = ("warnings", "warning_codes", "alarms", "trips", "alarm_names", "notes", "note_texts", "version")

_KINDS = {
    name: kind
    for name, kind in {**_OF_THE_RUN, **_OF_THE_ACTUATOR}.items()
    if name not in ("actuators", "worst_actuator")
}
_FIRST = ("file", "problem", "actuator")
COLUMNS: Mapping[str, str] = {
    **{name: _KINDS.get(name, "str") for name in _FIRST},
    **{name: kind for name, kind in _KINDS.items() if name not in (*_FIRST, *_LAST)},
    **{name: _KINDS[name] for name in _LAST},
}
"""Names of the columns in their order, and the type of each: str, int or float, perhaps with None."""


def check_ending(path: Path) -> None:
    """Raise ValueError unless the name ends as a table that can be written."""
    if path.suffix.lower() not in ENDINGS:
        raise ValueError(f"--out {path}: a table is a file that ends in {' or '.join(ENDINGS)}")
    if path.suffix.lower() == ".parquet":
        # before hours of work
        import pyarrow.parquet  # noqa: F401


def write_table(path: Path, rows: Sequence[Mapping[str, Value]]) -> None:
    """Write the rows; a missing value is null, or an empty cell.

    Raises
    ------
    WriteError : the file cannot be written.
    """
    content = _parquet(rows) if path.suffix.lower() == ".parquet" else _csv(rows)
    with atomic_write(path) as file:
        file.write(content)


def _cell(row: Mapping[str, Value], name: str) -> Value:
    """Return a value; in a text, what UTF-8 does not have as an escape: one text must not lose the table."""
    value = row.get(name)
    return value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value


def _csv(rows: Sequence[Mapping[str, Value]]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        cells = (_cell(row, name) for name in COLUMNS)
        writer.writerow([csv_cell(cell) if isinstance(cell, str) else cell for cell in cells])
    return text.getvalue().encode()


def _parquet(rows: Sequence[Mapping[str, Value]]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {"str": pa.string(), "int": pa.int64(), "float": pa.float64()}
    schema = pa.schema([(name, types[kind.removesuffix(" | None")]) for name, kind in COLUMNS.items()])
    arrays = [pa.array([_cell(row, field.name) for row in rows], field.type) for field in schema]
    sink = io.BytesIO()
    pq.write_table(pa.table(arrays, schema=schema), sink)
    return sink.getvalue()
