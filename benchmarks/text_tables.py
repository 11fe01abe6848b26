"""A CSV file of numbers: the time until its samples can be assessed, against pandas and polars on the same file."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.figures import SECONDS, Figure
from benchmarks.timing import in_turns, median_ratio
from replay.formats import open_recording
from replay.formats.recordings import ArrayRecording, PiecewiseRecording

SUMMARY = "a CSV file of numbers, to samples, against pandas and polars"
HEADER = "time [s],command [mm],measured [mm],force [kN],lvdt [mm],oil [C]"
SIZE = 300e6  # bytes
LEAST = 100e6  # bytes/s


def run(quick: bool) -> Iterator[Figure]:
    """Yield the time of opening a file, over that of each other program that is installed."""
    size, repeats = (1e6, 1) if quick else (SIZE, 3)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "run.csv"
        write_table(path, size)
        ways: dict[str, Callable[[], np.ndarray]] = {"ours": partial(_ours, path)}
        ways |= {"pandas": partial(_pandas, path)} if find_spec("pandas") else {}
        ways |= {"polars": partial(_polars, path)} if find_spec("polars") else {}
        expected = _ours(path)
        for way in ways.values():
            np.testing.assert_allclose(way(), expected, rtol=1e-15)
        taken = in_turns(ways, repeats)
        case = f"{path.stat().st_size / 1e6:.0f} MB, {len(expected)} rows of {HEADER.count(',') + 1}"
    own, best = median(taken["ours"]), min(taken["ours"])
    yield Figure("text_tables", case, own, SECONDS, best, most=None if quick else size / LEAST)
    for other in list(ways)[1:]:
        ratio = median_ratio(taken["ours"], taken[other])
        yield Figure("text_tables", case, own, SECONDS, best, other, median(taken[other]), ratio)


def write_table(path: Path, size: float) -> None:
    rng = np.random.default_rng(5)
    with path.open("w") as file:
        file.write(f"{HEADER}\n")
        row = 0
        while file.tell() < size:
            times = (row + np.arange(10_000)) / 1000.0
            values = rng.standard_normal((10_000, 5)) * [20.0, 20.0, 100.0, 5.0, 1.0]
            np.savetxt(file, np.column_stack([times, values]), ["%.3f", *["%.9g"] * 5], ",")
            row += 10_000


def _ours(path: Path) -> np.ndarray:
    recording = open_recording(path)
    assert isinstance(recording, ArrayRecording | PiecewiseRecording)
    if isinstance(recording, ArrayRecording):
        return recording.samples
    return recording.read(0, recording.n_rows)


def _pandas(path: Path) -> np.ndarray:
    import pandas as pd

    return np.asarray(pd.read_csv(path).to_numpy()[:, 1:])


def _polars(path: Path) -> np.ndarray:
    import polars as pl  # type: ignore[import-not-found, unused-ignore]

    return np.asarray(pl.read_csv(path).to_numpy()[:, 1:])
