"""MATLAB's MAT files of versions 4 to 7.2, by scipy; those of version 7.3 are HDF5.

The compiled reader of scipy takes the type of an element for a place in a list of C, follows arrays as deep as they
are nested, and makes them as large as they say: here the same elements are visited before, in the same order.
"""

from __future__ import annotations

import io
import math
import struct
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np

from monitor.messages.blocks import Samples
from replay.formats.arrays import Contents, tables_of
from replay.formats.base import Format, Selection
from replay.formats.clock import is_increasing
from replay.formats.columns import TableColumn
from replay.formats.reading import CUT_SHORT, as_numbers, check_memory, damage_reported, optional
from replay.formats.roles import PairColumns
from replay.formats.signal_table import SignalTable, array_reader
from replay.formats.text import is_text

_HEADER = 128
_NUMBERS = frozenset((1, 2, 3, 4, 5, 6, 7, 9, 12, 13))
_CHARACTERS = frozenset((1, 2, 4, 16, 17, 18))
_INTEGERS, _NAMES = frozenset((5, 6)), frozenset((1, 16))
_MATRIX, _COMPRESSED = 14, 15
_CELL, _STRUCT, _OBJECT, _CHAR, _SPARSE, _FUNCTION, _OPAQUE = 1, 2, 3, 4, 5, 16, 17
_COMPLEX = 1 << 11
_MOST_SIZES = 32
_DEEPEST = 64
_PIECE = 1 << 20
_LEAST = 8  # bytes of an array within another
_IN_MEMORY = 2  # times the elements


def check_elements(path: Path) -> None:
    """Check the elements of a MAT file, also of those that are compressed.

    Raises
    ------
    ValueError : a type, a size or the nesting cannot be; one line without the file's name.
    RecordingError : what is in the file does not fit into memory.
    """
    with path.open("rb") as file:
        head = file.read(_HEADER)
        size = file.seek(0, 2)
        check_memory(path, _IN_MEMORY * size)
        if 0 in head[:4]:
            return  # version 4
        order = "<" if head[126:128] == b"IM" else ">"
        at, inflated = _HEADER, 0
        while at < size:
            file.seek(at)
            tag = file.read(8)
            if len(tag) < 8:
                raise CutElementError("an element ends within its tag", at)
            kind, count = struct.unpack(f"{order}II", tag)
            at += 8 + count
            if at > size:
                raise CutElementError(f"an element of {count} bytes ends beyond the file", at - 8 - count)
            if kind == _COMPRESSED:
                stream: IO[bytes] | _Inflated = _Inflated(file, count)
                kind, count = struct.unpack(f"{order}II", _whole(stream, 8))
                inflated += count
                check_memory(path, _IN_MEMORY * (size + inflated))
            else:
                stream = file
            _Elements(stream, order, count).matrix(kind)


class CutElementError(ValueError):
    """The last element is not whole.

    Parameters
    ----------
    text : of the message.
    begin : of the element, bytes.
    """

    def __init__(self, text: str, begin: int) -> None:
        super().__init__(text)
        self.begin = begin


class _Inflated:
    """The content of a compressed element, inflated in small pieces."""

    def __init__(self, file: IO[bytes], count: int) -> None:
        self._file, self._left = file, count
        self._inflate = zlib.decompressobj()
        self._ready = b""

    def read(self, count: int) -> bytes:
        """Return at most `count` bytes, fewer only at the end; raises zlib.error where they are damaged."""
        while len(self._ready) < count and not self._inflate.eof:
            packed = self._inflate.unconsumed_tail or self._file.read(min(self._left, _PIECE))
            if not packed:
                break
            self._left -= 0 if self._inflate.unconsumed_tail else len(packed)
            self._ready += self._inflate.decompress(packed, _PIECE)
        found, self._ready = self._ready[:count], self._ready[count:]
        return found


def _whole(stream: IO[bytes] | _Inflated, count: int) -> bytes:
    found = stream.read(count)
    if len(found) < count:
        raise ValueError("an element ends beyond its content")
    return found


