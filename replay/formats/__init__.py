"""Files -> recordings, whatever their format."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path

from monitor.system.files import check_regular
from monitor.system.safe_text import printable
from replay.formats import (
    hdf5,
    json_table,
    lvm,
    mat,
    mat73,
    mcap_log,
    mdf,
    numpy_arrays,
    openfresco,
    opensees_xml,
    parquet,
    run_file,
    seismic,
    tdms,
    text,
    universal,
    xdf,
)
from replay.formats.base import Format, Inspection, Recording, RecordingError, Selection
from replay.formats.choice import inspect_tables
from replay.formats.layout import HEAD
from replay.formats.recordings import ArrayRecording, with_notes
from replay.formats.sidecar import SUFFIX, remember, with_remembered
from replay.formats.signal_table import SignalTable
from replay.formats.strong_motion import network_of

__all__ = [
    "ArrayRecording",
    "Format",
    "Inspection",
    "Recording",
    "RecordingError",
    "Selection",
    "file_kinds",
    "inspect_recording",
    "may_be_recording",
    "naming_file",
    "open_recording",
    "read_tables",
]

# asked in this order: a MAT file of version 7.3 is HDF5, a run file too, and any text is a table
_FORMATS = (
    *(mat73.FORMAT, hdf5.FORMAT, run_file.FORMAT, mat.FORMAT),
    *(tdms.FORMAT, numpy_arrays.FORMAT, parquet.FORMAT, mcap_log.FORMAT, xdf.FORMAT, mdf.FORMAT),
    *(universal.FORMAT, seismic.FORMAT),
    *(json_table.FORMAT, lvm.FORMAT, opensees_xml.FORMAT, openfresco.FORMAT, text.FORMAT),
)
_LISTED = sorted(_FORMATS, key=lambda known: known is not run_file.FORMAT)  # the others in their order
_HEAD = 4096
_GROUND_MOTION = re.compile(rb"\bNPTS\s*=\s*\d+[\s,]+DT\s*=", re.IGNORECASE)
_EVERYTHING = Selection()


def file_kinds() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the name of each format that can be read, and the usual patterns of its files' names."""
    return tuple((known.name, known.patterns) for known in _LISTED)


def open_recording(path: str | Path, selection: Selection = _EVERYTHING) -> Recording:
    """Return the recording in the file `path`.

    Raises
    ------
    RecordingError : the file cannot be read, or is nothing that this program understands; one line.
    """
    found = inspect_recording(path, selection)[1]
    if found.recording is None:
        raise RecordingError(f"{path}: {found.problem}")
    return found.recording


def inspect_recording(
    path: str | Path, selection: Selection = _EVERYTHING, *, coarse: bool = False
) -> tuple[Format, Inspection]:
    """Return the format of the file `path` and what is in it, also where its columns must still be chosen.

    With `coarse`, of a long file only some rows are read, where these tell what all would.

    Raises
    ------
    RecordingError : the file cannot be read, or is nothing that this program understands; one line.
    """
    path = Path(path)
    with naming_file(path):
        merged, note = with_remembered(path, selection)
        known = _format_of(path, merged)
        found = known.coarse(path, merged) if coarse and known.coarse is not None else None
        if known.open is not None:
            if found is None:
                recording = known.open(path, selection)
                found = Inspection((), recording.n_samples, None, recording)
            return known, found
        if found is None:
            found = known.inspect(path, merged) if known.inspect else inspect_tables(_tables_of(known, path), merged)
        notes = [note] if note else []
        if selection.remember and found.recording is not None:
            if found.selection is None:
                raise RecordingError(f"{path}: --remember: the file's columns are not chosen")
            notes.append(remember(path, found.selection))
        found = replace(found, problem=printable(found.problem), remembered=bool(note))
        return known, replace(found, recording=with_notes(found.recording, notes))


