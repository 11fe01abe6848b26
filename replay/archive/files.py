"""The recordings of an archive: files found by their names' patterns or by their first bytes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from replay.formats import may_be_recording

ROWS_SUFFIX = ".rows"


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of the archive, or a file or folder that cannot be read.

    Parameters
    ----------
    path : where it is.
    name : its name in the table, which no other has: the path as it was given, with slashes; bytes that are not UTF-8
        as ``\\xff``.
    size, mtime_ns : bytes, and time of the last change [ns since 1970].
    problem : why it cannot be read.
    """

    path: Path
    name: str
    size: int = 0
    mtime_ns: int = 0
    problem: str | None = None


def find_files(folders: Iterable[Path], leave_out: Path) -> list[FoundFile]:
    """Return the recordings in the folders and their subfolders, in the order of their names.

    Hidden files, tables that this program writes, and files that are no recordings by name and content are left out;
    a file that is named itself is always in, and so is, as a problem, what cannot be read.

    Parameters
    ----------
    folders : or files.
    leave_out : the table that will be written, and what is beside it.

    Raises
    ------
    ValueError : a folder or file does not exist.
    """
    own = {leave_out.absolute(), leave_out.with_name(leave_out.name + ROWS_SUFFIX).absolute()}
    found: dict[Path, FoundFile] = {}
    for folder in folders:
        errors: list[OSError] = []
        try:
            if not folder.exists():
                raise ValueError(f"{folder}: no such file or directory")
            if not folder.is_dir():
                found[folder.resolve()] = _described(folder)
                continue
        except OSError as problem:
            errors.append(problem)
        for path in sorted(_files(folder, errors)):
            try:
                if path.absolute() in own or path.suffix == ROWS_SUFFIX or not path.is_file():
                    continue
                if path.resolve() not in found and may_be_recording(path):
                    found[path.resolve()] = _described(path)
            except OSError as problem:
                found[path] = _unreadable(path, problem)
        for error in errors:
            at = Path(error.filename or folder)
            found[at] = _unreadable(at, error)
    return _unique(sorted(found.values(), key=lambda file: (file.name, os.fsencode(file.path))))


def _files(folder: Path, errors: list[OSError]) -> Iterator[Path]:
    """Yield what is in a folder and its subfolders and is neither hidden nor a folder; add the errors."""
    for parent, folders, names in os.walk(folder, onerror=errors.append):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(parent, name) for name in names if not name.startswith("."))


def _described(path: Path) -> FoundFile:
    about = path.stat()
    return FoundFile(path, _name(path), about.st_size, about.st_mtime_ns)


def _unreadable(path: Path, problem: OSError) -> FoundFile:
    return FoundFile(path, _name(path), problem=(problem.strerror or str(problem)).lower())


def _name(path: Path) -> str:
    return os.fsencode(path.as_posix()).decode(errors="backslashreplace")


def _unique(files: Iterable[FoundFile]) -> list[FoundFile]:
    r"""Number names that are equal: of the byte 0xff, and of the text ``\xff``."""
    named: dict[str, FoundFile] = {}
    for file in files:
        name, number = file.name, 1
        while name in named:
            number += 1
            name = f"{file.name} ({number})"
        named[name] = replace(file, name=name)
    return list(named.values())
