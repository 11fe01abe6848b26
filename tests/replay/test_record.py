"""A recording as arrays: signals, results and events, from a run file, another file, or several of one run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from monitor.messages.blocks import EventKind, Role
from replay.record import RecordingError, read_record
from tests.replay import exported_run
from tests.replay.exported_run import CHANNELS, COLUMNS, RATE


def test_a_run_file_has_signals_results_and_events(tmp_path: Path) -> None:
    path = exported_run.record(tmp_path / "run.h5")
    found = read_record(path)
    samples, time, _, index = exported_run.stored(path)
    assert (found.sample_rate, found.channels) == (RATE, CHANNELS)
    np.testing.assert_allclose(found.time, time - time[0], atol=1e-6)
    assert list(found.signals) == [channel.name for channel in CHANNELS]
    for k, values in enumerate(found.signals.values()):
        np.testing.assert_array_equal(values, samples[:, k])
    # rows of results at the indices 10, 20, ... of a run whose first index is 5
    np.testing.assert_allclose(found.results_time, (10.0 * np.arange(1, 31) - index[0]) / RATE)
    assert len(found.results) == len(COLUMNS)
    np.testing.assert_array_equal(next(iter(found.results.values()))[1:], np.arange(60.0).reshape(30, 2)[1:, 0])
    kinds = {event.kind: seconds for seconds, event in found.events}
    assert kinds[EventKind.NOTE] == pytest.approx((133 - 5) / RATE)
    assert kinds[EventKind.GAP] == pytest.approx((215 - 5) / RATE)
    assert (
        repr(found)
        == f"Record(300 samples of {len(CHANNELS)} signals at {RATE:g} Hz, 30 rows of 2 results, 3 events)"
    )


def test_the_parts_of_a_run_have_their_results_and_events(tmp_path: Path) -> None:
    paths = [exported_run.record(tmp_path / "a.h5"), exported_run.record(tmp_path / "b.h5", restart=1_763_000_010.0)]
    one, found = read_record(paths[0]), read_record(paths[1])
    # the second begins at the index of the first again: after a restart of the rig it would be another epoch
    with pytest.raises(RecordingError, match="no parts of one run, or in another order"):
        read_record(paths)
    assert (len(found.results_time), len(one.events)) == (30, 3)
    with pytest.raises(RecordingError, match="no file is given"):
        read_record([])


def test_a_file_of_another_program_and_the_parts_of_a_run(tmp_path: Path) -> None:
    rows = np.column_stack([np.arange(300) / 100.0, np.sin(np.arange(300) / 7.0), np.sin(np.arange(300) / 7.0 - 0.1)])
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for path, part in zip(paths, (rows[:200], rows[210:]), strict=True):
        np.savetxt(path, part, "%.9g", ",", header="t,u,v", comments="")
    with pytest.raises(RecordingError, match="which column is the command"):
        read_record(paths[0])
    found = read_record(paths, command=["u"], measured=["v"])
    np.testing.assert_allclose(found.time, np.r_[rows[:200, 0], rows[210:, 0]])
    np.testing.assert_allclose(found.signals["v"], np.r_[rows[:200, 2], rows[210:, 2]], rtol=1e-8)
    assert [channel.role for channel in found.channels] == [Role.COMMAND, Role.MEASURED]
    assert (len(found.results_time), found.results, found.events) == (0, {}, ())
    with pytest.raises(TypeError):
        found.signals["u"] = rows[:, 0]
    assert list(read_record(paths[0], auxiliary=True, rate=100.0).signals) == ["t", "u", "v"]
