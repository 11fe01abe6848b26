"""Files of loggers: LabVIEW's TDMS, MCAP, and XDF of the lab streaming layer."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import nptdms
import numpy as np
import pytest
from nptdms import ChannelObject, GroupObject, TdmsWriter

from monitor.messages.blocks import Role
from replay.formats import RecordingError, Selection, inspect_recording, open_recording
from replay.formats.reading import CUT_SHORT
from tests.replay.column_files import mcap, samples
from tests.replay.written_formats import (
    NAMES,
    RATE,
    TIMES,
    N,
    run_samples,
    written,
    xdf_chunk,
    xdf_footer,
    xdf_samples,
    xdf_stream,
)

LABVIEWS_OWN = Path(nptdms.__file__).parent / "test" / "data"
needs_labviews_own = pytest.mark.skipif(not LABVIEWS_OWN.is_dir(), reason="npTDMS is installed without its tests")
XDF = b"XDF:" + xdf_chunk(1, b"<?xml version='1.0'?><info><version>1.0</version></info>")


@needs_labviews_own
def test_a_file_that_labview_wrote_big_endian() -> None:
    """LabVIEW's example of time domain data: two sines of 3500 samples, 1 ms apart."""
    path = LABVIEWS_OWN / "big_endian.tdms"
    known, found = inspect_recording(path)
    assert known.name == "LabVIEW TDMS"
    assert [c.name for c in found.columns] == ["Amplitude sweep", "Phase sweep"]
    recording = open_recording(path, Selection(("Amplitude sweep",), ("Phase sweep",)))
    assert (recording.stream.sample_rate, recording.n_samples) == (1000.0, 3500)
    theirs = nptdms.TdmsFile.read(path)["Measured Data"]
    np.testing.assert_array_equal(samples(recording)[:, 1], theirs["Phase sweep"][:])


@needs_labviews_own
def test_scaled_channels_of_daqmx_have_their_units() -> None:
    recording = open_recording(LABVIEWS_OWN / "raw1.tdms", Selection(("First  Channel",), ("Second Chan",)))
    assert recording.stream.sample_rate == 50_000.0
    assert {c.unit for c in recording.stream.channels} == {"V"}
    theirs = nptdms.TdmsFile.read(LABVIEWS_OWN / "raw1.tdms")["Layer Data"]["Second Chan"]
    np.testing.assert_array_equal(samples(recording)[:, 1], theirs[:])


@needs_labviews_own
def test_groups_of_other_rates_are_datasets() -> None:
    path = LABVIEWS_OWN / "Digital_Input.tdms"
    with pytest.raises(
        RecordingError, match="name one with --dataset NAME; there are 07/09/2012 06:58:23 PM - Digital"
    ):
        open_recording(path)
    group = "07/09/2012 06:58:23 PM - Digital Input - Decimated Data_Level1"
    recording = open_recording(path, Selection(dataset=group, auxiliary=True))
    assert (recording.stream.sample_rate, recording.n_samples) == (40.0, 400)


def test_channels_of_tdms_may_repeat_names_and_have_slashes(tmp_path: Path) -> None:
    values = np.arange(40.0)
    with TdmsWriter(tmp_path / "g.tdms") as writer:
        channels = []
        for number, group in enumerate(("before", "after"), 1):
            about = {"wf_increment": 0.02 / number, "wf_start_offset": 2.0}
            channels.append(GroupObject(group))
            channels += [ChannelObject(group, "Dev1/cmd", number * values, about)]
            channels += [ChannelObject(group, "Dev1/meas", -number * values, about)]
        channels.append(ChannelObject("before", "remark", ["warm", "cold"]))
        writer.write_segment(channels)
    path = tmp_path / "g.tdms"
    with pytest.raises(RecordingError, match=r"2 datasets have a command and a measured signal.*before, after"):
        open_recording(path)
    recording = open_recording(path, Selection(dataset="after"))
    assert (recording.stream.sample_rate, next(recording.blocks(1)).time) == (100.0, 2.0)
    np.testing.assert_array_equal(samples(recording), np.column_stack([2 * values, -2 * values]))
    assert "left out, no signals: remark (text)" in recording.notes


