"""Files of other programs that are not read: what they are, and what converts them."""

from __future__ import annotations

from pathlib import Path

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
