"""NumPy's archives of arrays, npz, and single arrays, npy."""

from __future__ import annotations

import math
import struct
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from replay.formats.arrays import Contents, Entry, tables_of
from replay.formats.base import Format, Selection
from replay.formats.reading import check_memory, damage_reported
from replay.formats.signal_table import SignalTable

_LARGE = 1 << 26  # bytes; a larger array stays in the file
_PIECE = 1 << 20  # bytes read at a time
_LOCAL_NAMES = 26  # bytes from a file's header to the lengths of its name and of the extra field
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
            _add_mapped(contents, path, _mapped(path))
        else:
            _add_archive(contents, path)
        return tables_of(path, contents)


def _add_mapped(contents: Contents, path: Path, values: np.ndarray) -> None:
    """Add an array that stays in its file; a structured one by its fields."""
    name = path.stem
    if values.dtype.names is None and values.dtype.kind in "fiub" and values.size > 1:
        contents.entries.append(_entry(name, values.shape, path, lambda: _mapped(path)))
        return
    for field in values.dtype.names or ():
        if values[field].dtype.kind in "fiub":
            contents.entries.append(_entry(field, values[field].shape, path, partial(_field, path, field)))
        else:
            contents.add(field, np.asarray(values[field]))
    if values.dtype.names is None:
        contents.add(name, np.asarray(values))


def _mapped(path: Path) -> np.ndarray:
    values: np.ndarray = np.load(path, mmap_mode="r", allow_pickle=False)
    return values


def _field(path: Path, field: str) -> np.ndarray:
    values: np.ndarray = _mapped(path)[field]
    return values


def _entry(name: str, shape: tuple[int, ...], path: Path, load: Callable[[], np.ndarray]) -> Entry:
    """Return an array that is mapped whenever a part of it is read."""

    def read(begin: int, end: int) -> np.ndarray:
        with damage_reported(path, "NumPy arrays"):
            return np.array(load()[begin:end])

    def read_across(begin: int, end: int) -> np.ndarray:
        with damage_reported(path, "NumPy arrays"):
            return np.array(load()[:, begin:end])

    return Entry(name, shape, read, read_across=read_across if len(shape) == 2 else None)


def _add_archive(contents: Contents, path: Path) -> None:
    """Add the arrays of an npz file; each has a checksum, which is checked. Large ones stay in the file."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        stored = {member.filename: _stored(path, archive, member) for member in members}
        check_memory(path, sum(member.file_size for member in members if stored[member.filename] is None))
        for member in members:
            name, mapped = member.filename, stored[member.filename]
            if mapped is not None:
                contents.entries.append(_entry(name.removesuffix(".npy"), mapped().shape, path, mapped))
                continue
            if not name.endswith(".npy"):
                contents.others.append(f"{name} (no array)")
                continue
            with archive.open(name) as content:
                try:
                    values = np.lib.format.read_array(content, allow_pickle=False)
                except ValueError as problem:
                    if "Object arrays" not in str(problem):
                        raise
                    contents.others.append(f"{name.removesuffix('.npy')} (objects)")
                    continue
                # to the end, where the checksum is
                content.read()
            contents.add(name.removesuffix(".npy"), values)


def _stored(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Callable[[], np.ndarray] | None:
    """Return what maps an array that is large, of numbers and not compressed; its checksum is checked here."""
    if (
        member.compress_type != zipfile.ZIP_STORED
        or member.file_size < _LARGE
        or not member.filename.endswith(".npy")
    ):
        return None
    with archive.open(member) as content:
        version = np.lib.format.read_magic(content)
        head = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}.get(version)
        if head is None:
            return None
        shape, fortran, dtype = head(content)
        at = content.tell()
        if (
            dtype.names is not None
            or dtype.kind not in "fiub"
            or at + dtype.itemsize * math.prod(shape) != member.file_size
        ):
            return None
        while content.read(_PIECE):
            pass
    with path.open("rb") as file:
        file.seek(member.header_offset + _LOCAL_NAMES)
        # the name and the extra field before the content have other lengths than in the directory
        at += file.tell() + 4 + sum(struct.unpack("<HH", file.read(4)))
    return partial(np.memmap, path, dtype, "r", at, shape, "F" if fortran else "C")


FORMAT = Format("NumPy", ("*.npz", "*.npy"), is_numpy, tables=_tables)