@pytest.mark.parametrize(("later", "times", "note"), [
    (60.0, [*range(40), *range(1200, 1240)], "1160 missing samples in a gap, the first before row 41"),
    (0.0, range(80), ""),
    (2.0, range(80), ""),
    (1.0, range(80), "wf_start_time of a later segment is before the end of the one before (cmd, meas): samples are "
     "taken to be consecutive, from the first start"),
])  # fmt: skip
def test_a_logger_that_was_stopped_and_appended_to_has_a_gap(
    tmp_path: Path, later: float, times: Iterable[int], note: str
) -> None:
    began = np.datetime64("2026-03-01T10:00:00")
    with TdmsWriter(tmp_path / "g.tdms") as writer:
        for seconds in (0.0, later):
            about = {"wf_increment": 0.05, "wf_start_time": began + np.timedelta64(int(1e6 * seconds), "us")}
            writer.write_segment([ChannelObject("g", name, np.arange(40.0), about) for name in ("cmd", "meas")])
    recording = open_recording(tmp_path / "g.tdms")
    read = [block.time + row * 0.05 for block in recording.blocks(1000) for row in range(len(block))]
    np.testing.assert_allclose(np.asarray(read) - read[0], 0.05 * np.asarray(times), atol=1e-9)
    told = [each for each in recording.notes if "missing" in each or "wf_start_time" in each]
    assert told == [note] * bool(note)


def test_a_logger_that_was_stopped_is_read_as_far_as_it_came_and_reported(tmp_path: Path) -> None:
    whole = written(tmp_path, "tdms").read_bytes()
    (tmp_path / "cut.tdms").write_bytes(whole[: len(whole) - 8 * 1000])
    recording = open_recording(tmp_path / "cut.tdms")
    assert CUT_SHORT in recording.notes and recording.outcome == "truncated"
    found = samples(recording)
    # the last of four segments holds one channel after the other, and loses the last of them
    assert len(found) == N * 3 // 4
    np.testing.assert_array_equal(found, run_samples()[: len(found)])


def test_the_index_of_a_tdms_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "run.tdms_index").write_bytes(b"TDSh" + bytes(60))
    with pytest.raises(RecordingError, match=r"is only the index of a TDMS file: open run.tdms"):
        open_recording(tmp_path / "run.tdms_index")


def test_a_wrong_index_beside_a_tdms_file_is_not_used(tmp_path: Path) -> None:
    whole = samples(open_recording(written(tmp_path, "tdms")))
    (tmp_path / "run.tdms_index").write_bytes(b"TDSh" + bytes(60))
    np.testing.assert_array_equal(samples(open_recording(tmp_path / "run.tdms")), whole)


def test_roles_names_and_units_that_an_mcap_file_gives(tmp_path: Path) -> None:
    messages = [(10**18 + k * 5_000_000, {"a": {"c": k, "m": -k} if k != 3 else {"c": k}}) for k in range(50)]
    events = [(10**18 + 7, {"message": "start"}), (10**18 + 9, {"message": "stop"})]
    recording = open_recording(mcap(tmp_path / "s.mcap", {"/signals": messages, "/events": events}))
    assert [(c.name, c.role, c.unit, c.actuator) for c in recording.stream.channels] == [
        ("sent", Role.COMMAND, "mm", "a"),
        ("came", Role.MEASURED, "mm", "a"),
    ]
    assert recording.stream.sample_rate == 200.0
    found = samples(recording)
    np.testing.assert_array_equal(found[:, 0], np.arange(50))
    assert np.flatnonzero(np.isnan(found[:, 1])).tolist() == [3]
    assert [(event.detail, event.index) for event, _ in recording.timed_events()] == [
        ("/events message: start", 1),
        ("/events message: stop", 1),
    ]


