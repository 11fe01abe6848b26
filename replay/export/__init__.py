"""Recordings -> files of other programs: CSV, Parquet, MAT, MCAP, and HDF5 for older readers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from replay import Progress, silent
from replay.export.contents import RunContents, open_contents
from replay.export.target_files import TargetFiles
from replay.formats import Selection

__all__ = ["EXPORT_FORMATS", "Exported", "export"]

_Write = Callable[[RunContents, TargetFiles, Progress], None]

EXPORT_FORMATS = {
    "csv": (".csv", "replay.export.csv_files:write_csv"),
    "parquet": (".parquet", "replay.export.parquet:write_parquet"),
    "mat": (".mat", "replay.export.mat:write_mat"),
    "mcap": (".mcap", "replay.export.mcap:write_mcap"),
    "hdf5-1.8": (".hdf5", "replay.export.hdf5:write_hdf5"),
}
"""Ending of the file, and the function that writes it: its module is imported when it is chosen."""

_EVERYTHING = Selection()


@dataclass(frozen=True)
class Exported:
    """What was written.

    Parameters
    ----------
    paths : the files; the first has the signals.
    samples, results, events : how many rows of each.
    notes : on the recording, a line each.
    """

    paths: tuple[Path, ...]
    samples: int
    results: int
    events: int
    notes: tuple[str, ...]


def export(
    path: Path,
    kind: str,
    out: Path | None = None,
    selection: Selection = _EVERYTHING,
    *,
    overwrite: bool = False,
    progress: Progress = silent,
) -> Exported:
    """Write a recording in another format; the files are whole, or none is there.

    Parameters
    ----------
    path : the recording.
    kind : one of `EXPORT_FORMATS`.
    out : the first file, or a folder; default: the recording's name with the format's ending.
    selection : roles of the columns, for a recording of another program.
    overwrite : replace existing files.

    Raises
    ------
    RecordingError : the recording cannot be read.
    WriteError : a file exists, or cannot be written.
    ValueError : the format cannot hold the recording.
    ModuleNotFoundError : a package of the format is not installed.
    """
    ending, where = EXPORT_FORMATS[kind]
    module, name = where.split(":")
    write: _Write = getattr(import_module(module), name)
    target = path.with_suffix(ending) if out is None else out
    if target.is_dir():
        target /= f"{path.stem}{ending}"
    with open_contents(path, selection) as contents, TargetFiles(target, path, overwrite=overwrite) as files:
        write(contents, files, progress)
    n_results = 0 if contents.results is None else contents.results.n_rows
    return Exported(files.paths, contents.signals.n_rows, n_results, len(contents.events), contents.notes)
