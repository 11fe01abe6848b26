"""Small files that become large, deep or long where a reader believes what they say."""

from __future__ import annotations

import gzip
import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import scipy.io

from tests.replay.written_formats import xdf_chunk, xdf_stream

_NAMES = ("time", "command", "measured")
_XML = '<?xml version="1.0"?>\n<OpenSees>\n'
_XML_END = "\n<Data>\n0 1 2\n1 2 3\n2 3 4\n</Data>\n</OpenSees>\n"
_XDF = b"XDF:" + xdf_chunk(1, b"<?xml version='1.0'?><info><version>1.0</version></info>")


def _npy(shape: tuple[int, ...]) -> bytes:
    head = repr({"descr": "<f8", "fortran_order": False, "shape": shape}).encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head


def _npz(path: Path, size: int) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("time.npy", "w") as member:
        member.write(_npy((size // 8,)))
        for _ in range(size >> 20):
            member.write(bytes(1 << 20))


def _npz_claim(path: Path, size: int) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name in _NAMES:
            archive.writestr(f"{name}.npy", _npy((size << 10,)) + bytes(800))


def _npy_claim(path: Path, size: int) -> None:
    path.write_bytes(_npy((size << 10, 3)) + bytes(800))


def _mat(path: Path, size: int) -> None:
    scipy.io.savemat(path, {"time": np.zeros(size // 8)}, do_compression=True)


def _mat_claim(path: Path, size: int) -> None:
    scipy.io.savemat(path, {"name": "x"}, do_compression=False)
    whole = bytearray(path.read_bytes())
    # the sizes of the array, 1 x 1, and no characters
    at = whole.index(struct.pack("<ii", 1, 1), 128)
    whole[at : at + 8] = struct.pack("<ii", 1 << 15, size >> 15)
    at = whole.index(b"\x04\x00\x01\x00x") if b"\x04\x00\x01\x00x" in whole else len(whole) - 8
    whole[at : at + 8] = struct.pack("<II", 16, 0)
    path.write_bytes(whole)


def _mat_deep(path: Path, size: int) -> None:
    content = b""
    for _ in range(20_000):
        head = struct.pack("<IIIIIIii", 6, 8, 1, 0, 5, 8, 1, 1) + struct.pack("<II", 1, 0)
        content = struct.pack("<II", 14, len(head) + len(content)) + head + content
    path.write_bytes(b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + content)


def _hdf5_chunk(path: Path, size: int) -> None:
    with h5py.File(path, "w") as file:
        for name in _NAMES:
            file.create_dataset(name, (size // 8,), "<f8", chunks=(size // 8,), compression="gzip")[:1] = 0.0


def _hdf5_claim(path: Path, size: int) -> None:
    with h5py.File(path, "w") as file:
        for name in _NAMES:
            file.create_dataset(name, (size << 10,), "<f8", chunks=(1 << 10,))


def _hdf5_texts(path: Path, size: int) -> None:
    with h5py.File(path, "w") as file:
        file.create_dataset("time", (100,), f"S{size // 50}", chunks=(1,), compression="gzip")[:1] = (
            b"2026-01-01T00:00:00"
        )
        file["command"] = np.arange(100.0)


def _mat73_text(path: Path, size: int) -> None:
    with h5py.File(path, "w", userblock_size=512) as file:
        text = file.create_dataset("names", (size, 1), "<u2", chunks=(1 << 10, 1))
        text.attrs["MATLAB_class"] = np.bytes_("char")
    whole = path.read_bytes()
    path.write_bytes(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + whole[128:])


def _parquet(path: Path, size: int) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    zeros = np.zeros(size // 8)
    table = pa.table(dict.fromkeys(_NAMES, zeros))
    parquet.write_table(table, path, compression="zstd", row_group_size=len(zeros))


def _parquet_text(path: Path, size: int) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table({"time": ["x" * size, "y"], "command": [1.0, 2.0]})
    parquet.write_table(table, path, compression="zstd")


def _mcap(path: Path, size: int) -> None:
    from mcap.writer import CompressionType, Writer

    with path.open("wb") as file:
        writer = Writer(file, chunk_size=2 * size, compression=CompressionType.ZSTD)
        writer.start()
        channel = writer.register_channel("/rig", "json", writer.register_schema("s", "jsonschema", b"{}"))
        for number in range(4):
            writer.add_message(channel, number, b'{"command":1}'.ljust(size // 4), number)
        writer.finish()


def _mcap_empties(path: Path, size: int) -> None:
    from mcap.writer import Writer

    with path.open("wb") as file:
        writer = Writer(file)
        writer.start()
        channel = writer.register_channel("/rig", "json", writer.register_schema("s", "jsonschema", b"{}"))
        writer.add_message(channel, 0, b"[" + b"[]," * (size // 50) + b"[]]", 0)
        writer.finish()


def _mcap_lie(path: Path, size: int) -> None:
    _mcap(path, size)
    whole = bytearray(path.read_bytes())
    at = whole.index(b"zstd") - 4 - 4 - 8
    assert struct.unpack_from("<Q", whole, at)[0] > size // 2
    struct.pack_into("<Q", whole, at, 100)
    path.write_bytes(whole)


def _xdf_packed(path: Path, size: int) -> None:
    with gzip.open(path, "wb") as file:
        file.write(_XDF)
        chunk = xdf_chunk(5, bytes(1 << 20))
        for _ in range(size >> 20):
            file.write(chunk)


def _xdf_samples(path: Path, size: int) -> None:
    head = xdf_stream(1, "r", 100.0, [("a", ""), ("b", "")]).replace(b"double64", b"string\0\0"[:6] + b"  ")
    path.write_bytes(_XDF + head + xdf_chunk(3, struct.pack("<IBI", 1, 4, size)))


def _xdf_entities(path: Path, size: int) -> None:
    entities = "".join(f'<!ENTITY {chr(98 + k)} "{f"&{chr(97 + k)};" * 10}">' for k in range(9))
    text = f"<?xml version='1.0'?><!DOCTYPE l [<!ENTITY a '{'l' * 1000}'>{entities}]><info><name>&j;</name></info>"
    path.write_bytes(_XDF + xdf_chunk(2, struct.pack("<I", 1) + text.encode()))


def _xdf_deep(path: Path, size: int) -> None:
    text = "<info>" + "<a>" * 100_000 + "</a>" * 100_000 + "</info>"
    path.write_bytes(_XDF + xdf_chunk(2, struct.pack("<I", 1) + text.encode()))


def _text(text: str) -> Callable[[Path, int], object]:
    return lambda path, _: path.write_text(text)


BOMBS: dict[str, tuple[str, Callable[[Path, int], object]]] = {
    "npz": (".npz", _npz),
    "npz-claim": (".npz", _npz_claim),
    "npy-claim": (".npy", _npy_claim),
    "mat": (".mat", _mat),
    "mat-claim": (".mat", _mat_claim),
    "mat-deep": (".mat", _mat_deep),
    "mat-7.3-text": (".mat", _mat73_text),
    "hdf5-chunk": (".h5", _hdf5_chunk),
    "hdf5-claim": (".h5", _hdf5_claim),
    "hdf5-texts": (".h5", _hdf5_texts),
    "parquet": (".parquet", _parquet),
    "parquet-text": (".parquet", _parquet_text),
    "mcap": (".mcap", _mcap),
    "mcap-empties": (".mcap", _mcap_empties),
    "mcap-lie": (".mcap", _mcap_lie),
    "xdf-packed": (".xdfz", _xdf_packed),
    "xdf-samples": (".xdf", _xdf_samples),
    "xdf-entities": (".xdf", _xdf_entities),
    "xdf-deep": (".xdf", _xdf_deep),
    "json-deep": (".json", _text("[" * 200_000 + "]" * 200_000)),
    "json-objects": (".json", _text('{"a":' * 100_000 + "1" + "}" * 100_000)),
    "json-number": (".json", _text(f'{{"time":[{"9" * 5000}],"command":[1],"measured":[1]}}')),
    "json-float": (".json", _text(json.dumps({"time": [0, 1], "command": [10**400, 1], "measured": [1, 1]}))),
    "jsonl-deep": (".jsonl", _text('{"a":1}\n' + "[" * 100_000 + "]" * 100_000 + "\n")),
    "json-empties": (".json", lambda path, size: path.write_text("[" + "[]," * (size // 40) + "[]]")),
    "xml-deep": (
        ".xml",
        _text(_XML + "<NodeOutput>" * 1000 + "<ResponseType>D</ResponseType>" + "</NodeOutput>" * 1000 + _XML_END),
    ),
    "xml-entities": (".xml", _text(f'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "x">]><OpenSees>&a;{_XML_END}')),
    "csv-line": (".csv", lambda path, size: path.write_text("time,command,measured\n" + "1" * size)),
}
"""Name -> suffix of the file, and what writes it so that it would need so many bytes."""


def written_bomb(folder: Path, name: str, size: int) -> Path:
    """Write a bomb of `size` bytes and return the file."""
    suffix, write = BOMBS[name]
    path = folder / f"{name}{suffix}"
    write(path, size)
    return path