def read_tables(path: str | Path) -> Sequence[SignalTable]:
    """Return the tables of columns in a file of any format but a run file, also where none is an actuator's.

    Raises
    ------
    RecordingError : the file cannot be read, or is nothing that this program understands; one line.
    """
    path = Path(path)
    with naming_file(path):
        known = _format_of(path, _EVERYTHING)
        return _tables_of(known, path)


def _tables_of(known: Format, path: Path) -> Sequence[SignalTable]:
    if known.tables is None:
        raise RecordingError(f"{path}: is a {known.name}, and here no recording is read")
    return known.tables(path)


@contextmanager
def naming_file(path: Path) -> Iterator[None]:
    """Name the file in an error of the system while a recording is read; names in a file stay on one line.

    Raises
    ------
    RecordingError : also instead of an OSError; one line.
    """
    try:
        yield
    except RecordingError as problem:
        raise type(problem)(printable(str(problem))) from problem.__cause__
    except OSError as problem:
        failed = problem.filename if isinstance(problem.filename, str) else path
        # HDF5 has line breaks in its messages
        reason = " ".join((problem.strerror or str(problem)).split())
        raise RecordingError(f"{failed}: {reason.lower()}") from problem


def may_be_recording(path: Path) -> bool:
    """Whether a regular file may be a recording: by its name or its first bytes.

    A name that files of other programs have too does not suffice, nor do the first bytes of a text without one.
    """
    if path.name.endswith(SUFFIX):
        return False
    if any(_is_named(path, set(known.patterns) - set(known.shared)) for known in _FORMATS):
        return True
    with path.open("rb") as file:
        head = file.read(_HEAD)
        if _begins_as_recording(path, head):
            return True
        # below a long header
        return any(_is_named(path, known.shared) for known in _FORMATS) and _begins_as_recording(
            path, head + file.read(HEAD - _HEAD)
        )


def _begins_as_recording(path: Path, head: bytes) -> bool:
    return any(
        known.accepts(path, head, _EVERYTHING) and (known.begins is None or known.begins(head))
        for known in _FORMATS
        if known is not text.FORMAT or _is_named(path, known.shared)
    )


def _is_named(path: Path, patterns: Iterable[str]) -> bool:
    return any(fnmatch(path.name.lower(), pattern) for pattern in patterns)


def _format_of(path: Path, selection: Selection) -> Format:
    check_regular(path)
    if path.name.endswith(SUFFIX):
        raise RecordingError(
            f"{path}: columns that are remembered for a recording: open {path.name.removesuffix(SUFFIX)}"
        )
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if not head:
        raise RecordingError(f"{path}: the file is empty")
    network = "AT2" if path.suffix.lower() == ".at2" or _GROUND_MOTION.search(head) else network_of(head)
    if network:
        raise RecordingError(
            f"{path}: a ground motion ({network}), not the record of a test: it has no command and no measured "
            "signal; 'study loop --motion FILE' uses it"
        )
    # a text, and a file in MATLAB's name alone, may be of another program
    foreign = foreign_kind(path, head)
    for known in _FORMATS:
        if known.accepts(path, head, selection) and not (
            foreign and known in (text.FORMAT, mat.FORMAT, json_table.FORMAT)
        ):
            return known
    if foreign:
        raise RecordingError(f"{path}: {foreign}")
    kinds = ", ".join(known.name for known in _LISTED)
    raise RecordingError(f"{path}: not a recording; this program reads {kinds}: export other files as CSV")


