"""MATLAB's MAT files of versions 4 to 7.2, by scipy; those of version 7.3 are HDF5."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from replay.formats.arrays import tables_of
from replay.formats.base import Format, Selection
from replay.formats.contents import Contents
from replay.formats.mat_elements import check_elements
from replay.formats.reading import damage_reported, optional
from replay.formats.signal_table import SignalTable
from replay.formats.text import is_text
from replay.formats.xpc import xpc_table

_VERSION_5 = (b"\x00\x01IM", b"\x01\x00MI")
_WHAT = "a MAT file"
_MOST_ELEMENTS = 256  # of an array of structs
_DEEPEST = 16


def is_mat(path: Path, head: bytes, selection: Selection) -> bool:
    """Whether the file is a MAT file of version 5 by its header, or of version 4, which has none, by its name."""
    if head[124:128] in _VERSION_5:
        return True
    return path.suffix.lower() == ".mat" and not head.startswith(b"MATLAB 7.3") and not is_text(path, head, selection)


def _tables(path: Path) -> list[SignalTable]:
    scipy_io = optional("scipy.io", "a MAT file", path)
    contents = Contents()
    with damage_reported(path, _WHAT), path.open("rb") as file:
        check_elements(path)
        found: dict[str, Any] = scipy_io.loadmat(file, struct_as_record=True)
        for name, value in found.items():
            # __header__, __version__, __globals__, __function_workspace__
            if not name.startswith("__"):
                _add(contents, name, value, 0)
        recorded = xpc_table(path, contents)
    return [recorded] if recorded is not None else tables_of(path, contents)


def _add(contents: Contents, name: str, value: Any, depth: int) -> None:
    """Add a variable: an array, or the fields of a struct, one level down."""
    if not isinstance(value, np.ndarray) or depth > _DEEPEST:
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
    items = list(value.ravel()[:_MOST_ELEMENTS])
    if items and all(isinstance(item, np.ndarray) and item.dtype.kind == "U" for item in items):
        contents.texts[name] = tuple(str(item.ravel()[0]) if item.size else "" for item in items)
        return
    _note_more(contents, name, value.size)
    for number, item in enumerate(items, 1):
        _add(contents, f"{name}{{{number}}}", item, depth + 1)


def _note_more(contents: Contents, name: str, size: int) -> None:
    if size > _MOST_ELEMENTS:
        contents.others.append(f"{name} (elements beyond {_MOST_ELEMENTS})")


FORMAT = Format("MATLAB", ("*.mat",), is_mat, tables=_tables)
