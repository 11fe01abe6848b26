"""Columns of any names, numbers and texts, written to a file of each format by its library or by plain code."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import h5py
import numpy as np
import scipy.io
from mcap.writer import Writer

from replay.formats import Recording
from tests.replay.known_motion import TIMES, command, measured
from tests.replay.written_formats import matlab_73

Columns = Mapping[str, "np.ndarray | Sequence[str]"]
MOTION = {"command": command(TIMES), "measured": measured(TIMES)}


def _rows(columns: Columns, mark: str = ".", form: str = "{:.12g}") -> Iterator[list[str]]:
    for row in zip(*columns.values(), strict=True):
        yield [v if isinstance(v, str) else form.format(v).replace(".", mark) for v in row]


def text(columns: Columns, by: str = ",", mark: str = ".", form: str = "{:.12g}") -> str:
    return "".join(by.join(row) + "\n" for row in (list(columns), *_rows(columns, mark, form)))


def _csv(path: Path, columns: Columns) -> None:
    path.write_text(text(columns, form="{:.18g}"))


def _json(path: Path, columns: Columns) -> None:
    path.write_text(json.dumps({k: v.tolist() if isinstance(v, np.ndarray) else list(v) for k, v in columns.items()}))


def _json_lines(path: Path, columns: Columns) -> None:
    values = [v.tolist() if isinstance(v, np.ndarray) else v for v in columns.values()]
    path.write_text(
        "".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in zip(*values, strict=True))
    )


def _npz(path: Path, columns: Columns) -> None:
    np.savez(path, **{k: np.asarray(v) for k, v in columns.items()})


def _mat(path: Path, columns: Columns) -> None:
    scipy.io.savemat(
        path, {k: v if isinstance(v, np.ndarray) else np.array(v, dtype=object) for k, v in columns.items()}
    )


def _mat73(path: Path, columns: Columns) -> None:
    matlab_73(path, {k: v[:, None] if isinstance(v, np.ndarray) else list(v) for k, v in columns.items()})


def _hdf5(path: Path, columns: Columns) -> None:
    with h5py.File(path, "w") as file:
        for name, values in columns.items():
            file[name] = values if isinstance(values, np.ndarray) else np.array(values, dtype=object)


def _parquet(path: Path, columns: Columns) -> None:
    import pandas as pd

    pd.DataFrame({name: pd.Series(values) for name, values in columns.items()}).to_parquet(path)


def _tdms(path: Path, columns: Columns) -> None:
    from nptdms import ChannelObject, TdmsWriter

    with TdmsWriter(path) as writer:
        writer.write_segment(
            [ChannelObject("g", k, v if isinstance(v, np.ndarray) else list(v)) for k, v in columns.items()]
        )


def mcap(path: Path, topics: dict[str, list[tuple[int, object]]], encoding: str = "json") -> Path:
    """Write messages by topic, each with its log time in ns; the topic /signals as Synchroscope exports it."""
    with path.open("wb") as file:
        writer = Writer(file)
        writer.start()
        for topic, messages in topics.items():
            about = {
                f"a.{key}": json.dumps({"name": name, "unit": "mm", "role": role, "actuator": "a"})
                for key, name, role in (("c", "sent", "command"), ("m", "came", "measured"))
                if topic == "/signals"
            }
            channel = writer.register_channel(topic, encoding, 0, about)
            for time, message in messages:
                writer.add_message(channel, time, json.dumps(message).encode(), time)
        writer.finish()
    return path


def _mcap(path: Path, columns: Columns) -> None:
    values = [v.tolist() if isinstance(v, np.ndarray) else v for v in columns.values()]
    messages = [
        (10**18 + k * 5_000_000, dict(zip(columns, row, strict=True)))
        for k, row in enumerate(zip(*values, strict=True))
    ]
    mcap(path, {"/rig": messages})


WRITERS: dict[str, tuple[str, Callable[[Path, Columns], None]]] = {
    "csv": (".csv", _csv),
    "json": (".json", _json),
    "json lines": (".jsonl", _json_lines),
    "npz": (".npz", _npz),
    "mat": (".mat", _mat),
    "mat 7.3": (".mat", _mat73),
    "hdf5": (".h5", _hdf5),
    "parquet": (".parquet", _parquet),
    "tdms": (".tdms", _tdms),
    "mcap": (".mcap", _mcap),
}
"""Name -> suffix of the file, and what writes columns into it."""


def write_columns(folder: Path, name: str, columns: Columns) -> Path:
    """Write columns in a format and return the file."""
    suffix, write = WRITERS[name]
    write(folder / f"run{suffix}", columns)
    return folder / f"run{suffix}"


def samples(recording: Recording) -> np.ndarray:
    """Return all samples of a recording, (n_samples, n_channels), read in blocks."""
    return np.concatenate([block.samples for block in recording.blocks(100)])
