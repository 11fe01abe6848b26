"""Rows of the files that are finished, in a file beside the table: what an interrupted archive goes on from."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self

from monitor import __version__
from monitor.system.files import WriteError, atomic_write
from replay.archive.files import ROWS_SUFFIX, FoundFile
from replay.archive.table import COLUMNS
from replay.assessment.summary import Value

if TYPE_CHECKING:
    from replay.archive import Archive


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
