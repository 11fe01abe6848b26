"""Run files as a bad disk, a cut copy or a stranger would leave them: seeded, thousands in a minute."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from monitor.messages.blocks import (
    Channel,
    Column,
    Event,
    EventKind,
    ResultBlock,
    ResultStream,
    Role,
    SignalBlock,
    Stream,
)
from monitor.recording.queues import Backlog, NoteQueue
from monitor.recording.run_files import RunFiles

RATE = 200.0
_CHANNELS = (
    Channel("c", Role.COMMAND, "mm", "a"),
    Channel("m", Role.MEASURED, "mm", "a"),
    Channel("t", Role.AUXILIARY),
)
_COLUMNS = (Column("paei_delay", "s", "a"), Column("fdb_phase", "rad", "a"))
_BLOCK = 100
_DATASETS = (
    *(f"{group}/{name}" for group in ("signals", "results") for name in ("time", "epoch", "index")),
    *("signals/samples", "results/values", "events", "settings", "outcome", "channels", "result_columns"),
)


def write_run(path: Path, blocks: int = 12, restart: int = 6) -> Path:
    """Record a run of some flushes with a gap and a restart, results and events."""
    files = RunFiles(path, b'{"indicators":{"window":1.0}}', Backlog(), NoteQueue())
    for number in range(blocks):
        epoch = 5 + (number >= restart)
        stream = Stream("rig", epoch, RATE, _CHANNELS)
        index = _BLOCK * (number % restart + (number > 2))
        angle = 0.1 * (index + np.arange(_BLOCK))
        samples = np.column_stack((np.sin(angle), 0.9 * np.sin(angle - 0.05), angle))
        files.add(SignalBlock(stream, index, index / RATE, samples, last=number == blocks - 1))
        results = ResultStream("rig", epoch, RATE, 10, _COLUMNS)
        files.add(ResultBlock(results, index, index / RATE, samples[::10, :2]))
        files.add(Event(EventKind.NOTE, index / RATE, index, 0, f"block {number}"))
        files.commit()
    files.close()
    return path


_NUMBERS = [n.to_bytes(8, "little") for n in (0, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**62, 2**63, 2**64 - 1, 10**9)]


def damaged_bytes(whole: bytes, chance: random.Random) -> bytes:
    """Return the file as a bad disk or a broken copy leaves it."""
    data = bytearray(whole)
    kind = chance.choice(
        ("flip", "flip", "flip", "byte", "zeros", "ones", "noise", "cut", "insert", "swap", "killed", "number")
    )
    # what HDF5 keeps for itself is small and stands where the file begins, or between the columns
    at = chance.choice((chance.randrange(len(data)), chance.randrange(min(len(data), 1 << 13))))
    length = min(chance.choice((1, 8, 64, 512, 4096)), len(data) - at)
    match kind:
        case "flip":
            for _ in range(chance.choice((1, 1, 1, 10))):
                data[chance.choice((at, chance.randrange(len(data))))] ^= 1 << chance.randrange(8)
        case "byte":
            data[at] = chance.randrange(256)
        case "zeros" | "ones":
            data[at : at + length] = (b"\0" if kind == "zeros" else b"\xff") * length
        case "noise":
            data[at : at + length] = chance.randbytes(length)
        case "cut":
            del data[at:]
        case "insert":
            data[at:at] = chance.randbytes(length)
        case "swap":
            other = chance.randrange(len(data) - length + 1)
            data[at : at + length] = data[other : other + length]
        case "number":
            data[at : at + length] = chance.choice(_NUMBERS)[: max(1, min(8, length))]
        case "killed":
            data[11] |= 5
            if chance.random() < 0.3:
                data[28:36] = chance.choice(_NUMBERS)
            data[at] ^= 1 << chance.randrange(8)
    return bytes(data)


def _other_values(chance: random.Random) -> Any:
    """Return what no run file holds there."""
    huge = 2 ** chance.randrange(16, 63)
    return chance.choice(
        (
            *(
                0,
                -1,
                huge,
                -huge,
                1e308,
                1e-308,
                float("nan"),
                float("inf"),
                "text",
                b"",
                "\x1b[31mred",
                h5py.Empty("f8"),
            ),
            *(np.zeros((2, 2)), np.zeros(0), np.arange(40), np.full(7, np.nan), np.array(["a", "b"], dtype="S1")),
            *(
                np.zeros(3, dtype=[("name", "S4"), ("x", "<f4")]),
                np.zeros(3, dtype=[("time", "<f8")]),
                np.bool_(True),
            ),
            *(np.full(1300, huge), np.full((1300, 3), -0.0), np.full(1300, 2**63 - 1), np.full((1300, 3), 1e308)),
        )
    )


def _replace(file: h5py.File, chance: random.Random) -> None:
    name = chance.choice([n for n in _DATASETS if n in file])
    del file[name]
    file[name] = _other_values(chance)


def _delete(file: h5py.File, chance: random.Random) -> None:
    name = chance.choice([n for n in (*_DATASETS, "signals", "results") if n in file])
    del file[name]


def _attribute(file: h5py.File, chance: random.Random) -> None:
    name = chance.choice(list(file.attrs))
    del file.attrs[name]
    if chance.random() < 0.8:
        file.attrs[name] = _other_values(chance)


def _values(file: h5py.File, chance: random.Random) -> None:
    """Write numbers that are no numbers, or too large, into the rows."""
    data = file[chance.choice([n for n in _DATASETS[:8] if isinstance(file.get(n), h5py.Dataset)])]
    if not data.size:
        return
    start = chance.randrange(len(data))
    whole = data.dtype.kind == "i"
    data[start : start + chance.choice((1, 5, 2000))] = (
        chance.choice((-1, 0, -(2**63), 2**63 - 1, 2**62, 7))
        if whole
        else chance.choice((np.nan, np.inf, -1e308, 1e300))
    )


def _text(file: h5py.File, chance: random.Random) -> None:
    """Put bytes that are no text, or steer a terminal, into the tables of texts."""
    data = file[chance.choice(("channels", "events", "result_columns"))]
    rows = data[:100]
    field = chance.choice([n for n in rows.dtype.names if rows.dtype[n].kind == "S"])
    rows[field][chance.randrange(len(rows))] = chance.choice(
        (b"", b"\xff\xfe", b"\x1b[2J", b"command", b"c", b"\n\r")
    )
    data[: len(rows)] = rows


def _settings(file: h5py.File, chance: random.Random) -> None:
    """Write settings that are JSON, and none that anybody has."""
    value = chance.choice(
        (b"9" * 400, b"1e300", b"1e-300", b"-1", b"true", b"null", b'"x"', b"[" * 100_000 + b"]" * 100_000)
    )
    name = chance.choice((b"window", b"relative_gate", b"every", b"band", b"measures"))
    del file["settings"]
    file["settings"] = np.bytes_(b'{"indicators":{"%b":%b}}' % (name, value))


def _group(file: h5py.File, chance: random.Random) -> None:
    name = chance.choice([n for n in _DATASETS if n in file])
    del file[name]
    file.create_group(name)


def _link(file: h5py.File, chance: random.Random) -> None:
    name = chance.choice([n for n in (*_DATASETS, "signals", "results") if n in file])
    del file[name]
    file[name] = chance.choice(
        (h5py.SoftLink("/"), h5py.SoftLink("/nothing"), h5py.ExternalLink("/etc/passwd", "/x"))
    )


def _shape(file: h5py.File, chance: random.Random) -> None:
    """Claim rows that nobody wrote."""
    data = file[chance.choice([n for n in _DATASETS[:9] if isinstance(file.get(n), h5py.Dataset)])]
    if data.maxshape and data.maxshape[0] is None:
        data.resize(chance.choice((0, 1, 700, 10_000, 10**7, 10**15)), axis=0)


def _vast(file: h5py.File, chance: random.Random) -> None:
    """Claim more than any memory holds."""
    name = chance.choice([n for n in _DATASETS if n in file])
    kind = file[name].dtype if isinstance(file[name], h5py.Dataset) else np.dtype("f8")
    del file[name]
    shape = (10**10, 3) if name.endswith(("samples", "values")) else (10**10,)
    file.create_dataset(name, shape, kind, chunks=chance.choice((None, True)))


def _widen(file: h5py.File, chance: random.Random) -> None:
    name = chance.choice(("signals/samples", "results/values"))
    # an earlier change may have made it a list
    if isinstance(file.get(name), h5py.Dataset) and file[name].ndim == 2:
        rows = file[name][:2000]
        del file[name]
        file[name] = rows[:, : chance.choice((0, 1))] if chance.random() < 0.5 else np.hstack([rows, rows])


_STRUCTURE: tuple[Callable[[h5py.File, random.Random], None], ...] = (
    *(_replace, _replace, _delete, _attribute, _attribute, _values, _values),
    *(_text, _settings, _group, _link, _shape, _vast, _widen),
)


def damage_structure(path: Path, chance: random.Random) -> str:
    """Change the file `path` as somebody with an HDF5 library could; return what was done."""
    done = []
    with h5py.File(path, "r+") as file:
        for _ in range(chance.choice((1, 1, 2))):
            change = chance.choice(_STRUCTURE)
            done.append(change.__name__)
            try:
                change(file, chance)
            except (KeyError, ValueError, TypeError, OSError, AttributeError, RuntimeError):
                continue  # an earlier change has taken away what this one is about
    return " ".join(done)
