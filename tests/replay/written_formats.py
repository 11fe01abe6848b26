"""One run, written to every format that is read, by the library of the format or by plain code."""

from __future__ import annotations

import json
import struct
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import h5py
import numpy as np
import scipy.io

RATE = 1000.0
N = 2400
NAMES = ("command_x", "measured_x", "force_x", "command_y", "measured_y", "force_y", "oil")
UNITS = ("mm", "mm", "kN", "mm", "mm", "kN", "")


def run_samples() -> np.ndarray:
    """Return two actuators that lag by 12 and 25 ms, and another column, (N, 7)."""
    t = np.arange(N) / RATE
    rng = np.random.default_rng(20)

    def motion(late: float) -> np.ndarray:
        return np.sin(2 * np.pi * 3.0 * (t - late)) + 0.3 * np.sin(2 * np.pi * 5.3 * (t - late) + 0.4)

    columns = []
    for delay, gain in ((0.012, 0.97), (0.025, 1.04)):
        measured = gain * motion(delay) + 1e-3 * rng.standard_normal(N)
        columns += [motion(0.0), measured, 3.0 * measured]
    return np.column_stack([*columns, 40.0 + 0.1 * t])


TIMES = np.arange(N) / RATE


def _csv(path: Path) -> None:
    head = ",".join(("time [s]", *(f"{n} [{u}]" if u else n for n, u in zip(NAMES, UNITS, strict=True))))
    np.savetxt(path, np.column_stack([TIMES, run_samples()]), "%.17g", ",", header=head, comments="")


def _variables() -> dict[str, np.ndarray]:
    return {"time": TIMES[:, None], **{n: v[:, None] for n, v in zip(NAMES, run_samples().T, strict=True)}}


def _mat5(path: Path) -> None:
    scipy.io.savemat(path, _variables())


def _mat5_packed(path: Path) -> None:
    matrix = {"rig": {"data": run_samples(), "names": np.array(NAMES, dtype=object), "fs": RATE}}
    scipy.io.savemat(path, matrix, do_compression=True)


def _mat4(path: Path) -> None:
    scipy.io.savemat(path, _variables(), format="4")


