"""Signals with their own times, in every format: used, joined, or refused with the option that reads them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.io

from replay.formats import RecordingError, Selection, open_recording
from tests.replay import column_files
from tests.replay.column_files import mcap
from tests.replay.known_motion import RATE, TIMES, N, check_delay, command, measured, refusal
from tests.replay.written_formats import matlab_73, xdf_chunk, xdf_footer, xdf_samples, xdf_stream

Writer = Callable[[Path, np.ndarray, np.ndarray], None]
OTHER_TIMES = {
    "start": TIMES + 0.0025,
    "rate": np.arange(0.0, 8.0, 0.004),
    "length": TIMES[40:-100] + 0.0007,
    "rate and start": np.arange(0.31, 7.4, 1 / 333.0),
}


def _csv(names: tuple[str, str, str, str]) -> Writer:
    def write(path: Path, one: np.ndarray, other: np.ndarray) -> None:
        columns = [*zip(names, (one, command(one), other, measured(other)), strict=True)]
        if names[0] == "command":
            columns = [columns[k] for k in (1, 0, 3, 2)]
            columns = [(name, values) for name, (_, values) in zip(names, columns, strict=True)]
        length = max(len(one), len(other))
        rows = [[f"{v[k]:.9f}" if k < len(v) else "" for _, v in columns] for k in range(length)]
        rows.insert(0, list(names))
        path.write_text("".join(",".join(row) + "\n" for row in rows))

    return write


def _variables(one: np.ndarray, other: np.ndarray) -> dict[str, np.ndarray]:
    return {"t_command": one, "command": command(one), "t_measured": other, "measured": measured(other)}


def _named(name: str) -> tuple[str, Writer]:
    """Return the suffix of a format, and what writes two signals with times that bear their names."""
    suffix, write = column_files.WRITERS[name]
    return suffix, lambda path, one, other: write(path, _variables(one, other))


def _structs(one: np.ndarray, other: np.ndarray) -> dict[str, dict[str, np.ndarray]]:
    return {"command": {"Time": one, "Data": command(one)}, "measured": {"Time": other, "Data": measured(other)}}


def _mat_structs(path: Path, one: np.ndarray, other: np.ndarray) -> None:
    scipy.io.savemat(path, _structs(one, other))


def _mat_numbered(path: Path, one: np.ndarray, other: np.ndarray) -> None:
    scipy.io.savemat(path, {"t1": one, "command": command(one), "t2": other, "measured": measured(other)})


def _mat73_structs(path: Path, one: np.ndarray, other: np.ndarray) -> None:
    matlab_73(path, {n: {k: v[:, None] for k, v in s.items()} for n, s in _structs(one, other).items()})


def _npz_letters(path: Path, one: np.ndarray, other: np.ndarray) -> None:
    np.savez(path, t_c=one, x_c=command(one), t_m=other, x_m=measured(other))


def _hdf5_starts(path: Path, one: np.ndarray, other: np.ndarray) -> None:
    with h5py.File(path, "w") as file:
        for name, times, values in (("command", one, command(one)), ("measured", other, measured(other))):
            file[name] = values
            file[name].attrs["dt"], file[name].attrs["t0"] = np.median(np.diff(times)), times[0]


def _json_starts(path: Path, one: np.ndarray, other: np.ndarray) -> None:
    channels = {
        name: {"values": values.tolist(), "unit": "mm", "t0": times[0], "sample_rate": 1 / np.median(np.diff(times))}
        for name, times, values in (("command", one, command(one)), ("measured", other, measured(other)))
    }
    path.write_text(json.dumps(channels))


def _tdms(groups: tuple[str, str]) -> Writer:
    def write(path: Path, one: np.ndarray, other: np.ndarray) -> None:
        from nptdms import ChannelObject, TdmsWriter

        channels = [
            ChannelObject(group, name, values, {"wf_increment": np.median(np.diff(t)), "wf_start_offset": t[0]})
            for group, name, t, values in zip(
                groups, ("command", "measured"), (one, other), (command(one), measured(other)), strict=True
            )
        ]
        with TdmsWriter(path) as writer:
            writer.write_segment(channels)

    return write


def _tdms_instants(path: Path, one: np.ndarray, other: np.ndarray) -> None:
    from nptdms import ChannelObject, TdmsWriter

    day = np.datetime64("2026-03-02T09:31:07", "us")
    with TdmsWriter(path) as writer:
        for name, t, values in (("command", one, command(one)), ("measured", other, measured(other))):
            started = day + np.timedelta64(round(t[0] * 1e6), "us")
            about = {"wf_increment": np.median(np.diff(t)), "wf_start_time": started}
            writer.write_segment([ChannelObject("g", name, values, about)])


def _mcap(path: Path, one: np.ndarray, other: np.ndarray) -> None:
    topics = {
        f"/{name}": [(10**18 + round(at * 1e9), {name: value}) for at, value in zip(t, values, strict=True)]
        for name, t, values in (("command", one, command(one)), ("measured", other, measured(other)))
    }
    mcap(path, topics)


def _xdf(path: Path, one: np.ndarray, other: np.ndarray) -> None:
    parts = [b"XDF:" + xdf_chunk(1, b"<?xml version='1.0'?><info><version>1.0</version></info>")]
    for k, (name, t, values) in enumerate((("command", one, command(one)), ("measured", other, measured(other))), 1):
        parts.append(xdf_stream(k, name, 1 / np.median(np.diff(t)), [(name, "mm")]))
        parts += [xdf_samples(k, 700.0 + t[a : a + 50], values[a : a + 50, None]) for a in range(0, len(t), 50)]
        parts.append(xdf_footer(k, len(t)))
    path.write_bytes(b"".join(parts))


WRITERS: dict[str, tuple[str, Writer]] = {
    "csv": (".csv", _csv(("Time", "command", "Time", "measured"))),
    "csv, named": (".csv", _csv(("command_time", "command", "Time measured [s]", "measured"))),
    "csv, times after signals": (".csv", _csv(("command", "Time", "measured", "Time"))),
    "csv, unit": (".csv", _csv(("time (command)", "command", "time (measured)", "measured"))),
    "mat": _named("mat"),
    "mat, structs": (".mat", _mat_structs),
    "mat, numbered": (".mat", _mat_numbered),
    "mat 7.3": _named("mat 7.3"),
    "mat 7.3, structs": (".mat", _mat73_structs),
    "npz": _named("npz"),
    "npz, letters": (".npz", _npz_letters),
    "hdf5": _named("hdf5"),
    "hdf5, starts": (".h5", _hdf5_starts),
    "json": _named("json"),
    "json, starts": (".json", _json_starts),
    "parquet": _named("parquet"),
    "tdms, one group": (".tdms", _tdms(("g", "g"))),
    "tdms, two groups": (".tdms", _tdms(("controller", "daq"))),
    "tdms, instants": (".tdms", _tdms_instants),
    "mcap": (".mcap", _mcap),
    "xdf": (".xdf", _xdf),
}


@pytest.mark.parametrize("difference", OTHER_TIMES)
@pytest.mark.parametrize("name", WRITERS)
def test_own_times_are_refused_with_the_option_that_uses_them(name: str, difference: str, tmp_path: Path) -> None:
    suffix, write = WRITERS[name]
    path, other = tmp_path / f"run{suffix}", OTHER_TIMES[difference]
    write(path, TIMES, other)
    said = refusal(path)
    # the rate it proposes is that of the faster signal
    fastest = max(RATE, 1.0 / float(np.median(np.diff(other))))
    assert "not sampled together" in said and said.endswith(f"such as --resample {fastest:.4g}"), said
    # linear interpolation at the slower rate makes a signal smaller by a thousandth
    check_delay(open_recording(path, Selection(resample=500.0)))


@pytest.mark.parametrize("name", WRITERS)
def test_equal_own_times_need_no_option(name: str, tmp_path: Path) -> None:
    suffix, write = WRITERS[name]
    write(tmp_path / f"run{suffix}", TIMES, TIMES)
    recording = open_recording(tmp_path / f"run{suffix}")
    assert (recording.stream.sample_rate, recording.n_samples) == (pytest.approx(RATE, rel=1e-9), N)
    check_delay(recording)


def test_the_users_own_time_is_that_of_all_and_said(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    WRITERS["csv"][1](path, TIMES, TIMES + 0.0025)
    for selection in (Selection(time="1"), Selection(rate=200.0)):
        notes = open_recording(path, selection).notes
        assert any(note.startswith("signals have own times (Time, Time_2): all are taken at") for note in notes)


def test_a_clock_of_another_origin_is_no_other_clock(tmp_path: Path) -> None:
    columns = (TIMES + 1e6, command(TIMES), TIMES, measured(TIMES))
    np.savetxt(
        tmp_path / "o.csv",
        np.column_stack(columns),
        "%.9f",
        ",",
        header="timestamp,command,elapsed,measured",
        comments="",
    )
    check_delay(open_recording(tmp_path / "o.csv"))


def test_a_temperature_that_rises_is_no_clock(tmp_path: Path) -> None:
    columns = (TIMES, command(TIMES), 40.0 + 0.01 * TIMES, measured(TIMES))
    np.savetxt(
        tmp_path / "t.csv", np.column_stack(columns), "%.9f", ",", header="time,command,T1,measured", comments=""
    )
    recording = open_recording(tmp_path / "t.csv")
    assert [c.name for c in recording.stream.channels] == ["command", "T1", "measured"]
    check_delay(recording)


def test_times_in_a_group_without_order_that_differ_are_asked_for(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "u.h5", "w") as file:
        for name, values in {"time": TIMES, "elapsed": TIMES + 0.002, "x_c": TIMES, "x_m": TIMES}.items():
            file[name] = values
    assert "are different times, and the file does not say of what: give --time NAME" in refusal(tmp_path / "u.h5")
    assert open_recording(tmp_path / "u.h5", Selection(time="time")).stream.sample_rate == RATE


def test_signals_without_a_time_in_common_are_refused(tmp_path: Path) -> None:
    WRITERS["mat"][1](tmp_path / "n.mat", TIMES, TIMES + 100.0)
    with pytest.raises(RecordingError, match="have no time in common"):
        open_recording(tmp_path / "n.mat", Selection(resample=200.0))


def test_each_of_two_topics_keeps_its_states_and_each_marker_is_once(tmp_path: Path) -> None:
    words, base = ("idle", "ramp", "hold", "stop"), 10**18
    topics = {
        topic: [
            (base + k * 10_000_000 + late, {signal: k, "state": words[(k + ahead) // 100]})
            for k in range(400 - ahead)
        ]
        for topic, signal, ahead, late in (("/a", "command", 0, 0), ("/b", "measured", 40, 3_000_000))
    }
    at = (-50.0, 1.0, 2.0, 60.0)
    topics["/notes"] = [(base + int(1e9 * seconds), {"message": "go"}) for seconds in at]
    recording = open_recording(mcap(tmp_path / "two.mcap", topics), Selection(resample=100.0))
    found: dict[str, list[float]] = {}
    for event, seconds in recording.timed_events():
        found.setdefault(event.detail, []).append(round(seconds, 6))
    # of the grid from 0.003 s on: the first sample at or after each
    assert found == {"/notes message: go": [1.0, 2.0], "state: idle": [0.0, 0.0]} | {
        f"state: {word}": [k - 0.4, k] for k, word in enumerate(words) if k
    }
    assert "left out: 2 markers or changes of state are before or after the record" in recording.notes
