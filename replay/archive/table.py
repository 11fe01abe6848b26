"""The table of an archive, and its finished rows in a file beside it: what an interrupted archive goes on from."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self

from monitor import __version__
from monitor.system.files import WriteError, atomic_write
from monitor.system.safe_text import csv_cell
from replay.archive.files import ROWS_SUFFIX, FoundFile
from replay.assessment.summary import ActuatorSummary, RunSummary, Value

if TYPE_CHECKING:
    from replay.archive import Archive

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


class FinishedRows:
    """A file of one JSON object a line: first what was computed, then each finished file with its rows.

    Rows of another version of the program, of other settings or columns are not used. A line that was cut short by a
    kill is dropped, and its file assessed again.

    Parameters
    ----------
    archive : whose table, settings and columns they are.

    Raises
    ------
    WriteError : the file cannot be written; also from `add` and `leave_only`.
    """

    def __init__(self, archive: Archive) -> None:
        self.path = archive.table.with_name(archive.table.name + ROWS_SUFFIX)
        self._head = json.dumps(
            {
                "version": __version__,
                "columns": list(COLUMNS),
                "settings": {name: archive.given[name] for name in sorted(archive.given)},
                "selection": asdict(archive.selection),
            }
        )
        self._lines: dict[str, dict[str, Any]] = {}
        self._file: IO[str] | None = None

    def __enter__(self) -> Self:
        self._lines = self._read()
        self._rewrite()
        try:
            self._file = self.path.open("a", encoding="utf-8")
        except OSError as problem:
            raise self._error(problem) from problem
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def of(self, file: FoundFile) -> list[dict[str, Value]] | None:
        """Return the rows of a file; None where it is not finished, or has changed."""
        line = self._lines.get(file.name)
        if line is None or (line["size"], line["mtime_ns"]) != (file.size, file.mtime_ns):
            return None
        rows: list[dict[str, Value]] = line["rows"]
        return rows

    def add(self, file: FoundFile, rows: list[dict[str, Value]]) -> None:
        """Store the rows of a finished file."""
        line = {"file": file.name, "size": file.size, "mtime_ns": file.mtime_ns, "rows": rows}
        self._lines[file.name] = line
        assert self._file is not None
        try:
            self._file.write(json.dumps(line) + "\n")
            self._file.flush()
        except OSError as problem:
            raise self._error(problem) from problem

    def leave_only(self, files: Iterable[FoundFile]) -> None:
        """Drop the rows of files that are no longer there."""
        there = {file.name for file in files}
        if not there.issuperset(self._lines):
            self._lines = {name: line for name, line in self._lines.items() if name in there}
            self._rewrite()

    def _read(self) -> dict[str, dict[str, Any]]:
        try:
            head, *lines = self.path.read_text(encoding="utf-8", errors="replace").split("\n")
        except FileNotFoundError:
            return {}
        found = {}
        for text in lines if head == self._head else ():
            try:
                line = json.loads(text)
                found[str(line["file"])] = {name: line[name] for name in ("file", "size", "mtime_ns", "rows")}
            except (ValueError, KeyError, TypeError):
                continue
        return found

    def _rewrite(self) -> None:
        text = "\n".join([self._head, *map(json.dumps, self._lines.values())]) + "\n"
        with atomic_write(self.path) as file:
            file.write(text.encode())

    def _error(self, problem: OSError) -> WriteError:
        return WriteError(f"{self.path}: cannot be written ({problem.strerror or problem})")


def has_finished_rows(table: Path) -> bool:
    """Whether a table is one that this program wrote, with its rows beside it."""
    return table.with_name(table.name + ROWS_SUFFIX).is_file()