def test_uneven_log_times_give_way_to_a_column_of_times(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    logged = 10**18 + np.arange(80) * 10_000_000 + rng.integers(0, 4_000_000, 80)
    messages = [(int(at), {"t": k / 100.0, "cmd": k, "meas": -k}) for k, at in enumerate(logged)]
    recording = open_recording(mcap(tmp_path / "j.mcap", {"/rig": messages}))
    assert recording.stream.sample_rate == 100.0
    assert "the times are those in t, the file's own are uneven" in recording.notes
    bare = [(at, {"cmd": k, "meas": -k}) for k, (at, _) in enumerate(messages)]
    path = mcap(tmp_path / "b.mcap", {"/rig": bare})
    with pytest.raises(RecordingError, match=r"steps are not even.*give --resample HZ to interpolate"):
        open_recording(path)
    assert open_recording(path, Selection(resample=100.0)).stream.sample_rate == 100.0


def test_messages_out_of_order_are_put_in_order(tmp_path: Path) -> None:
    order = np.random.default_rng(2).permutation(60)
    messages = [(int(k) * 10_000_000, {"cmd": int(k), "meas": -int(k)}) for k in order]
    recording = open_recording(mcap(tmp_path / "o.mcap", {"/rig": messages}))
    assert recording.stream.sample_rate == 100.0
    np.testing.assert_array_equal(samples(recording)[:, 0], np.arange(60))


def test_messages_in_another_encoding_are_left_out(tmp_path: Path) -> None:
    path = mcap(tmp_path / "r.mcap", {"/joint_states": [(k, {"x": k}) for k in range(9)]}, encoding="cdr")
    with pytest.raises(RecordingError, match=r"it holds /joint_states \(messages in 'cdr', only JSON is read\)"):
        open_recording(path)


def test_an_mcap_file_that_was_not_closed_is_read_as_far_as_it_is_whole(tmp_path: Path) -> None:
    whole = written(tmp_path, "mcap").read_bytes()
    for end in (len(whole) - 8, len(whole) // 2):
        (tmp_path / "cut.mcap").write_bytes(whole[:end])
        recording = open_recording(tmp_path / "cut.mcap")
        assert CUT_SHORT in recording.notes and recording.outcome == "truncated"
        found = samples(recording)
        assert len(found) > N // 4
        by_name = [[c.name for c in recording.stream.channels].index(name) for name in NAMES]
        np.testing.assert_array_equal(found[:, by_name], run_samples()[: len(found)])
    # damage before the end is refused
    (tmp_path / "hole.mcap").write_bytes(whole[:3000] + bytes(200) + whole[3200:])
    with pytest.raises(RecordingError, match="damaged"):
        open_recording(tmp_path / "hole.mcap")


def streams_of_two(path: Path, *, footer: bool = True) -> Path:
    """Write command and measured signal as two streams of other rates and starts, and one of markers."""
    command, measured = np.arange(0.0, 6.0, 0.01), np.arange(0.503, 5.5, 0.004)
    parts = [
        XDF,
        xdf_stream(1, "controller", 100, [("command", "mm")]),
        xdf_stream(2, "daq", 250, [("measured", "mm")]),
    ]
    marker = "<info><name>marks</name><channel_count>1</channel_count><nominal_srate>0</nominal_srate>"
    parts.append(xdf_chunk(2, b"\3\0\0\0" + (marker + "<channel_format>string</channel_format></info>").encode()))
    for number, times in ((1, command), (2, measured)):
        line = 3.0 * times[:, None]
        parts += [xdf_samples(number, 700.0 + times[k : k + 60], line[k : k + 60]) for k in range(0, len(times), 60)]
        parts += [xdf_footer(number, len(times))] if footer else []
    path.write_bytes(b"".join(parts))
    return path


def test_streams_of_other_rates_are_put_together_only_when_asked(tmp_path: Path) -> None:
    path = streams_of_two(tmp_path / "two.xdf")
    chosen = Selection(("command",), ("measured",))
    asked = (
        r"not sampled together: command \(600 rows of controller, .*\), measured .*one dataset, or give --resample HZ"
    )
    with pytest.raises(RecordingError, match=asked):
        open_recording(path, chosen)
    recording = open_recording(path, Selection(("command",), ("measured",), resample=200.0))
    assert recording.stream.sample_rate == 200.0
    assert any(
        note.startswith("controller and daq are put together from 700.503 to 705.499 s") for note in recording.notes
    )
    assert "left out, no signals: marks (0 samples of string)" in recording.notes
    (block,) = recording.blocks(10_000)
    at = block.time + np.arange(len(block)) / 200.0
    assert block.time == pytest.approx(700.503)
    # a straight line is its own interpolation
    np.testing.assert_allclose(block.samples, np.column_stack([3.0 * (at - 700.0)] * 2), atol=1e-7)
    alone = open_recording(path, Selection(dataset="daq", auxiliary=True))
    assert (alone.stream.sample_rate, alone.stream.channels[0].unit) == (250.0, "mm")


def test_a_stream_that_was_not_closed_is_reported(tmp_path: Path) -> None:
    path = streams_of_two(tmp_path / "open.xdf", footer=False)
    notes = open_recording(path, Selection(dataset="daq", auxiliary=True)).notes
    assert "stream daq was not closed: it may be cut short" in notes


def test_fewer_samples_than_the_footer_counts_are_damage(tmp_path: Path) -> None:
    parts = [XDF, xdf_stream(1, "rig", RATE, [("cmd", "mm"), ("meas", "mm")])]
    parts += [xdf_samples(1, TIMES[:500], run_samples()[:500, :2]), xdf_footer(1, 600)]
    (tmp_path / "f.xdf").write_bytes(b"".join(parts))
    with pytest.raises(RecordingError, match="damaged: 500 samples of rig are there, 600 were written"):
        open_recording(tmp_path / "f.xdf")


def test_jitter_of_time_stamps_is_removed_and_left_out_stamps_are_deduced(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    n, rate = 2000, 250.0
    stamps = 800.0 + np.arange(n) / rate + rng.uniform(-1e-3, 1e-3, n)
    values = rng.standard_normal((n, 2))
    parts = [XDF, xdf_stream(1, "rig", rate, [("cmd", "volts"), ("meas", "Volts")])]
    for k in range(0, n, 20):
        rows = b""
        for at in range(k, k + 20):
            # as LSL: a stamp for the first of a chunk, the others follow at the nominal rate
            rows += b"\x08" + np.float64(stamps[at]).tobytes() if at == k else b"\0"
            rows += values[at].tobytes()
        parts.append(xdf_chunk(3, b"\1\0\0\0" + b"\x04\x14\0\0\0" + rows))
    (tmp_path / "j.xdf").write_bytes(b"".join([*parts, xdf_footer(1, n)]))
    recording = open_recording(tmp_path / "j.xdf")
    assert recording.stream.sample_rate == pytest.approx(rate, rel=1e-4)
    assert {c.unit for c in recording.stream.channels} == {"V"}
    assert "rig: nominally 250 Hz, times of the clock of LSL without jitter" in recording.notes
    np.testing.assert_array_equal(samples(recording), values)


@pytest.mark.parametrize(("rate", "nominal"), [(250.0, 250.0), (250.1, 250.0), (125.0, 250.0)])
def test_lost_samples_of_a_stream_are_a_gap_whatever_the_jitter(tmp_path: Path, rate: float, nominal: float) -> None:
    rng = np.random.default_rng(6)
    taken = np.delete(np.arange(6000), slice(2000, 2011))
    taken = np.delete(taken, slice(4000, 4900))
    stamps = 9e4 + taken / rate + rng.exponential(2e-4, len(taken))
    values = rng.standard_normal((len(taken), 2))
    parts = [XDF, xdf_stream(1, "rig", nominal, [("cmd", "mm"), ("meas", "mm")])]
    parts += [xdf_samples(1, stamps[k : k + 60], values[k : k + 60]) for k in range(0, len(taken), 60)]
    (tmp_path / "g.xdf").write_bytes(b"".join([*parts, xdf_footer(1, len(taken))]))
    recording = open_recording(tmp_path / "g.xdf")
    assert recording.stream.sample_rate == pytest.approx(rate, rel=1e-5)
    assert any(note.startswith("911 missing samples in 2 gaps") for note in recording.notes)
    blocks = list(recording.blocks(100))
    np.testing.assert_array_equal(np.concatenate([block.samples for block in blocks]), values)
    index = np.concatenate([block.index + np.arange(len(block)) for block in blocks])
    np.testing.assert_array_equal(index, taken)


def test_a_compressed_xdf_file(tmp_path: Path) -> None:
    import gzip

    whole = written(tmp_path, "xdf").read_bytes()
    packed = gzip.compress(whole)
    (tmp_path / "run.xdfz").write_bytes(packed)
    np.testing.assert_array_equal(samples(open_recording(tmp_path / "run.xdfz")), run_samples())
    (tmp_path / "cut.xdfz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(RecordingError, match="damaged or cut short"):
        open_recording(tmp_path / "cut.xdfz")


def test_time_channels_of_tdms(tmp_path: Path) -> None:
    signals = [ChannelObject("g", name, np.arange(60.0)) for name in ("cmd", "meas")]
    when = np.datetime64("2026-03-02T09:31:07", "us") + np.arange(60) * np.timedelta64(25_000, "us")
    for name, clock, note in (
        ("seconds", ChannelObject("g", "Time (ms)", np.arange(60) * 25.0), None),
        ("dates", ChannelObject("g", "stamp", when), "the times of stamp count from 2026-03-02, 00:00 UTC"),
    ):
        with TdmsWriter(tmp_path / f"{name}.tdms") as writer:
            writer.write_segment([clock, *signals])
        recording = open_recording(tmp_path / f"{name}.tdms")
        assert recording.stream.sample_rate == 40.0
        assert note is None or note in recording.notes
