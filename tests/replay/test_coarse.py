"""A long file by some of its rows: what it tells is true of all, and where it cannot be, all are read."""

from pathlib import Path

import numpy as np
import pytest

from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from monitor.recording import RunWriter
from replay.formats import base, open_recording, run_file, text
from replay.formats.reading import PROGRESS
from replay.playback.description import open_described

N, RATE = 40_000, 500.0
TIMES = np.arange(N) / RATE
VALUES = np.column_stack((20.0 * np.sin(3.0 * TIMES), 19.0 * np.sin(3.0 * TIMES - 0.1)))
CHANNELS = (Channel("cmd", Role.COMMAND, "mm", "a"), Channel("meas", Role.MEASURED, "mm", "a"))


@pytest.fixture(autouse=True)
def short_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "_SPANS", 64)
    monkeypatch.setattr(text, "LONG", 1 << 19)
    monkeypatch.setattr(run_file, "LONG", 1 << 19)


def written(path: Path, *, restart: int = N) -> Path:
    if path.suffix == ".csv":
        np.savetxt(
            path, np.column_stack((TIMES, VALUES)), "%.9g", ",", header="t [s],cmd [mm],meas [mm]", comments=""
        )
        return path
    writer = RunWriter(path, {})
    for epoch, begin, end in ((1, 0, restart), (2, restart, N)):
        for at in range(begin, end, 5000):
            samples = VALUES[at : min(at + 5000, end)]
            writer.signals(SignalBlock(Stream("rig", epoch, RATE, CHANNELS), at - begin, at / RATE, samples))
    writer.close()
    return path


@pytest.mark.parametrize("name", ["a.csv", "a.h5"])
def test_what_some_rows_tell_is_true_of_all(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / name)
    whole, coarse = (open_described(path, n_columns=10, coarse=given)[0] for given in (False, True))
    assert 0.0 < coarse.share < 0.8 and whole.share == 1.0 and coarse.notes == ()
    for about in ("format", "sample_rate", "n_samples", "duration", "start_time", "columns", "guess", "problem"):
        assert getattr(coarse, about) == getattr(whole, about)
    assert [channel.name for channel in coarse.channels] == ["cmd", "meas"]
    for k, channel in enumerate(("cmd", "meas")):
        seconds, low, high = coarse.overview.curve(channel)
        for at, least, most in zip(seconds, low, high, strict=True):
            there = VALUES[round(at * RATE) : round(at * RATE) + N // 10, k]
            assert there.min() - 1e-6 <= least < 0.0 < most <= there.max() + 1e-6


@pytest.mark.parametrize("change", ["short", "no times", "restart", "columns"])
def test_where_some_rows_do_not_tell_all_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    path = written(tmp_path / ("a.h5" if change == "restart" else "a.csv"), restart=N // 3)
    if change == "short":
        monkeypatch.setattr(text, "LONG", 1 << 30)
    elif change in ("no times", "columns"):
        header = "# Sample rate: 500 Hz\ncmd [mm],meas [mm],load [kN]\n" if change == "no times" else "t [s],x,y\n"
        path.write_text(header + path.read_text().partition("\n")[2])
    whole, coarse = (open_described(path, n_columns=10, coarse=given)[0] for given in (False, True))
    assert coarse == whole
    assert bool(whole.problem) == (change == "columns")


def test_parts_of_a_long_file_do_not_overlap_and_reach_its_end() -> None:
    places = np.array(base.scattered(100, 64 * 1024 + 100, 16))
    assert places[0] >= 100 and places[-1] == 64 * 1024 + 84
    assert np.all(np.diff(places) >= 16)
    # one in each of equal spans
    np.testing.assert_array_equal((places[:-1] - 100) * 64 // (64 * 1024 - 16), np.arange(64))


def test_how_much_of_a_text_is_read_is_told(tmp_path: Path) -> None:
    path, told = written(tmp_path / "a.csv"), []
    token = PROGRESS.set(lambda *step: told.append(step))
    np.testing.assert_allclose(open_recording(path).samples, VALUES, atol=1e-7)
    PROGRESS.reset(token)
    size = path.stat().st_size
    assert told[-1] == ("reading the file", size, size)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