_BY_OCTAVE = "load it there, then 'save -hdf5' or 'save -v7' it"
# what a file is and what to do, by its first bytes
_FIRST_BYTES: dict[bytes | tuple[bytes, ...], str] = {
    b"version https://git-lfs": "a pointer of Git LFS, not the file: 'git lfs pull' in its repository fetches it",
    b"Octave-1-": f"a binary file of GNU Octave: {_BY_OCTAVE}",
    b"|CF,": "an imc FAMOS file: imc FAMOS exports it as MAT or CSV, or the package imctermite as CSV",
    b"SQLite format 3": "an SQLite database: export its table as CSV",
    (b"CDF\x01", b"CDF\x02"): "a netCDF 3 file: 'nccopy -k nc4 FILE OUT.h5' makes one of HDF5, which is read",
    b"\x0e\x03\x13\x01": "an HDF4 file: 'h4toh5 FILE' makes one of HDF5, which is read",
    b"ARROW1": "an Arrow or Feather file: 'pyarrow.feather.read_table(FILE)', then 'pyarrow.parquet.write_table'",
    b"#ROSBAG": "a ROS 1 bag: 'mcap convert FILE OUT.mcap', then JSON messages, or export its topics as CSV",
    b"ULog\x01": "a PX4 log: 'ulog2csv FILE' of pyulog makes CSV files",
    b"RIFF": "a sound or video file: read its samples with a program for sound and save them as CSV or npz",
    (b"fLaC", b"OggS"): "a sound file: read its samples with a program for sound and save them as CSV or npz",
    b"ID3": "a sound file, and one that loses what is measured: record with another format",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an old Office file, such as a workbook of Excel: save its sheet as CSV",
    (b"\x80\x03", b"\x80\x04\x95", b"\x80\x05\x95"): "a Python pickle, code that is not read: save as npz or Parquet",
    b"\x1f\x8b": "compressed by gzip: 'gunzip FILE' unpacks it",
    b"BZh": "compressed by bzip2: 'bunzip2 FILE' unpacks it",
    b"\xfd7zXZ": "compressed by xz: 'unxz FILE' unpacks it",
    b"\x28\xb5\x2f\xfd": "compressed by zstd: 'unzstd FILE' unpacks it",
    b"7z\xbc\xaf": "an archive of 7-Zip: unpack it",
    b"%PDF": "a PDF document: ask for the numbers as CSV",
    (b"\x89PNG", b"\xff\xd8\xff"): "a picture: ask for the numbers as CSV",
    (b"<!DOCTYPE", b"<!doctype", b"<html", b"<HTML"): "a page of the web, perhaps of a download with a login",
}
_NAMES: dict[str, str] = {
    ".dxd": "a DEWESoft file: export it from DEWESoft as MAT, HDF5 or CSV, or by the package dwdatareader",
    ".d7d": "a DEWESoft file: export it from DEWESoft as MAT, HDF5 or CSV, or by the package dwdatareader",
    ".tdm": "the header of a LabVIEW TDM file: save it as TDMS, which is read",
    ".wfm": "the waveform of an oscilloscope: save it there as CSV",
    ".rsp": "an RPC III file of MTS: export it as CSV or MAT",
    ".xlsx": "a workbook of Excel: save its sheet as CSV",
}
_CATMAN = (
    "perhaps a binary file of catman: export it there as MAT, or as ASCII with channel information, or by apread"
)
_XLSX = (b"xl/", b"[Content_Types].xml")


def foreign_kind(path: Path, head: bytes) -> str:
    """Return what a file of another program is and what to do with it, from its first bytes or name; else nothing."""
    known = next((text for first, text in _FIRST_BYTES.items() if head.startswith(first)), "")
    if known:
        return known
    # a single matrix is a table; several follow each other as one column
    if head.startswith(b"# Created by Octave") and path.read_bytes().count(b"\n# name:") > 1:
        return f"a text file of GNU Octave with several variables: {_BY_OCTAVE}"
    if head.startswith(b"PK\x03\x04") and any(part in head for part in _XLSX):
        return _NAMES[".xlsx"]
    if head.startswith(b"PK\x03\x04"):
        return "an archive, ZIP: unpack it and open a file of it"
    if path.suffix.lower() in _NAMES:
        return _NAMES[path.suffix.lower()]
    return _CATMAN if path.suffix.lower() == ".bin" and b"\0" in head else ""
