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


def test_functions_over_frequencies_or_lengths_of_unknown_type_are_left_out(tmp_path: Path) -> None:
    sets = uff_sets(MOTION, binary=False, rate=RATE)
    units = ("s", "NONE", "Hz", "mm")
    every = [
        sets[k % 2] | {"id1": f"f{k}", "abscissa_spec_data_type": 0, "abscissa_axis_units_lab": unit}
        for k, unit in enumerate(units)
    ]
    (table,) = read_tables(uff(tmp_path / "f.uff", every))
    assert ([c.name for c in table.columns], table.rate) == (["f0", "f1"], RATE)
    assert "function of type 1 over hz 1:+Z, function of type 1 over mm 2:+Z" in " ".join(table.notes)


def test_a_column_that_begins_with_minus_one_is_no_universal_file(tmp_path: Path) -> None:
    counts = np.round(command(TIMES)).astype(int)
    (tmp_path / "int.txt").write_text("".join(f"{value:6d}\n" for value in [-1, 3, *counts]))
    (table,) = read_tables(tmp_path / "int.txt")
    np.testing.assert_array_equal(table.column(table.columns[0]), [-1, 3, *counts])


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


@pytest.mark.parametrize("master", ["none", "angle", "index"])
def test_a_group_of_mdf_without_times_has_none(master: str, tmp_path: Path) -> None:
    from asammdf import MDF, Signal

    kinds = {"none": None, "angle": ("phase", 2), "index": ("number", 4)}
    turns = 0.1 * np.arange(N)
    with MDF() as file:
        columns = [(command(TIMES), "command"), (measured(TIMES), "measured")]
        signals = [Signal(v, turns, name=n, unit="mm", master_metadata=kinds[master]) for v, n in columns]
        file.append(signals, common_timebase=True)
        if master == "none":
            file.masters_db.clear()
            file.groups[0].channels[0].channel_type, file.groups[0].channels[0].name = 0, "phase"
        file.save(tmp_path / "n.mf4")
    assert "--rate" in refusal(tmp_path / "n.mf4")
    (table,) = read_tables(tmp_path / "n.mf4")
    assert table.times is None
    np.testing.assert_array_equal(table.column(table.columns[0]), turns)
    check_delay(open_recording(tmp_path / "n.mf4", Selection(rate=RATE)))


def test_texts_of_mdf_with_times_of_their_own_are_markers(tmp_path: Path) -> None:
    from asammdf import MDF, Signal

    with MDF() as file:
        file.append([Signal(v, TIMES, name=n) for n, v in (("command", MOTION[:, 0]), ("measured", MOTION[:, 1]))])
        words = np.array([b"start", b"pump on", b"pump on"])
        file.append([Signal(words, np.array([0.5, 2.5, 3.0]), name="note", encoding="utf-8")])
        file.save(tmp_path / "m.mf4")
    events = [(event.detail, at) for event, at in open_recording(tmp_path / "m.mf4").timed_events()]
    assert events == [("note: start", 0.5), ("note: pump on", 2.5), ("note: pump on", 3.0)]


def test_a_packed_group_of_mdf_is_unpacked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from asammdf import MDF, Signal
    from asammdf.blocks.mdf_v4 import GLOBAL_OPTIONS, MDF4

    values = np.random.default_rng(1).standard_normal((40_000, 30))
    times, lost = np.arange(len(values)) / RATE, np.zeros(len(values), dtype=bool)
    lost[[7, 39_000]] = True
    with MDF() as file:
        columns = [Signal(each, times, name=f"s{k}", invalidation_bits=lost) for k, each in enumerate(values.T)]
        file.append(columns, common_timebase=True)
        file.save(tmp_path / "p.mf4", compression=2)
    calls, load = [], MDF4._load_data
    monkeypatch.setattr(MDF4, "_load_data", lambda *given, **more: calls.append(1) or load(*given, **more))
    monkeypatch.setitem(GLOBAL_OPTIONS, "read_fragment_size", 1 << 20)
    (table,) = read_tables(tmp_path / "p.mf4")
    assert len(calls) == 1
    np.testing.assert_array_equal(table.values(table.columns), np.where(lost[:, None], np.nan, values))
    np.testing.assert_array_equal(table.times, times)


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
    if form.startswith("SAC"):
        stream[0].data = stream[0].data.astype(np.float32)
        stream[0].write(str(path), format=form)
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


@pytest.mark.parametrize("form", ["SAC", "SACXY"])
def test_a_trace_of_sac(form: str, tmp_path: Path) -> None:
    (table,) = read_tables(seismic(tmp_path / "c.sac", form))
    assert (table.rate, table.n_rows, [c.name for c in table.columns]) == (RATE, N, ["HNE"])
    # seven digits
    np.testing.assert_allclose(table.column(table.columns[0]), command(TIMES).astype(np.float32), atol=5e-6)


@pytest.mark.parametrize("rate", [128.0, 300.0, 1024.0, 0.3, 1024.1234])
def test_the_rate_of_sac_is_that_of_its_interval(rate: float, tmp_path: Path) -> None:
    obspy = pytest.importorskip("obspy")
    path = tmp_path / "r.sac"
    obspy.Trace(np.zeros(500, dtype=np.float32), header={"sampling_rate": rate}).write(str(path), format="SAC")
    raw = bytearray(path.read_bytes())
    raw[:4] = np.float32(1.0 / rate).tobytes()  # obspy writes the interval that it rounded
    path.write_bytes(raw)
    assert read_tables(path)[0].rate == pytest.approx(rate, rel=1e-15 if round(rate) == rate else 1e-7)


