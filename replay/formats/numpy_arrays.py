"""NumPy's archives of arrays, npz, and single arrays, npy."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from replay.formats.arrays import tables_of
from replay.formats.base import Format, Inspection, Recording, Selection
from replay.formats.choice import inspect_tables, open_tables
from replay.formats.contents import Contents, Entry
from replay.formats.reading import damage_reported
from replay.formats.signal_table import SignalTable

_NPY, _ZIP = b"\x93NUMPY", b"PK\x03\x04"


def is_numpy(path: Path, head: bytes, selection: Selection) -> bool:  # noqa: ARG001 the signature of Format
    """Whether the file is an array of NumPy, or a zip file that begins with one."""
    if head.startswith(_NPY):
        return True
    # the name of its first file follows 30 bytes of numbers
    return head.startswith(_ZIP) and head[30 : 30 + int.from_bytes(head[26:28], "little")].endswith(b".npy")


def _tables(path: Path) -> list[SignalTable]:
    contents = Contents()
    with path.open("rb") as file:
        single = file.read(len(_NPY)) == _NPY
    with damage_reported(path, "NumPy arrays"):
        if single:
            _add_mapped(contents, path, np.load(path, mmap_mode="r", allow_pickle=False))
        else:
            _add_archive(contents, path)
        return tables_of(path, contents)


def _add_mapped(contents: Contents, path: Path, values: np.ndarray) -> None:
    """Add an array that stays in its file; a structured one by its fields."""
    name = path.stem
    if values.dtype.names is None and values.dtype.kind in "fiub" and values.size > 1:
        contents.entries.append(Entry(name, values.shape, _part(path, None)))
        return
    for field in values.dtype.names or ():
        if values[field].dtype.kind in "fiub":
            contents.entries.append(Entry(field, values[field].shape, _part(path, field)))
        else:
            contents.add(field, np.asarray(values[field]))
    if values.dtype.names is None:
        contents.add(name, np.asarray(values))


def _part(path: Path, field: str | None) -> Callable[[int, int], np.ndarray]:
    def read(begin: int, end: int) -> np.ndarray:
        with damage_reported(path, "a NumPy array"):
            values = np.load(path, mmap_mode="r", allow_pickle=False)
            return np.array((values if field is None else values[field])[begin:end])

    return read


def _add_archive(contents: Contents, path: Path) -> None:
    """Add the arrays of an npz file; each has a checksum, which is checked when it is read."""
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if not name.endswith(".npy"):
                contents.others.append(f"{name} (no array)")
                continue
            with archive.open(name) as member:
                try:
                    values = np.lib.format.read_array(member, allow_pickle=False)
                except ValueError as problem:
                    if "Object arrays" not in str(problem):
                        raise
                    contents.others.append(f"{name.removesuffix('.npy')} (objects)")
                    continue
                # to the end, where the checksum is
                member.read()
            contents.add(name.removesuffix(".npy"), values)


def open_numpy(path: Path, selection: Selection) -> Recording:
    """Read arrays of NumPy.

    Raises
    ------
    RecordingError : the file is damaged, or what is meant is not clear; one line.
    """
    return open_tables(_tables(path), selection)


def inspect_numpy(path: Path, selection: Selection) -> Inspection:
    """Return the arrays as columns, and their roles as far as they are clear.

    Raises
    ------
    RecordingError : the file is damaged, or holds no signals; one line.
    """
    return inspect_tables(_tables(path), selection)


FORMAT = Format("NumPy", ("*.npz", "*.npy"), is_numpy, open_numpy, inspect_numpy, _tables)
