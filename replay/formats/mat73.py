"""MATLAB's MAT files of version 7.3: HDF5, with matrices by columns, structs as groups and cells as references."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from monitor.system.files import HDF5_SIGNATURE
from replay.formats.arrays import Contents, tables_of
from replay.formats.base import Format, Selection
from replay.formats.hdf5 import USER_BLOCKS, add_dataset, read_whole
from replay.formats.mat import xpc_table
from replay.formats.reading import damage_reported
from replay.formats.signal_table import SignalTable

_WHAT = "a MAT file"
_MOST_ELEMENTS = 256  # of a cell or an array of structs
_DEEPEST = 16


def is_mat73(path: Path, head: bytes, selection: Selection) -> bool:  # noqa: ARG001 the signature of Format
    """Whether the file is HDF5 after a user block with MATLAB's text, or HDF5 with MATLAB's suffix."""
    if head.startswith(b"MATLAB 7.3 MAT-file"):
        return True
    return path.suffix.lower() == ".mat" and any(head[at:].startswith(HDF5_SIGNATURE) for at in USER_BLOCKS)


def _tables(path: Path) -> list[SignalTable]:
    import h5py

    contents = Contents(ordered=False)
    with damage_reported(path, _WHAT), h5py.File(path, "r") as file:
        for name, node in file.items():
            # what references point to, and the contents of objects
            if name not in ("#refs#", "#subsystem#"):
                _add(contents, path, name, node, 0)
        recorded = xpc_table(path, contents, columns_first=True)
        return [recorded] if recorded is not None else tables_of(path, contents, columns_first=True)


def _add(contents: Contents, path: Path, name: str, node: Any, depth: int) -> None:
    """Add a variable, or the fields of a struct."""
    import h5py

    kind = node.attrs.get("MATLAB_class", b"")
    if depth > _DEEPEST or "MATLAB_object_decode" in node.attrs:
        contents.others.append(f"{name} (an object, such as a table or timeseries: save its columns as arrays)")
    elif "MATLAB_sparse" in node.attrs:
        contents.others.append(f"{name} (sparse)")
    elif isinstance(node, h5py.Group):
        for inner, value in node.items():
            _add(contents, path, f"{name}/{inner}", value, depth + 1)
    elif "MATLAB_empty" in node.attrs:
        return
    elif node.dtype == h5py.ref_dtype:
        _add_references(contents, path, name, node, depth, cell=kind == b"cell")
    elif kind == b"char":
        contents.texts[name] = (_decode(path, node, name),)
    else:
        add_dataset(contents, path, node, name)


def _add_references(contents: Contents, path: Path, name: str, node: Any, depth: int, *, cell: bool) -> None:
    """Add what a cell, or a field of an array of structs, refers to; a cell of texts as texts."""
    references = [reference for reference in read_whole(path, node, name).ravel() if reference]
    items = [node.file[reference] for reference in references[:_MOST_ELEMENTS]]
    if cell and items and all(map(_is_text, items)):
        every = (node.file[reference] for reference in references)
        contents.texts[name] = tuple(_decode(path, item, name) if _is_text(item) else "" for item in every)
        return
    if node.size > _MOST_ELEMENTS:
        contents.others.append(f"{name} (elements beyond {_MOST_ELEMENTS})")
    parent, _, own = name.rpartition("/")
    for number, item in enumerate(items, 1):
        # x(2).y is the second reference of the dataset x/y
        inside = f"{name}{{{number}}}" if cell else f"{parent}({number})/{own}"
        _add(contents, path, inside, item, depth + 1)


def _is_text(node: Any) -> bool:
    return bool(node.attrs.get("MATLAB_class", b"") == b"char")


def _decode(path: Path, node: Any, name: str) -> str:
    """Return a text, which is stored as numbers of UTF-16, by columns."""
    if "MATLAB_empty" in node.attrs:
        return ""
    return "".join(map(chr, np.asarray(read_whole(path, node, name)).T.ravel().tolist()))


FORMAT = Format("MATLAB 7.3", ("*.mat",), is_mat73, tables=_tables)