@pytest.mark.filterwarnings("ignore:Calibration factor set to 0")
def test_calibration_factors_are_used_and_said(tmp_path: Path) -> None:
    obspy = pytest.importorskip("obspy")
    counts = np.round(100.0 * command(TIMES)).astype(np.int32)
    for form, factor in (("SAC", 2.5e-3), ("GSE2", 0.5), ("SAC", 0.0)):
        trace = obspy.Trace(
            counts, header={"station": "RIG", "channel": "HNE", "sampling_rate": RATE, "calib": factor}
        )
        path = tmp_path / "c.dat"
        trace.write(str(path), format=form)
        (table,) = read_tables(path)
        np.testing.assert_allclose(table.column(table.columns[0]), (factor or 1.0) * counts, rtol=1e-6)
        assert f"calibration factor of {factor:g}" in " ".join(table.notes).replace("the file, ", "")


def miniseed(path: Path, *traces: tuple[np.ndarray, float, float]) -> Path:
    """Write traces of one channel, each of values, rate and first instant, s."""
    obspy = pytest.importorskip("obspy")
    about = {"network": "XX", "station": "RIG", "channel": "HNE"}
    path.unlink(missing_ok=True)
    with path.open("ab") as file:
        for values, rate, start in traces:
            time = obspy.UTCDateTime(2026, 3, 2) + start
            obspy.Trace(values, header=about | {"sampling_rate": rate, "starttime": time}).write(file, format="MSEED")
    return path


def test_one_channel_of_two_types_or_of_two_rates(tmp_path: Path) -> None:
    whole = np.arange(400)
    parts = (whole[:200].astype(np.int32), 100.0, 0.0), (whole[200:].astype(np.float32), 100.0, 2.0)
    (table,) = read_tables(miniseed(tmp_path / "t.mseed", *parts))
    np.testing.assert_array_equal(table.column(table.columns[0]), whole)
    other = whole[:300].astype(np.float32), 50.0, 9.0
    tables = read_tables(miniseed(tmp_path / "r.mseed", *parts, other))
    found = [(table.rate, table.n_rows, table.columns[0].name) for table in tables]
    assert found == [(100.0, 400, "XX.RIG..HNE_100"), (50.0, 300, "XX.RIG..HNE_50")]


def test_segments_that_lie_far_apart_are_refused_before_they_are_put_together(tmp_path: Path) -> None:
    part = np.zeros(500, dtype=np.int32)
    said = refusal(miniseed(tmp_path / "f.mseed", (part, 200.0, 0.0), (part, 200.0, 20 * 365 * 86400.0)))
    assert " GB of memory" in said and "cut it where they lie far apart" in said and "damaged" not in said


@pytest.mark.parametrize(
    ("word", "value", "said"), [(105, 0, "unevenly spaced"), (85, 2, "a SAC file of a spectrum")]
)
def test_what_sac_holds_beside_signals_is_named(word: int, value: int, said: str, tmp_path: Path) -> None:
    raw = seismic(tmp_path / "c.dat", "SAC").read_bytes()
    number = np.int32(value).tobytes()
    # with a second column of numbers
    (tmp_path / "c.dat").write_bytes(raw[: 4 * word] + number + raw[4 * word + 4 :] + raw[632:])
    assert said in refusal(tmp_path / "c.dat")


def test_a_table_of_text_whose_name_ends_as_that_of_sac(tmp_path: Path) -> None:
    np.savetxt(
        tmp_path / "a.sac",
        np.column_stack([TIMES, MOTION]),
        header="time,command,measured",
        comments="",
        delimiter=",",
    )
    check_delay(open_recording(tmp_path / "a.sac"))


@pytest.mark.parametrize(
    ("name", "begin", "package", "extra"),
    [
        ("a.mat", b"MATLAB 5.0 MAT-file".ljust(124) + b"\0\1IM", "scipy", "formats"),
        ("a.tdms", b"TDSm", "nptdms", "formats"),
        ("a.parquet", b"PAR1", "pyarrow", "formats"),
        ("a.mcap", b"\x89MCAP0\r\n", "mcap", "formats"),
        ("a.xdf", b"XDF:", "pyxdf", "formats"),
        ("a.mf4", b"MDF     4.10    ", "asammdf", "mdf"),
        ("a.uff", b"    -1\n    58\nNONE\n", "pyuff", "formats"),
        ("a.unv", b"    -1\r\n   151\r\nNONE\r\n", "pyuff", "formats"),
        ("a.mseed", b"000001D \0\0", "obspy", "seismic"),
    ],
)
def test_without_its_library_the_way_out_is_told(
    name: str, begin: bytes, package: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # what another test has imported would be found without its package
    for module in [each for each in sys.modules if each.startswith(f"{package}.")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    (tmp_path / name).write_bytes(begin)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    with pytest.raises(RecordingError, match=rf"needs {package}: pip install 'synchroscope\[{extra}\]'$"):
        open_recording(tmp_path / name)