def _hdf5(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["time"] = TIMES
        for name, unit, values in zip(NAMES, UNITS, run_samples().T, strict=True):
            # as a logger spells them
            file[f"signals/{name}"] = values
            file[f"signals/{name}"].attrs["unit"] = {"mm": "millimeters", "kN": "kN"}.get(unit, "")


def _hdf5_checked(path: Path) -> None:
    rows = np.rec.fromarrays([TIMES, *run_samples().T], names=["t", *NAMES])
    with h5py.File(path, "w", libver="latest") as file:
        file.create_dataset("log/table", data=rows, chunks=(256,), fletcher32=True, compression="gzip")


def matlab_73(path: Path, variables: dict[str, object]) -> None:
    """Write as MATLAB's ``save -v7.3`` does: a user block, matrices by columns, cells by references.

    A dict is a struct, a list of dicts an array of structs, a list of texts a cell.
    """
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, value in variables.items():
            _matlab_variable(file, file, name, value)
    text = b"MATLAB 7.3 MAT-file, Platform: GLNXA64, Created on: Mon Mar  2 09:31:07 2026 HDF5 schema 1.00 ."
    with path.open("r+b") as raw:
        raw.write(text.ljust(116) + bytes(8) + b"\0\2IM")


def _matlab_variable(file: h5py.File, group: h5py.Group, name: str, value: object) -> h5py.Dataset | h5py.Group:
    if isinstance(value, dict):
        node = group.create_group(name)
        node.attrs["MATLAB_class"] = np.bytes_("struct")
        for inner, item in value.items():
            _matlab_variable(file, node, inner, item)
        return node
    if isinstance(value, list):
        structs = isinstance(value[0], dict)
        node = group.create_group(name) if structs else group
        for field in value[0] if structs else (name,):
            items = [item[field] if structs else item for item in value]
            hidden = file.require_group("#refs#")
            nodes = [_matlab_variable(file, hidden, f"r{len(hidden)}", item) for item in items]
            refs = np.array([[each.ref] for each in nodes], dtype=h5py.ref_dtype)
            made = node.create_dataset(field, data=refs)
            if not structs:
                made.attrs["MATLAB_class"] = np.bytes_("cell")
        return node
    kind = "char" if isinstance(value, str) else "double"
    stored = (
        np.array([list(map(ord, value))], dtype=np.uint16).T if isinstance(value, str) else np.atleast_2d(value).T
    )
    made = group.create_dataset(name, data=stored)
    made.attrs["MATLAB_class"] = np.bytes_(kind)
    return made


def _mat73(path: Path) -> None:
    matlab_73(path, {"data": run_samples(), "names": list(NAMES), "fs": RATE, "operator": "nn"})


def _npz(path: Path) -> None:
    np.savez(path, fs=RATE, **dict(zip(NAMES, run_samples().T, strict=True)))


def _npz_packed(path: Path) -> None:
    np.savez_compressed(path, time=TIMES, samples=run_samples(), columns=np.array(NAMES), operator=np.array("nn"))


def _npy(path: Path) -> None:
    np.save(path, np.rec.fromarrays([TIMES, *run_samples().T], names=["t", *NAMES]))


def _parquet(path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    fields = [pa.field("time", pa.float64(), metadata={"unit": "s"})]
    fields += [pa.field(n, pa.float64(), metadata={"unit": u}) for n, u in zip(NAMES, UNITS, strict=True)]
    table = pa.table([TIMES, *run_samples().T], schema=pa.schema(fields))
    parquet.write_table(table, path, row_group_size=500, write_page_checksum=True)


def _pandas_parquet(path: Path) -> None:
    import pandas as pd

    stamps = pd.date_range("2026-03-02T09:31:07.25", periods=N, freq="1ms", tz="Europe/Berlin")
    frame = pd.DataFrame(run_samples(), columns=list(NAMES), index=stamps)
    frame.index.name = "when"
    frame["operator"] = "nn"
    frame.to_parquet(path)


def _json_matrix(path: Path) -> None:
    columns = [{"name": n, "unit": u} for n, u in zip(NAMES, UNITS, strict=True)]
    path.write_text(json.dumps({"rig": "r", "sample_rate": RATE, "columns": columns, "data": run_samples().tolist()}))


def _json_columns(path: Path) -> None:
    columns = dict(zip(NAMES, run_samples().T.tolist(), strict=True))
    path.write_text(json.dumps({"time": TIMES.tolist(), **columns, "units": dict(zip(NAMES, UNITS, strict=True))}))


def _pandas_json(path: Path) -> None:
    import pandas as pd

    # pandas writes no more than 15 digits
    path.write_text(pd.DataFrame(run_samples(), TIMES, list(NAMES)).to_json(orient="split", double_precision=15))


def _json_lines(path: Path) -> None:
    rows = np.column_stack((TIMES, run_samples())).tolist()
    path.write_text("".join(f"{json.dumps(dict(zip(('time', *NAMES), row, strict=True)))}\n" for row in rows))


def _tdms(path: Path) -> None:
    from nptdms import ChannelObject, RootObject, TdmsWriter

    values = run_samples()
    with TdmsWriter(path) as writer:
        # in four segments, as a logger that flushes
        for begin in range(0, N, N // 4):
            part = slice(begin, begin + N // 4)
            channels = [
                ChannelObject("rig", n, values[part, k].copy(), {"unit_string": u, "wf_increment": 1.0 / RATE})
                for k, (n, u) in enumerate(zip(NAMES, UNITS, strict=True))
            ]
            writer.write_segment([RootObject({"operator": "nn"}), *channels])


def _mcap(path: Path) -> None:
    from mcap.writer import Writer

    with path.open("wb") as file:
        writer = Writer(file, chunk_size=1 << 14)
        writer.start()
        units = {n: {"type": "number", "unit": u} for n, u in zip(NAMES, UNITS, strict=True)}
        schema = {"type": "object", "properties": units}
        schema_id = writer.register_schema("signals", "jsonschema", json.dumps(schema).encode())
        channel = writer.register_channel("/rig", "json", schema_id)
        for k, row in enumerate(run_samples().tolist()):
            time = 1_772_443_867_000_000_000 + k * 1_000_000
            message = json.dumps(dict(zip(NAMES, row, strict=True))).encode()
            writer.add_message(channel, time, message, time)
        writer.finish()


def xdf_chunk(tag: int, content: bytes) -> bytes:
    """Return a chunk of XDF: its length, tag and content."""
    return b"\x04" + struct.pack("<IH", len(content) + 2, tag) + content


def xdf_stream(number: int, name: str, rate: float, channels: list[tuple[str, str]]) -> bytes:
    """Return the header of a stream of doubles."""
    labels = "".join(f"<channel><label>{n}</label><unit>{u}</unit></channel>" for n, u in channels)
    about = f"<name>{name}</name><type>rig</type><channel_count>{len(channels)}</channel_count>"
    about += f"<nominal_srate>{rate:g}</nominal_srate><channel_format>double64</channel_format>"
    text = f"<?xml version='1.0'?><info>{about}<desc><channels>{labels}</channels></desc></info>"
    return xdf_chunk(2, struct.pack("<I", number) + text.encode())


def xdf_samples(number: int, times: np.ndarray, values: np.ndarray) -> bytes:
    """Return a chunk of samples, each with its time stamp."""
    rows = np.empty(len(times), dtype=[("size", "u1"), ("time", "<f8"), ("values", "<f8", (values.shape[1],))])
    rows["size"], rows["time"], rows["values"] = 8, times, values
    return xdf_chunk(3, struct.pack("<IBI", number, 4, len(times)) + rows.tobytes())


def xdf_footer(number: int, count: int) -> bytes:
    """Return the footer of a stream."""
    text = f"<?xml version='1.0'?><info><sample_count>{count}</sample_count></info>"
    return xdf_chunk(6, struct.pack("<I", number) + text.encode())


def _xdf(path: Path) -> None:
    header = b"XDF:" + xdf_chunk(1, b"<?xml version='1.0'?><info><version>1.0</version></info>")
    values, times = run_samples(), 5000.0 + TIMES
    parts = [header, xdf_stream(1, "rig", RATE, list(zip(NAMES, UNITS, strict=True)))]
    parts += [xdf_samples(1, times[k : k + 50], values[k : k + 50]) for k in range(0, N, 50)]
    path.write_bytes(b"".join([*parts, xdf_footer(1, N)]))


def uff_sets(values: np.ndarray, *, binary: bool, rate: float, start: float = 0.0) -> list[dict[str, object]]:
    """Return functions of time as pyuff writes them, one a column of `values`, (n, 7)."""
    x = start + np.arange(len(values)) / rate
    return [
        {
            "type": 58,
            "func_type": 1,
            "rsp_node": number + 1,
            "rsp_dir": 3,
            "ref_node": 0,
            "ref_dir": 0,
            "data": column,
            "x": x,
            "id1": name,
            "binary": int(binary),
            "abscissa_spacing": 1,
            "abscissa_spec_data_type": 17,
            "abscissa_axis_units_lab": "s",
            "ordinate_spec_data_type": 8,
            "ordinate_axis_units_lab": unit or "NONE",
            "orddenom_spec_data_type": 0,
        }
        for number, (name, unit, column) in enumerate(zip(NAMES, UNITS, values.T, strict=False))
    ]


def uff(path: Path, sets: list[dict[str, object]]) -> Path:
    """Write by pyuff, which leaves files open and, with mode "overwrite", writes binary sets without their header."""
    import pyuff

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        pyuff.UFF(str(path)).write_sets(sets, mode="add")
    return path


def _uff(path: Path, *, binary: bool = False) -> None:
    uff(path, uff_sets(run_samples(), binary=binary, rate=RATE))


def _mdf(path: Path, version: str = "4.10", compression: int = 0) -> None:
    from asammdf import MDF, Signal

    columns = zip(NAMES, UNITS, run_samples().T, strict=True)
    with MDF(version=version) as file:
        file.append([Signal(v, TIMES, name=n, unit=u) for n, u, v in columns], common_timebase=True)
        file.save(path, overwrite=True, compression=compression)


WRITERS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "csv": (".csv", _csv),
    "mat-5": (".mat", _mat5),
    "mat-5-packed": (".mat", _mat5_packed),
    "mat-4": (".mat", _mat4),
    "mat-7.3": (".mat", _mat73),
    "hdf5": (".h5", _hdf5),
    "hdf5-checked": (".hdf5", _hdf5_checked),
    "npz": (".npz", _npz),
    "npz-packed": (".npz", _npz_packed),
    "npy": (".npy", _npy),
    "parquet": (".parquet", _parquet),
    "parquet-pandas": (".parquet", _pandas_parquet),
    "json-matrix": (".json", _json_matrix),
    "json-columns": (".json", _json_columns),
    "json-pandas": (".json", _pandas_json),
    "json-lines": (".jsonl", _json_lines),
    "tdms": (".tdms", _tdms),
    "mcap": (".mcap", _mcap),
    "xdf": (".xdf", _xdf),
    "mdf-4": (".mf4", _mdf),
    "mdf-4-packed": (".mf4", partial(_mdf, compression=2)),
    "mdf-3": (".mdf", partial(_mdf, version="3.30")),
    "uff": (".uff", _uff),
    "uff-binary": (".uff", partial(_uff, binary=True)),
}
"""Name -> suffix of the file, and what writes it."""
CHECKSUMMED = frozenset(("mat-5-packed", "hdf5-checked", "npz-packed", "mcap"))
"""Those in which every byte of the samples has a checksum."""
ROUNDED = {"json-pandas": 1e-14, "uff": 1e-11}
"""Those that round: the largest error of a sample, relative to the largest sample."""


def written(folder: Path, name: str) -> Path:
    """Write the run in a format and return the file."""
    suffix, writer = WRITERS[name]
    path = folder / f"run{suffix}"
    writer(path)
    return path