class _Elements:
    """Elements one after the other: an array, with those within it.

    Parameters
    ----------
    stream : what they are read from.
    order : of their bytes, ``<`` or ``>``.
    count : bytes of the array.
    """

    def __init__(self, stream: IO[bytes] | _Inflated, order: str, count: int) -> None:
        self._stream, self._order, self._count = stream, order, count

    def matrix(self, kind: int, depth: int = 0) -> None:
        """Check an array whose tag was read."""
        if kind != _MATRIX:
            raise ValueError(f"an element of type {kind} where an array belongs")
        if depth > _DEEPEST:
            raise ValueError(f"arrays are nested deeper than {_DEEPEST}")
        flags = self._integers(_whole(self._stream, 16)[8:])[0]
        own, parts = flags & 0xFF, 2 if flags & _COMPLEX else 1
        if own == _OPAQUE:
            for _ in range(3):
                self._skip(_NAMES, "a name")
            self._inner(1, depth)
            return
        sizes = self._integers(self._read(_INTEGERS, "the size of an array", 4 * _MOST_SIZES))
        if min(sizes, default=0) < 0:
            raise ValueError(f"an array of {' x '.join(map(str, sizes))}")
        n_elements = math.prod(sizes)
        self._skip(_NAMES, "a name")
        if own == _CELL:
            self._inner(n_elements, depth)
        elif own == _FUNCTION:
            self._inner(1, depth)
        elif own in (_STRUCT, _OBJECT):
            if own == _OBJECT:
                self._skip(_NAMES, "a class")
            (length,) = self._integers(self._read(_INTEGERS, "the length of names", 4))
            if length < 1:
                raise ValueError(f"names of {length} characters")
            n_fields = self._skip(_NAMES, "names") // length
            self._inner(n_elements * n_fields, depth, n_elements)
        elif own == _CHAR:
            # without any characters it is filled with spaces
            if not self._skip(_CHARACTERS, "characters") and n_elements > self._count:
                raise ValueError(f"{n_elements} characters that are not there")
        else:
            for _ in range(parts + (2 if own == _SPARSE else 0)):
                self._skip(_NUMBERS, "numbers")

    def _inner(self, number: int, depth: int, elements: int = 0) -> None:
        if max(number, elements) > self._count // _LEAST:
            raise ValueError(f"an array of {max(number, elements)} others in {self._count} bytes")
        for _ in range(number):
            kind, count = struct.unpack(f"{self._order}II", _whole(self._stream, 8))
            if count or kind != _MATRIX:
                self.matrix(kind, depth + 1)

    def _integers(self, data: bytes) -> tuple[int, ...]:
        return struct.unpack(f"{self._order}{len(data) // 4}i", data[: len(data) // 4 * 4])

    def _tag(self, kinds: frozenset[int], what: str) -> tuple[int, bytes | None]:
        """Return the number of bytes of an element, and these where they are in its tag."""
        data = _whole(self._stream, 8)
        kind, count = struct.unpack(f"{self._order}II", data)
        short = kind >> 16
        if short:
            kind, count = kind & 0xFFFF, short
        if kind not in kinds:
            raise ValueError(f"{what}: an element of type {kind}")
        if short > 4:
            raise ValueError(f"{what}: {short} bytes in a tag")
        return count, data[4 : 4 + short] if short else None

    def _read(self, kinds: frozenset[int], what: str, most: int) -> bytes:
        count, data = self._tag(kinds, what)
        if count > most:
            raise ValueError(f"{what} has {count} bytes")
        if data is None:
            data = _whole(self._stream, count)
            self._stream.read(-count % 8)
        return data

    def _skip(self, kinds: frozenset[int], what: str) -> int:
        """Pass by an element and return its number of bytes."""
        count, data = self._tag(kinds, what)
        if data is None:
            left = count
            while left > 0:
                left -= len(_whole(self._stream, min(left, _PIECE)))
            self._stream.read(-count % 8)
        return count


_VERSION_5 = (b"\x00\x01IM", b"\x01\x00MI")
_WHAT = "a MAT file"
_MOST_ELEMENTS = 256  # of an array of structs
_DEEPEST_STRUCT = 16


def is_mat(path: Path, head: bytes, selection: Selection) -> bool:
    """Whether the file is a MAT file of version 5 by its header, or of version 4, which has none, by its name."""
    if head[124:128] in _VERSION_5:
        return True
    return path.suffix.lower() == ".mat" and not head.startswith(b"MATLAB 7.3") and not is_text(path, head, selection)


def _tables(path: Path) -> list[SignalTable]:
    scipy_io = optional("scipy.io", "a MAT file", path)
    contents = Contents()
    with damage_reported(path, _WHAT), path.open("rb") as whole:
        file: IO[bytes] = whole
        try:
            check_elements(path)
        except CutElementError as cut:
            if cut.begin <= _HEADER:
                raise
            contents.cut = True
            contents.notes.append(CUT_SHORT)
            file = io.BytesIO(whole.read(cut.begin))
        found: dict[str, Any] = scipy_io.loadmat(file, struct_as_record=True)
        for name, value in found.items():
            # __header__, __version__, __globals__, __function_workspace__
            if not name.startswith("__"):
                _add(contents, name, value, 0)
        recorded = xpc_table(path, contents)
    return [recorded] if recorded is not None else tables_of(path, contents)


def _add(contents: Contents, name: str, value: Any, depth: int) -> None:
    """Add a variable: an array, or the fields of a struct, one level down."""
    if not isinstance(value, np.ndarray) or depth > _DEEPEST_STRUCT:
        contents.others.append(f"{name} ({type(value).__name__})")
    elif type(value).__name__ == "MatlabOpaque":
        contents.others.append(f"{name} (an object, such as a table or timeseries: save its columns as arrays)")
    elif value.dtype.names is not None and value.dtype.kind == "V":
        _note_more(contents, name, value.size)
        for number, element in enumerate(value.ravel()[:_MOST_ELEMENTS], 1):
            inside = name if value.size == 1 else f"{name}({number})"
            for part in value.dtype.names:
                _add(contents, f"{inside}/{part}", element[part], depth + 1)
    elif value.dtype == object:
        _add_cell(contents, name, value, depth)
    else:
        contents.add(name, value)


def _add_cell(contents: Contents, name: str, value: np.ndarray, depth: int) -> None:
    """Add a cell array: texts as labels, numbers by their places in it."""
    items = list(value.ravel())
    if items and all(isinstance(item, np.ndarray) and item.dtype.kind == "U" for item in items):
        contents.texts[name] = tuple(str(item.ravel()[0]) if item.size else "" for item in items)
        return
    _note_more(contents, name, value.size)
    for number, item in enumerate(items[:_MOST_ELEMENTS], 1):
        _add(contents, f"{name}{{{number}}}", item, depth + 1)


def _note_more(contents: Contents, name: str, size: int) -> None:
    if size > _MOST_ELEMENTS:
        contents.others.append(f"{name} (elements beyond {_MOST_ELEMENTS})")


FORMAT = Format("MATLAB", ("*.mat",), is_mat, tables=_tables)


_XPC_MATRICES = ("data/values", "data(1)/values")
_BEFORE = ("target", "command", "command_rate", "command_acceleration")
_MEASURED = ("measured_signal", "measured_signal", "measured_displacement", "measured_force")
_ATS = ("ats_parameter",) * 4
_WITH_ATS = (*_BEFORE, "ats_displacement", *_MEASURED, *_ATS)
_WITHOUT_ATS = (*_BEFORE, *_MEASURED)
_AFTER = ("state", "counter", "flag_1", "flag_2", "flag_3", "time")


def xpc_table(path: Path, contents: Contents, *, columns_first: bool = False) -> SignalTable | None:
    """Return the table of such a recording; None where the variables of a MAT file are no such recording.

    Parameters
    ----------
    path : of the file.
    contents : its variables; ``data(1).values`` is the matrix, (n_samples, n_columns).
    columns_first : as in `tables_of`.
    """
    found = [e for e in contents.entries if e.path in _XPC_MATRICES and len(e.shape) == 2]
    if not found:
        return None
    values = as_numbers(found[0].read(0, found[0].shape[0]))[0]
    values = values.T if columns_first else values
    if len(values) < 2:
        return None
    groups = _groups(values.shape[1])
    if groups is None or not is_increasing(values[:, -1]) or not _flags_fit(values[:, -6:-1]):
        return None
    width = (values.shape[1] - len(_AFTER)) // len(groups)
    columns = tuple(TableColumn(at, name, "", name) for at, name in enumerate((*_names(groups, width), *_AFTER)))

    def column(group: str, dof: int) -> TableColumn:
        place: int = groups.index(group) * width + dof - 1
        return columns[place]

    pairs = tuple(
        PairColumns(
            f"dof{dof}",
            command=column("command", dof),
            measured=column("measured_displacement", dof),
            force=column("measured_force", dof),
        )
        for dof in range(1, width + 1)
    )
    ats = "with" if groups == _WITH_ATS else "without"
    freedom = "1 degree of freedom" if width == 1 else f"{width} degrees of freedom"
    notes = [f"OpenFresco on an xPC target, {freedom}, {ats} ATS; the units are unknown"]
    if groups == _WITH_ATS and (values.shape[1] - len(_AFTER)) % len(_WITHOUT_ATS) == 0:
        notes.append(f"its {values.shape[1]} columns could also be more degrees of freedom without ATS")
    return SignalTable(path, columns, len(values), array_reader(values), "data", tuple(notes), pairs=pairs)


def _names(groups: tuple[str, ...], width: int) -> list[str]:
    """Return the names of the columns of all groups; those of one name are numbered."""
    names = [name for name in groups for _ in range(width)]
    return [
        name if names.count(name) == 1 else f"{name}_{names[:at].count(name) + 1}" for at, name in enumerate(names)
    ]


def _groups(n_columns: int) -> tuple[str, ...] | None:
    """Return the groups of columns; of two that fit, those with ATS, as OpenFresco's own script does."""
    for groups in (_WITH_ATS, _WITHOUT_ATS):
        if n_columns > len(_AFTER) and (n_columns - len(_AFTER)) % len(groups) == 0:
            return groups
    return None


def _flags_fit(after: Samples) -> bool:
    """Whether the state is a whole number and the flags, after the counter, are 0 or 1."""
    state, flags = after[:, 0], after[:, 2:]
    return bool(np.all(state == np.round(state)) and np.all((flags == 0.0) | (flags == 1.0)))
