"""Export as a MAT file of version 5, which every MATLAB, Octave and scipy reads."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import IO, Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.io import savemat

from replay import Progress
from replay.export.contents import ExportColumn, RunContents, SeriesTable, event_columns, unique_names
from replay.export.target_files import TargetFiles
from replay.formats.columns import words

_MOST_BYTES = 1 << 31  # sizes in the file are signed 32 bit numbers
_MOST_LETTERS = 55  # MATLAB's limit is 63; a number may follow
_KEYWORDS = words(
    "break case catch classdef continue else elseif end for function global if otherwise parfor persistent return "
    "spmd switch try while"
)
_TOP = ("time", "numbers", "results", "channels", "result_columns", "events", "run")


def write_mat(contents: RunContents, files: TargetFiles, progress: Progress) -> None:
    """Write the file: the signals as vectors, everything else in structures.

    Raises
    ------
    ValueError : the file would be larger than the format allows.
    """
    size = sum(8 * table.n_rows * (len(table.columns) + 3) for table in contents.tables)
    if size >= _MOST_BYTES:
        raise ValueError(f"{size / 1e9:.3g} GB: a MAT file holds 2 GB; export --to hdf5-1.8, which MATLAB reads too")
    target, spool = files.temporary(), files.scratch()
    with spool.open("w+b") as file:
        names = variable_names((c.name for c in contents.signals.columns), _TOP)
        signals = _columns(contents.signals, names, file, progress)
        variables: dict[str, Any] = {name: signals[name] for name in ("time", *names)}
        variables["numbers"] = {name: signals[name] for name in ("epoch", "index")}
        variables["channels"] = _structures(contents.signals.columns, names)
        if contents.results is not None:
            names = variable_names((c.name for c in contents.results.columns), ("time", "epoch", "index"))
            variables["results"] = _columns(contents.results, names, file, progress)
            variables["result_columns"] = _structures(contents.results.columns, names)
        variables["events"] = _event_structures(contents)
        settings = msgspec.json.encode(contents.metadata["settings"]).decode()
        variables["run"] = {**contents.metadata, "settings": settings}
        with target.open("wb") as out:
            # a file, which scipy accepts, so that nothing is appended to its name
            savemat(out, variables, long_field_names=True, oned_as="column")  # type: ignore[arg-type]


def variable_names(names: Iterable[str], taken: Iterable[str]) -> list[str]:
    """Return names that MATLAB accepts: letters, digits and underscores, a letter first, no keyword, none twice."""
    plain = (re.sub(r"[^A-Za-z0-9_]", "_", name)[:_MOST_LETTERS] for name in names)
    good = (name if name[:1].isalpha() and name not in _KEYWORDS else f"x{name}" for name in plain)
    return unique_names(good, taken)


class _StoredColumn:
    """A column in a file, read when it is written to another one."""

    def __init__(self, file: IO[bytes], start: int, n_rows: int, kind: type) -> None:
        self._file, self._start, self._n_rows, self._kind = file, start, n_rows, kind

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        self._file.seek(self._start)
        found: NDArray[Any] = np.frombuffer(self._file.read(8 * self._n_rows), self._kind)
        return found


def _columns(table: SeriesTable, names: list[str], file: IO[bytes], progress: Progress) -> dict[str, _StoredColumn]:
    """Store a table by columns at the end of a file: the format has one column after the other."""
    begin = file.seek(0, 2)
    ordered = ("time", "epoch", "index", *names)
    starts = {name: begin + 8 * table.n_rows * at for at, name in enumerate(ordered)}
    for done, rows in table.pieces(progress, "reading"):
        for name, column in zip(ordered, (rows.time, rows.epoch, rows.index, *rows.data.T), strict=True):
            file.seek(starts[name] + 8 * done)
            file.write(np.ascontiguousarray(column).tobytes())
    kinds = {"epoch": np.int64, "index": np.int64}
    return {
        name: _StoredColumn(file, start, table.n_rows, kinds.get(name, np.float64)) for name, start in starts.items()
    }


def _structures(columns: tuple[ExportColumn, ...], names: list[str]) -> NDArray[Any]:
    """Return a structure array, (n, 1): variable, name, role, unit and actuator of each column."""
    fields = ("variable", "name", "role", "unit", "actuator")
    rows = [(name, c.name, c.role, c.unit, c.actuator) for name, c in zip(names, columns, strict=True)]
    found = np.empty((len(rows), 1), [(field, object) for field in fields])
    found[:, 0] = rows
    return found


def _event_structures(contents: RunContents) -> NDArray[Any]:
    columns = event_columns(contents)
    found = np.empty((len(contents.events), 1), [(name, object) for name in columns])
    for name, column in columns.items():
        found[name][:, 0] = column
    return found
