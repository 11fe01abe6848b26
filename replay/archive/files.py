"""The recordings of an archive: files found by their names' patterns or by their first bytes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from replay.formats import may_be_recording

ROWS_SUFFIX = ".rows"


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of the archive.

    Parameters
    ----------
    path : where it is.
    name : its name in the table: the path as it was given, with slashes.
    size, mtime_ns : bytes, and time of the last change [ns since 1970].
    """

    path: Path
    name: str
    size: int
    mtime_ns: int


def find_files(folders: Iterable[Path], leave_out: Path) -> list[FoundFile]:
    """Return the recordings in the folders and their subfolders, in the order of their names.

    Hidden files, tables that this program writes, and files that are no recordings by name and content are left out;
    a file that is named itself is always in.

    Parameters
    ----------
    folders : or files.
    leave_out : the table that will be written, and what is beside it.

    Raises
    ------
    ValueError : a folder or file does not exist.
    OSError : one cannot be read.
    """
    own = {leave_out.absolute(), leave_out.with_name(leave_out.name + ROWS_SUFFIX).absolute()}
    found: dict[Path, FoundFile] = {}
    for folder in folders:
        if not folder.exists():
            raise ValueError(f"{folder}: no such file or directory")
        if not folder.is_dir():
            found[folder.resolve()] = _described(folder)
            continue
        for path in sorted(folder.rglob("*")):
            hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
            if hidden or path.absolute() in own or path.suffix == ROWS_SUFFIX or not path.is_file():
                continue
            if path.resolve() not in found and may_be_recording(path):
                found[path.resolve()] = _described(path)
    return sorted(found.values(), key=lambda file: file.name)


def _described(path: Path) -> FoundFile:
    about = path.stat()
    return FoundFile(path, path.as_posix(), about.st_size, about.st_mtime_ns)
