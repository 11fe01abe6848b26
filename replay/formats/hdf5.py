"""HDF5 files of other programs: every dataset of numbers is a column, or several, of its group."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from monitor.system.files import HDF5_SIGNATURE
from replay.formats.arrays import INDEX_IS_TIME, LABELS, UNITS, Contents, Entry, tables_of
from replay.formats.base import DamagedFileError, Format, Inspection, RecordingError, Selection
from replay.formats.cells import parse_instants
from replay.formats.choice import inspect_tables
from replay.formats.columns import some
from replay.formats.reading import check_memory, damage_reported
from replay.formats.signal_table import SignalTable
from replay.formats.units import unit_symbol

USER_BLOCKS = (0, 512, 1024, 2048)
"""Where the signature of an HDF5 file may be, bytes."""
_WHAT = "an HDF5 file"
_MOST_DATASETS = 10_000
_TEXT = 64  # bytes of a short one in memory


def is_hdf5(path: Path, head: bytes, selection: Selection) -> bool:  # noqa: ARG001 the signature of Format
    """Whether the file is HDF5 and not a run file; one that cannot be opened is left to the reader of run files."""
    if not any(head[at:].startswith(HDF5_SIGNATURE) for at in USER_BLOCKS):
        return False
    if not head.startswith(HDF5_SIGNATURE):
        return True
    from monitor.recording.layout import RunFileError
    from monitor.recording.opening import ForeignHdf5Error, open_run_file  # h5py is slow to import

    try:
        with open_run_file(path):
            return False
    except ForeignHdf5Error:
        return True
    except RunFileError:
        return False


def add_dataset(contents: Contents, path: Path, dataset: Any, name: str) -> None:
    """Add a dataset of numbers; its attributes may give a unit, names of columns and a rate.

    Parameters
    ----------
    contents : what is added to.
    path : of the file, which is opened again whenever rows are read.
    dataset : of h5py.
    name : under which it is added.
    """
    import h5py

    kind = dataset.dtype.kind
    if dataset.chunks:
        chunk = math.prod(dataset.chunks) * dataset.dtype.itemsize
        check_memory(path, chunk, f"the chunks of {name} are read as a whole; write smaller ones")
    unit, labels = _attributes(contents, dataset)
    if dataset.size is not None and dataset.size <= 1 and dataset.dtype.names is None:
        if dataset.size and kind in "fiub":
            contents.numbers[name] = float(np.asarray(dataset[()]).ravel()[0])
            contents.texts |= {f"{name}_unit": (unit,)} if unit else {}
        elif dataset.size:
            contents.texts[name] = _texts(dataset[()])
        return
    missing = _chunks_missing(dataset)
    if missing:
        contents.notes.append(f"{name}: {missing}, and read as its fill value")
    if dataset.dtype.names is not None:
        for field in dataset.dtype.names:
            inner = dataset.dtype[field]
            shape = (*dataset.shape, *inner.shape)
            _add_array(contents, path, dataset.name, f"{name}/{field}", shape, inner.base.kind, "", (), field)
    elif kind in "SO" and dataset.ndim == 1 and parse_instants(_texts(dataset[:1])) is not None:
        contents.add_texts(name, _texts(read_whole(path, dataset, name)))
    elif kind in "SO" and h5py.check_string_dtype(dataset.dtype) is not None:
        contents.texts[name] = _texts(read_whole(path, dataset, name))
    else:
        unit_or_labels = (unit, ()) if len(labels) < 2 else ("", labels)
        _add_array(contents, path, dataset.name, name, dataset.shape, kind, *unit_or_labels, None)


def read_whole(path: Path, dataset: Any, name: str) -> Any:
    """Return all of a dataset; raises RecordingError where that does not fit into memory."""
    # a text is an object of Python; HDF5 searches the whole file for the name of what a reference points to
    check_memory(path, dataset.size * (dataset.dtype.itemsize + _TEXT), f"{name} is read as a whole")
    return dataset[()]


def _add_array(
    contents: Contents,
    path: Path,
    dataset: str,
    name: str,
    shape: tuple[int, ...],
    kind: str,
    unit: str,
    labels: tuple[str, ...],
    field: str | None,
) -> None:
    if kind not in "fiub":
        contents.others.append(f"{name} ({'complex' if kind == 'c' else 'no numbers'})")
        return
    across = _rows(path, dataset, field, across=True) if len(shape) == 2 and field is None else None
    contents.entries.append(Entry(name, shape, _rows(path, dataset, field), unit, labels, read_across=across))


def _rows(path: Path, name: str, field: str | None, *, across: bool = False) -> Callable[[int, int], np.ndarray]:
    """Return what reads a part of a dataset, along its first or its second axis; it opens the file each time."""

    def read(begin: int, end: int) -> np.ndarray:
        import h5py

        with damage_reported(path, _WHAT), h5py.File(path, "r") as file:
            dataset = file[name]
            if field is not None:
                return np.asarray(dataset.fields(field)[begin:end])
            return np.asarray(dataset[:, begin:end] if across else dataset[begin:end])

    return read


def _attributes(contents: Contents, node: Any) -> tuple[str, tuple[str, ...]]:
    """Return the unit and the labels in the attributes of a node, and add its single numbers."""
    unit = ""
    labels: tuple[str, ...] = ()
    name = node.name.strip("/")
    for key, value in node.attrs.items():
        texts = _texts(value)
        if key.lower() in UNITS and len(texts) == 1:
            unit = unit_symbol(texts[0])
        elif key.lower() in (*LABELS, *UNITS) and texts:
            contents.texts[f"{name}/{key}".strip("/")] = texts
            labels = texts if key.lower() in LABELS else labels
        elif len(texts) == 1:
            contents.texts[f"{name}/{key}".strip("/")] = texts
        elif np.size(value) == 1 and np.asarray(value).dtype.kind in "fiu":
            contents.numbers[f"{name}/{key}".strip("/")] = float(np.asarray(value).ravel()[0])
    return unit, labels


def _texts(value: Any) -> tuple[str, ...]:
    """Return the texts in an attribute or a dataset, none where there are numbers."""
    flat = [value] if isinstance(value, str | bytes) else np.asarray(value, dtype=object).ravel().tolist()
    if not all(isinstance(each, str | bytes) for each in flat):
        return ()
    return tuple(each.decode("utf-8", "replace") if isinstance(each, bytes) else str(each) for each in flat)


def _chunks_missing(dataset: Any) -> str:
    """Return how many chunks were never written, as an interrupted program leaves them; empty if none.

    A virtual dataset is missing what its source files have, where these are not found.
    """
    if dataset.is_virtual:
        folder = Path(dataset.file.filename).parent
        names = {source.file_name for source in dataset.virtual_sources()} - {"."}
        gone = sorted(name for name in names if not (folder / name).exists())
        return f"the file {gone[0]} that holds a part of it is not there" if gone else ""
    if not dataset.chunks:
        return ""
    whole = math.prod(-(-size // chunk) for size, chunk in zip(dataset.shape, dataset.chunks, strict=True))
    there = int(dataset.id.get_num_chunks())
    return f"{whole - there} of its {whole} chunks were never written" if there < whole else ""


def _tables(path: Path) -> list[SignalTable]:
    import h5py

    contents = Contents(ordered=False)
    with damage_reported(path, _WHAT), h5py.File(path, "r") as file:
        _attributes(contents, file)

        def visit(_: str, node: Any) -> None:
            # the indices of PyTables
            if "/_i_" in node.name:
                return
            if isinstance(node, h5py.Dataset):
                add_dataset(contents, path, node, node.name.strip("/"))
            else:
                _attributes(contents, node)
            if len(contents.entries) > _MOST_DATASETS:
                raise RecordingError(f"{path}: more than {_MOST_DATASETS} datasets: this is no record of signals")

        file.visititems(visit)
        _rename_values(contents)
        _label_blocks(contents)
        return tables_of(path, contents)


def _rename_values(contents: Contents) -> None:
    """Give what Octave saved the names of its variables: ``x/value`` is x where ``x/type`` is a text beside it."""

    def name(path: str) -> str:
        parts: list[str] = []
        whole: list[str] = []
        for part in path.split("/"):
            if part != "value" or f"{'/'.join(whole)}/type" not in contents.texts:
                parts.append(part)
            whole.append(part)
        return "/".join(parts)

    def is_text(path: str) -> bool:
        return any("string" in text for text in contents.texts.get(f"{path.rpartition('/')[0]}/type", ()))

    contents.entries[:] = [replace(e, path=name(e.path)) for e in contents.entries if not is_text(e.path)]
    contents.numbers = {name(path): value for path, value in contents.numbers.items()}


def _label_blocks(contents: Contents) -> None:
    """Give the blocks of a table that pandas wrote in its fixed format the names that are beside them."""
    kept = []
    for entry in contents.entries:
        group, _, own = entry.path.rpartition("/")
        items = contents.texts.get(f"{entry.path.removesuffix('_values')}_items", ())
        if own.startswith("block") and items:
            kept.append(replace(entry, labels=items))
        elif own != "axis1" or f"{group}/block0_items" not in contents.texts:
            kept.append(entry)
        elif not np.array_equal(index := entry.read(0, entry.shape[0]), np.arange(len(index))):
            # an index that does more than count the rows
            kept.append(replace(entry, labels=("time",)))
            contents.notes.append(INDEX_IS_TIME)
    contents.entries[:] = kept


_LONGEST = 120


def _described(path: Path, problem: str) -> str:
    """Return the problem, with what the file is and its datasets in front."""
    import h5py

    found: list[str] = []
    with damage_reported(path, _WHAT), h5py.File(path, "r") as file:
        if {"time", "response"} <= set(file) and len(getattr(file["response"], "shape", ())) == 2:
            return f"is an ensemble of realizations, not a recording: give it to 'validate --model {path.name}'"

        def visit(_: str, node: Any) -> None:
            if isinstance(node, h5py.Dataset):
                size = " x ".join(map(str, node.shape or ())) or "one value"
                found.append(f"{node.name.strip('/')[-_LONGEST:]} ({size})")

        file.visititems(visit)
    listed = f"datasets {some(found)}" if found else "no dataset"
    return f"an HDF5 file of another program, with {listed}: {problem}"


def inspect_hdf5(path: Path, selection: Selection) -> Inspection:
    """Return the datasets of an HDF5 file as columns, and their roles as far as they are clear.

    Raises
    ------
    RecordingError : it is damaged, or holds no signals; one line.
    """
    try:
        found = inspect_tables(_tables(path), selection)
    except DamagedFileError:
        raise
    except RecordingError as problem:
        raise RecordingError(f"{path}: {_described(path, str(problem).removeprefix(f'{path}: '))}") from None
    return replace(found, problem=_described(path, found.problem)) if found.problem else found


FORMAT = Format("HDF5", ("*.h5", "*.hdf5", "*.hdf", "*.he5", "*.nxs"), is_hdf5, tables=_tables, inspect=inspect_hdf5)
