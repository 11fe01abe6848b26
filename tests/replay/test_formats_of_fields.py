"""Universal files, MDF, miniSEED and SAC: what is in them beside a plain run, and without their libraries."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from replay.formats import RecordingError, Selection, open_recording, read_tables
from replay.formats.reading import CUT_SHORT
from tests.replay.known_motion import RATE, TIMES, N, check_delay, command, measured, refusal
from tests.replay.written_formats import uff, uff_sets, written

MOTION = np.column_stack([command(TIMES), measured(TIMES)])


def samples(path: Path, *names: str, **more: float) -> np.ndarray:
    recording = open_recording(path, Selection(names[:1], names[1:], **more))
    return np.concatenate([block.samples for block in recording.blocks(1 << 20)])


def test_functions_of_frequency_are_left_out_and_rounded_intervals_are_those_of_a_rate(tmp_path: Path) -> None:
    sets = uff_sets(MOTION, binary=True, rate=2048.0)
    spectrum = dict(sets[0]) | {"func_type": 2, "data": MOTION[:, 0] + 0j, "abscissa_spec_data_type": 18}
    recording = open_recording(uff(tmp_path / "f.unv", [*sets, spectrum]))
    assert recording.stream.sample_rate == 2048.0
    assert any(note == "left out, no signals: function of type 2 1:+Z" for note in recording.notes), recording.notes


def test_functions_without_texts_are_named_by_node_and_direction(tmp_path: Path) -> None:
    sets = [each | {"id1": "NONE"} for each in uff_sets(MOTION, binary=False, rate=RATE)]
    said = refusal(uff(tmp_path / "n.uff", sets))
    assert "node 1:+Z" in said and "node 2:+Z" in said


def test_functions_that_begin_later_are_put_together_when_asked(tmp_path: Path) -> None:
    one, other = (uff_sets(MOTION, binary=True, rate=RATE)[k] for k in (0, 1))
    other |= {"x": TIMES + 0.0025, "data": measured(TIMES + 0.0025)}
    path = uff(tmp_path / "s.uff", [one, other])
    assert refusal(path).endswith("--resample 200")
    check_delay(open_recording(path, Selection(resample=500.0)))


def test_a_universal_file_without_its_last_function(tmp_path: Path) -> None:
    whole = written(tmp_path, "uff").read_bytes()
    (tmp_path / "cut.uff").write_bytes(whole[:-3000])
    recording = open_recording(tmp_path / "cut.uff")
    assert CUT_SHORT in recording.notes and getattr(recording, "outcome", "") == "truncated"
    assert len(recording.stream.channels) == 6


def test_groups_texts_and_invalid_samples_of_mdf(tmp_path: Path) -> None:
    from asammdf import MDF, Signal

    invalid = np.zeros(N, dtype=bool)
    invalid[300:303] = True
    came = Signal(measured(TIMES), TIMES, name="measured", unit="mm", invalidation_bits=invalid)
    words = np.array([b"idle"] * 500 + [b"ramp"] * (N - 500))
    state = Signal(words, TIMES, name="state", encoding="utf-8")
    slow = np.arange(0.0, 8.0, 0.1)
    with MDF() as file:
        file.append([Signal(command(TIMES), TIMES, name="command", unit="mm"), came, state], common_timebase=True)
        file.append([Signal(slow, slow, name="oil", unit="degC")])
        file.save(tmp_path / "g.mf4")
    recording = open_recording(tmp_path / "g.mf4")
    check_delay(recording)
    found = np.concatenate([block.samples for block in recording.blocks(N)])
    assert np.flatnonzero(np.isnan(found).any(axis=1)).tolist() == [300, 301, 302]
    events = [(event.detail, at) for event, at in recording.timed_events()]
    assert events == [("state: idle", 0.0), ("state: ramp", pytest.approx(2.5))]
    assert any("left out: group 2" in note for note in recording.notes), recording.notes


def seismic(
    path: Path, form: str, start: float = 0.0, gap: bool = False, values: list[np.ndarray] | None = None
) -> Path:
    """Write a trace of each signal, the second of which begins `start` s later."""
    obspy = pytest.importorskip("obspy")
    stream = obspy.Stream()
    both = values or [command(TIMES), measured(TIMES + start)]
    for code, one in zip(("HNE", "HNZ"), both, strict=True):
        about = {"network": "XX", "station": "RIG", "channel": code, "sampling_rate": RATE}
        began = obspy.UTCDateTime(2026, 3, 2) + (start if code == "HNZ" else 0.0)
        trace = obspy.Trace(one, header=about | {"starttime": began})
        stream.append(trace)
        if gap and code == "HNZ":
            stream[-1:] = [trace.slice(endtime=began + 3.0), trace.slice(starttime=began + 3.5)]
    if form == "SAC":
        stream[0].data = stream[0].data.astype(np.float32)
        stream[0].write(str(path), format="SAC")
    else:
        stream.write(str(path), format="MSEED", encoding="FLOAT64")
    return path


def test_traces_of_miniseed(tmp_path: Path) -> None:
    path = seismic(tmp_path / "a.mseed", "MSEED")
    np.testing.assert_array_equal(samples(path, "HNE", "HNZ"), MOTION)
    assert "name them with --command" in refusal(path)


def test_traces_that_begin_later_and_gaps_of_miniseed(tmp_path: Path) -> None:
    path = seismic(tmp_path / "b.dat", "MSEED", start=0.0025, gap=True)
    assert refusal(path, Selection(("HNE",), ("HNZ",))).endswith("--resample 200")
    recording = open_recording(path, Selection(("HNE",), ("HNZ",), resample=500.0))
    check_delay(recording)
    found = np.concatenate([block.samples for block in recording.blocks(1 << 20)])
    assert 0.48 < np.isnan(found).any(axis=1).sum() / 500.0 < 0.53


def test_a_trace_of_sac(tmp_path: Path) -> None:
    (table,) = read_tables(seismic(tmp_path / "c.dat", "SAC"))
    assert (table.rate, table.n_rows, [c.name for c in table.columns]) == (RATE, N, ["HNE"])
    np.testing.assert_array_equal(table.column(table.columns[0]), command(TIMES).astype(np.float32))


@pytest.mark.parametrize(
    ("name", "begin", "package", "extra"),
    [
        ("a.mf4", b"MDF     4.10    ", "asammdf", "mdf"),
        ("a.uff", b"    -1\n    58\nNONE\n", "pyuff", "formats"),
        ("a.unv", b"    -1\r\n   151\r\nNONE\r\n", "pyuff", "formats"),
        ("a.mseed", b"000001D \0\0", "obspy", "seismic"),
    ],
)
def test_without_its_library_the_way_out_is_told(
    name: str, begin: bytes, package: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    (tmp_path / name).write_bytes(begin)
    with pytest.raises(RecordingError, match=rf"needs {package}: pip install 'synchroscope\[{extra}\]'$"):
        open_recording(tmp_path / name)
