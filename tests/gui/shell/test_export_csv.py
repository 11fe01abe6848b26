"""What is exported is what the rig sent: read again, every sample is the same."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np
import pytest

from gui.model.history import History
from gui.model.receiver import ReceivedMessages
from gui.window.export_files import CsvTable, decimated_note, tables_in_view, write_tables
from monitor.messages.blocks import Channel, Column, ResultBlock, ResultStream, Role, SignalBlock, Stream
from monitor.system.files import WriteError
from replay.formats import Selection, open_recording

RATE = 200.0
CHANNELS = (
    Channel("north.command", Role.COMMAND, "mm", "north"),
    Channel("north.measured", Role.MEASURED, "mm", "north"),
    Channel("north.force", Role.FORCE, "kN", "north"),
    Channel('odd, "quoted" name', Role.AUXILIARY),
)


def _stream(epoch=1):
    return Stream("rig", epoch, RATE, CHANNELS)


def _samples(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, len(CHANNELS)))


def _history(*blocks):
    history = History(memory=8 << 20)
    for block in blocks:
        history.update(ReceivedMessages(signals=(block,)))
    return history


def _exported(history, path, left=-1e9, right=1e9):
    return write_tables(tables_in_view(history, left, right), path)


def _read(path):
    recording = open_recording(path, Selection())
    return recording, np.concatenate([block.samples for block in recording.blocks(1000)])


@pytest.mark.parametrize("start", [0.0, 12.345, 1_763_000_000.125])
def test_every_sample_comes_back(tmp_path, start):
    sent = _samples(400)
    written = _exported(_history(SignalBlock(_stream(), 0, start, sent)), tmp_path / "span.csv")
    assert written == (tmp_path / "span.csv",)
    recording, read = _read(written[0])
    # the text holds every bit; the reader's fast parser may be off by the last one
    np.testing.assert_allclose(read, sent, rtol=4e-16, atol=0.0)
    with written[0].open(encoding="utf-8", newline="") as file:
        cells = list(csv.reader(file))[1:]
    assert np.array_equal(np.array(cells, dtype=float)[:, 1:], sent)
    assert recording.stream.sample_rate == pytest.approx(RATE, rel=1e-9)
    assert next(iter(recording.blocks(1))).time == pytest.approx(start, abs=0.5 / RATE)
    assert [(c.name, c.role, c.unit) for c in recording.stream.channels] == [
        (c.name, c.role, c.unit) for c in CHANNELS
    ]


def test_only_what_is_in_view_is_written(tmp_path):
    sent = _samples(1000)
    history = _history(SignalBlock(_stream(), 0, 0.0, sent))
    read = _read(_exported(history, tmp_path / "span.csv", 1.0, 2.0)[0])[1]
    np.testing.assert_allclose(read, sent[200:401], rtol=4e-16)


def test_a_missing_value_is_an_empty_cell_and_a_lost_sample_has_no_row(tmp_path):
    sent = _samples(400)
    sent[50, 1] = np.nan
    history = _history(
        SignalBlock(_stream(), 0, 0.0, sent[:100]), SignalBlock(_stream(), 140, 140 / RATE, sent[140:])
    )
    path = _exported(history, tmp_path / "span.csv")[0]
    recording, read = _read(path)
    np.testing.assert_allclose(read, np.delete(sent, np.s_[100:140], axis=0), rtol=4e-16)
    assert [block.index for block in recording.blocks(1000)] == [0, 140]
    line = path.read_text(encoding="utf-8").splitlines()[51].split(",")
    assert line[2] == "" and float(line[1]) == sent[50, 0]


def test_a_restart_goes_into_a_file_of_its_own(tmp_path):
    one, two = _samples(300, 1), _samples(300, 2)
    history = _history(SignalBlock(_stream(1), 0, 50.0, one), SignalBlock(_stream(2), 0, 0.0, two))
    written = _exported(history, tmp_path / "span.csv")
    assert [path.name for path in written] == ["span.csv", "span-2.csv"]
    for path, sent, start in zip(written, (one, two), (50.0, 0.0), strict=True):
        recording, read = _read(path)
        np.testing.assert_allclose(read, sent, rtol=4e-16)
        assert next(iter(recording.blocks(1))).time == pytest.approx(start, abs=0.5 / RATE)


def test_a_clock_that_runs_a_little_fast_is_one_file(tmp_path):
    sent = _samples(20_000)
    blocks = [SignalBlock(_stream(), i, i / RATE * 1.004, sent[i : i + 100]) for i in range(0, len(sent), 100)]
    written = _exported(_history(*blocks), tmp_path / "span.csv")
    assert len(written) == 1
    np.testing.assert_allclose(_read(written[0])[1], sent, rtol=4e-16)


def test_nothing_in_view_is_said(tmp_path):
    with pytest.raises(WriteError, match="no samples in view"):
        tables_in_view(History(memory=1 << 20), 0.0, 1.0)
    with pytest.raises(WriteError, match="no samples in view"):
        tables_in_view(_history(SignalBlock(_stream(), 0, 0.0, _samples(20))), 5.0, 6.0)


def test_results_stand_at_the_time_of_their_row(tmp_path):
    columns = (Column("fdb_delay", "s", "north"), Column("ti", "mm^2", "north"), Column("fdb_delay", "s", "south"))
    stream = ResultStream("rig", 1, RATE, 1, columns)
    rows = np.arange(1600)
    values = np.column_stack((rows / RATE, np.where(rows < 300, np.nan, rows), -rows / RATE))
    history = History(memory=8 << 20)
    history.update(ReceivedMessages(signals=(SignalBlock(_stream(), 0, 100.0, _samples(1600)),)))
    history.update(ReceivedMessages(results=(ResultBlock(stream, 0, 100.0, values),)))
    written = _exported(history, tmp_path / "span.csv", -1.0, 7.0)
    assert [path.name for path in written] == ["span.csv", "span-results.csv"]
    with written[1].open(encoding="utf-8", newline="") as file:
        header, *lines = csv.reader(file)
    assert header == ["time [s]", "north_fdb_delay [s]", "north_ti [mm^2]", "south_fdb_delay [s]"]
    table = np.array([[float(cell or "nan") for cell in line] for line in lines])
    assert np.diff(table[:, 0]) == pytest.approx(0.04, abs=1e-9)
    # the first column is the row's own time after the start
    assert table[:, 0] - 100.0 == pytest.approx(table[:, 1], abs=1e-6)
    assert np.array_equal(table[:, 3], -table[:, 1])
    assert np.isnan(table[table[:, 1] < 1.5 - 1e-9, 2]).all()
    assert len(table) == pytest.approx(7.0 * 25, abs=1)


def test_a_simulated_test_is_assessed_the_same_from_its_export(watched, hybrid_arrivals, tmp_path):
    sent = np.concatenate([block.samples for arrived in hybrid_arrivals for block in arrived.signals])
    written = _exported(watched, tmp_path / "span.csv")
    recording, read = _read(written[0])
    np.testing.assert_allclose(read, sent, rtol=4e-16)
    stream = hybrid_arrivals[0].signals[0].stream
    assert {pair.actuator for pair in recording.stream.pairs} == {pair.actuator for pair in stream.pairs}
    assert [(c.name, c.unit) for c in recording.stream.channels] == [
        (c.name, "" if c.unit == "1" else c.unit) for c in stream.channels
    ]


def test_a_folder_that_is_not_there_and_a_full_disk_leave_nothing(tmp_path):
    tables = tables_in_view(_history(SignalBlock(_stream(), 0, 0.0, _samples(50))), 0.0, 1.0)
    with pytest.raises(WriteError, match=r"nowhere.*cannot be written \(No such file or directory\)"):
        write_tables(tables, tmp_path / "nowhere" / "span.csv")
    if Path("/dev/full").exists():
        (tmp_path / "span.csv").write_text("as it was")
        (tmp_path / f".span.csv.{os.getpid()}.part").symlink_to("/dev/full")
        with pytest.raises(WriteError, match="No space left on device"):
            write_tables(tables, tmp_path / "span.csv")
        assert [path.name for path in tmp_path.iterdir()] == ["span.csv"]
        assert (tmp_path / "span.csv").read_text() == "as it was"


def test_other_channels_begin_anew_and_only_theirs_are_written(tmp_path):
    other = Stream("rig", 2, RATE, CHANNELS[:2])
    sent = _samples(100)[:, :2].copy()
    history = _history(SignalBlock(_stream(1), 0, 0.0, _samples(100)), SignalBlock(other, 0, 0.0, sent))
    written = _exported(history, tmp_path / "span.csv")
    assert [path.name for path in written] == ["span.csv"]
    np.testing.assert_allclose(_read(written[0])[1], sent, rtol=4e-16)


def test_results_older_than_every_instant_is_kept_are_decimated_note(tmp_path):
    stream = ResultStream("rig", 1, RATE, 1, (Column("ti", "", "north"),))
    history = History(memory=1 << 20, minutes=1e-3)
    n = round(RATE * 1200)
    for first in range(0, n, 20_000):
        rows = np.arange(first, first + 20_000, dtype=float)[:, None]
        history.update(ReceivedMessages(results=(ResultBlock(stream, first, first / RATE, rows),)))
    (table,) = tables_in_view(history, 0.0, 1200.0)
    assert np.array_equal(table.values[:, 0], np.round(table.times * RATE))
    assert np.diff(table.times) == pytest.approx(0.04)
    assert table.times[-1] == pytest.approx(1200.0 - 1 / RATE)
    assert table.times[0] > 300.0


def test_samples_that_are_no_longer_kept_are_told():
    n, n_samples = 4000, 60_000
    history = History(memory=1 << 20, minutes=1e-3)
    sent = _samples(n_samples)
    for first in range(0, n_samples, n):
        history.update(
            ReceivedMessages(signals=(SignalBlock(_stream(), first, 50.0 + first / RATE, sent[first : first + n]),))
        )
    (table,) = tables_in_view(history, -10.0, 1e6)
    assert np.array_equal(table.values, sent[-len(table.times) :])
    assert 0 < len(table.times) < n_samples
    assert decimated_note(history, -10.0).startswith(
        f"samples before {table.times[0]:.7g} s are no longer held at full rate"
    )
    assert decimated_note(history, history.end_x - 1.0) == ""
    assert decimated_note(History(memory=1 << 20), 0.0) == ""


def test_a_file_that_is_beside_it_already_stays(tmp_path):
    tables = tuple(CsvTable(suffix, ("a",), np.arange(3.0), np.ones((3, 1))) for suffix in ("", "-results", "-2"))
    for name in ("span.csv", "span-results.csv", "span-results (2).csv"):
        (tmp_path / name).write_text("as it was")
    written = write_tables(tables, tmp_path / "span.csv")
    assert [path.name for path in written] == ["span.csv", "span-results (3).csv", "span-2.csv"]
    assert all(path.read_text().startswith("time [s],a") for path in written)
    for name in ("span-results.csv", "span-results (2).csv"):
        assert (tmp_path / name).read_text() == "as it was"


@pytest.mark.parametrize(("rate", "every"), [(1024.0, 10), (1000.0, 7)])
def test_results_stand_at_their_own_time_at_any_rate(rate, every):
    stream = ResultStream("rig", 1, rate, every, (Column("fdb_delay", "s", "north"),))
    times = 50.0 + np.arange(0, int(5.0 * rate), every) / rate
    history = History(memory=8 << 20)
    history.update(ReceivedMessages(results=(ResultBlock(stream, 0, 50.0, times[:, None]),)))
    (table,) = tables_in_view(history, 0.0, 5.0)
    np.testing.assert_allclose(table.times, table.values[:, 0], atol=1e-9)
