"""The table of the documentation: each kind of fault in each format is read, noted, or refused with a way out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from replay.formats import Recording, RecordingError, Selection, open_recording
from tests.replay import column_files
from tests.replay import test_laboratory_files as files
from tests.replay import test_own_times as own_times
from tests.replay.column_files import MOTION, mcap
from tests.replay.known_motion import RATE, TIMES, N, check_delay, measured
from tests.replay.test_formats_of_fields import seismic
from tests.replay.written_formats import uff, uff_sets, xdf_chunk, xdf_footer, xdf_samples, xdf_stream

PAGE = Path(__file__).parents[2] / "docs" / "formats.md"
Columns = dict[str, "np.ndarray | list[str]"]


def _mdf(path: Path, columns: Columns, *, late: float = 0.0) -> None:
    from asammdf import MDF, Signal

    with MDF() as file:
        signals = []
        for name, values in columns.items():
            times = TIMES + (late if name == "measured" else 0.0)
            texts = not isinstance(values, np.ndarray)
            cells = np.array([str(each).encode() for each in values]) if texts else values
            signals.append(Signal(cells, times, name=name, encoding="utf-8" if texts else None))
        for part in (signals[:-1], signals[-1:]) if late else (signals,):
            file.append(part, common_timebase=True)
        file.save(path)


def _uff(path: Path, columns: Columns, *, late: float = 0.0) -> None:
    sets = uff_sets(np.column_stack(list(columns.values())), binary=True, rate=RATE)
    sets = [each | {"id1": name} for each, name in zip(sets, columns, strict=True)]
    sets[1]["x"] = TIMES + late
    uff(path, sets)


def _lvm(path: Path, columns: Columns) -> None:
    whole = files.lvm("One")
    rows = zip(TIMES, columns["command"], columns["measured"], columns.get("state", [""] * N), strict=True)
    lines = ["X_Value\tcommand\tmeasured\tComment", *(f"{a:.9f}\t{b:.9f}\t{c:.9f}\t{d}" for a, b, c, d in rows)]
    path.write_text(whole[: whole.index("X_Value")] + "\n".join(lines) + "\n")


def _xdf(path: Path, columns: Columns) -> None:
    values = np.column_stack([columns["command"], columns["measured"]])
    parts = [b"XDF:" + xdf_chunk(1, b"<?xml version='1.0'?><info><version>1.0</version></info>")]
    parts += [xdf_stream(1, "rig", RATE, [("command", "mm"), ("measured", "mm")])]
    parts += [xdf_samples(1, 700.0 + TIMES[a : a + 50], values[a : a + 50]) for a in range(0, N, 50)]
    path.write_bytes(b"".join([*parts, xdf_footer(1, N)]))


WRITERS: dict[str, tuple[str, Callable[[Path, Columns], None]]] = {
    **column_files.WRITERS,
    "lvm": (".lvm", _lvm),
    "xdf": (".xdf", _xdf),
    "mdf": (".mf4", _mdf),
    "uff": (".uff", _uff),
}
CLOCKED = ("mcap", "lvm", "xdf", "mdf", "uff", "miniSEED")  # the unit of their times is the format's
SCALED = {"hdf5": "hdf5", "json": "json", "mat": "mat", "parquet": "parquet", "tdms": "tdms"}
LISTS = {"json": "json", "json lines": "lines", "mcap": "mcap"}
OWN_TIMES = {"tdms": "tdms, one group"}
NAMED = Selection(("HNE",), ("HNZ",))
NONE = "-"


def _write(name: str, folder: Path, columns: Columns) -> Path:
    if name == "miniSEED":
        return seismic(folder / "run.mseed", "MSEED", values=[columns["command"], columns["measured"]])
    suffix, write = WRITERS[name]
    write(folder / f"run{suffix}", columns)
    return folder / f"run{suffix}"


def _plain(name: str) -> Columns:
    return dict(MOTION) if name in CLOCKED else {"time": TIMES, **MOTION}


def own_start(name: str, folder: Path) -> Path:
    """The measured signal was sampled 2.5 ms later, which its own times say."""
    late = TIMES + 0.0025
    if name in ("mdf", "uff"):
        write = _mdf if name == "mdf" else _uff
        path = folder / f"run{WRITERS[name][0]}"
        write(path, {**MOTION, "measured": measured(late)}, late=0.0025)
        return path
    if name == "lvm":
        (folder / "run.lvm").write_text(files.lvm("Multi"))
        return folder / "run.lvm"
    if name == "json lines":
        return _write(name, folder, own_times._variables(TIMES, late))
    if name == "miniSEED":
        return seismic(folder / "run.mseed", "MSEED", start=0.0025)
    suffix, write = own_times.WRITERS[OWN_TIMES.get(name, name)]
    write(folder / f"run{suffix}", TIMES, late)
    return folder / f"run{suffix}"


def ms_since_1970(name: str, folder: Path) -> Path | None:
    """Times are whole ms, without a unit."""
    times = np.round(1e3 * (files.SINCE_1970 + TIMES))
    return None if name in CLOCKED else _write(name, folder, {"time": times, **MOTION})


def no_value(name: str, folder: Path) -> Path:
    """-9999 stands for no value."""
    came = measured(TIMES)
    came[300:307] = -9999.0
    return _write(name, folder, _plain(name) | {"measured": came})


def scale_factor(name: str, folder: Path) -> Path | None:
    """A factor, an offset and a fill value stand beside the numbers."""
    raw = np.round((measured(TIMES) - 3.0) / 0.001)
    about = {"scale_factor": 0.001, "add_offset": 3.0, "_FillValue": -32768.0}
    return files._scaled(SCALED[name], folder, about, raw) if name in SCALED else None


def lists(name: str, folder: Path) -> Path | None:
    """A message has forty samples of each signal."""
    messages = files.blocks_of_samples(40, sample_rate=RATE)
    if name == "mcap":
        return mcap(folder / "b.mcap", {"/r": [(10**18 + round(float(str(m["t"])) * 1e9), m) for m in messages]})
    if name not in LISTS:
        return None
    path = folder / ("b.json" if name == "json" else "b.jsonl")
    path.write_text(json.dumps(messages) if name == "json" else "".join(json.dumps(m) + "\n" for m in messages))
    return path


def text_column(name: str, folder: Path) -> Path | None:
    """A column has the state of the controller."""
    if name in ("uff", "miniSEED", "xdf"):
        return None
    return _write(name, folder, _plain(name) | {"state": ["ramp" if k // 500 % 2 else "hold" for k in range(N)]})


def cut(name: str, folder: Path) -> Path:
    """The last tenth of the file is not there."""
    # where signals follow each other the last one is lost
    after = {"later": np.cos(TIMES)} if name in ("mat", "uff") else {}
    path = _write(name, folder, _plain(name) | after)
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 9 // 10])
    return path


KINDS: dict[str, Callable[[str, Path], Path | None]] = {
    "own start": own_start,
    "ms since 1970": ms_since_1970,
    "-9999": no_value,
    "`scale_factor`": scale_factor,
    "lists": lists,
    "text column": text_column,
    "cut": cut,
}
WAY_OUT = re.compile(r"--[a-z]+|cut short|truncated|cut off")


def outcome(name: str, kind: str, folder: Path) -> str:
    """Return what is done; a number that is wrong, or a loss in silence, fails."""
    path = KINDS[kind](name, folder)
    if path is None:
        return NONE
    chosen = NAMED if name == "miniSEED" else Selection()
    try:
        recording = open_recording(path, chosen)
    except RecordingError as problem:
        assert WAY_OUT.search(str(problem)) and "\n" not in str(problem), str(problem)
        if kind == "own start":
            check_delay(open_recording(path, replace(chosen, resample=500.0)))
            return "`--resample`"
        return "refused"
    check_delay(recording)
    samples = np.concatenate([block.samples for block in recording.blocks(N)])
    told = _told(recording, kind)
    # what is not as it was written, or not there, is told
    assert told or (np.isfinite(samples).all() and len(samples) == N), recording.notes
    assert (getattr(recording, "outcome", "") == "truncated") == (told and kind == "cut")
    return "noted" if told else "read"


def _told(recording: Recording, kind: str) -> bool:
    words = {
        "own start": "put together",
        "ms since 1970": "taken as",
        "-9999": "taken as missing",
        "`scale_factor`": "scaled as the file says",
        "lists": "consecutive samples",
        "text column": "kept as events",
        "cut": "cut short",
    }
    return any(words[kind] in note for note in recording.notes)


@pytest.mark.parametrize("name", [*WRITERS, "miniSEED"])
def test_no_cell_of_the_table_is_silent(name: str, tmp_path: Path) -> None:
    cells = []
    for number, kind in enumerate(KINDS):
        (tmp_path / str(number)).mkdir()
        cells.append(outcome(name, kind, tmp_path / str(number)))
    row = f"| {' | '.join([name, *cells])} |"
    assert row in PAGE.read_text(), f"docs/formats.md lacks the row {row}"


def test_the_table_has_these_kinds() -> None:
    assert f"| format | {' | '.join(KINDS)} |" in PAGE.read_text()
