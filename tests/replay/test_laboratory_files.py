"""What loggers and programs write, kind by kind and format by format: right, said, or refused with the way out."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.io
from hypothesis import given
from hypothesis import strategies as st

from monitor.messages.blocks import EventKind
from replay.formats import Recording, RecordingError, Selection, open_recording
from replay.formats.cells import find_form, number
from replay.formats.parts import RecordingPart
from replay.formats.table import LAST_LINE_CUT
from replay.formats.table_recording import in_units_of
from tests.replay.column_files import MOTION, WRITERS, mcap, samples, text, write_columns
from tests.replay.known_motion import RATE, TIMES, N, check_delay, command, measured, refusal
from tests.replay.written_formats import xdf_chunk, xdf_samples, xdf_stream

SINCE_1970 = 1_709_805_532.5
# times as they are written, and what is said of them; "" where nothing need be
TIMES_AS = {
    "days since 1900": (45358.41588541667 + TIMES / 86400.0, "days since 1900, as of Excel"),
    "datenum": (739318.41588541667 + TIMES / 86400.0, "days of MATLAB's datenum"),
    "ms since 1970": (np.round(1e3 * (SINCE_1970 + TIMES)), "ms since 1970"),
    "us since 1970": (np.round(1e6 * (SINCE_1970 + TIMES)).astype(np.int64), "us since 1970"),
    "ns since 1970": (np.round(TIMES * 1e9).astype(np.int64) + 1_709_805_532_500_000_000, "ns since 1970"),
    "us": (np.round(1e6 * TIMES).astype(np.int64), "us, by steps of 5000"),
    "ns": (np.round(1e9 * TIMES).astype(np.int64), "ns, by steps of 5e+06"),
    "ms of 16 bits": (np.round(6.4e4 + 1e3 * TIMES) % 2.0**16, "for ms give --rate 200"),
    "us of 32 bits": (np.round(4.29e9 + 1e6 * TIMES) % 2.0**32, "overflows at"),
    "s since 1904": (3_792_650_332.5 + TIMES, ""),
    "days": (TIMES / 86400.0, "no test has: name the column time [days]"),
    "ms": (1e3 * TIMES, "for ms give --rate 200"),
}


@pytest.mark.parametrize("unit", TIMES_AS)
@pytest.mark.parametrize("name", [n for n in WRITERS if n != "mcap"])
def test_times_in_other_units_are_right_or_refused(name: str, unit: str, tmp_path: Path) -> None:
    times, says = TIMES_AS[unit]
    path = write_columns(tmp_path, name, {"time": times, **MOTION})
    if unit == "days":
        assert says in refusal(path)
        recording = open_recording(path, Selection(rate=RATE))
    else:
        recording = open_recording(path)
        assert not says or any(says in note for note in recording.notes), recording.notes
    if unit.startswith("ms") and "1970" not in unit:
        # said, and not believed
        recording = open_recording(path, Selection(rate=RATE))
    check_delay(recording, tolerance=3e-4 if unit == "datenum" else 1e-4)
    resampled = refusal(path, Selection(resample=RATE)) or open_recording(path, Selection(resample=RATE)).notes
    assert not says or unit == "days" or "for ms" in says or any(says in note for note in resampled)


START = datetime(2024, 3, 7, 23, 59, 56, 500_000)
STAMPS = [START + timedelta(seconds=float(t)) for t in TIMES]
DATES = {
    "iso": "{:%Y-%m-%d %H:%M:%S.%f}",
    "us": "{:%m/%d/%Y %H:%M:%S.%f}",
    "us, am and pm": "{:%m/%d/%Y %I:%M:%S.%f %p}",
    "german": "{:%d.%m.%Y %H:%M:%S,%f}",
    "british": "{:%d/%m/%Y %H:%M:%S.%f}",
    "year first": "{:%Y/%m/%d %H:%M:%S.%f}",
    "two digits": "{:%d.%m.%y %H:%M:%S.%f}",
    "matlab": "{:%d-%b-%Y %H:%M:%S.%f}",
    "time of day": "{:%H:%M:%S.%f}",
    "time of day, am and pm": "{:%I:%M:%S.%f %p}",
    "days of pandas": "{:%-d days %H:%M:%S.%f}",
}


@pytest.mark.parametrize("form", DATES)
@pytest.mark.parametrize("name", [n for n in WRITERS if n not in ("mat", "mat 7.3", "tdms", "mcap")])
def test_dates_as_programs_write_them_over_midnight(name: str, form: str, tmp_path: Path) -> None:
    texts = [DATES[form].format(stamp) for stamp in STAMPS]
    path = write_columns(tmp_path, name, {"stamp": texts, **MOTION})
    if name == "csv":
        path.write_text(text({"stamp": texts, **MOTION}, by=";"))
    recording = open_recording(path)
    assert (recording.stream.sample_rate, recording.n_samples) == (pytest.approx(RATE, rel=1e-6), N)
    check_delay(recording)
    said = "times of day" if "pandas" in form else "2024-03-07" if "%d" in DATES[form] else "midnight is passed"
    assert any(said in note for note in recording.notes), recording.notes


def test_a_date_beside_a_time_of_day(tmp_path: Path) -> None:
    columns = {"Date": [f"{s:%d/%m/%Y}" for s in STAMPS], "Time": [f"{s:%H:%M:%S.%f}" for s in STAMPS], **MOTION}
    (tmp_path / "d.csv").write_text(text(columns))
    recording = open_recording(tmp_path / "d.csv")
    check_delay(recording)
    assert next(recording.blocks(1)).time == pytest.approx(86396.5)


@given(st.datetimes(datetime(1971, 1, 1), datetime(2099, 1, 1)), st.sampled_from(sorted(DATES)[1:8]))
def test_any_date_with_a_day_beyond_12_is_that_of_the_standard_library(moment: datetime, form: str) -> None:
    moment = moment.replace(day=13 + moment.day % 15)
    written_as = DATES[form].format(moment)
    if form.startswith(("time of day", "days")):
        return
    found = find_form([written_as])
    assert found is not None
    expected = (moment - datetime(1970, 1, 1)).total_seconds()
    if form == "two digits" and moment.year >= 2070:
        return
    assert found.seconds(written_as) == pytest.approx(expected, abs=2e-6)


SPELLINGS: dict[str, Callable[[float], str]] = {
    "1.234,567": lambda v: f"{v:,.3f}".translate(str.maketrans(",.", ".,")),
    "1 234,567": lambda v: f"{v:,.3f}".replace(",", " ").replace(".", ","),
    "1'234.567": lambda v: f"{v:,.3f}".replace(",", "'"),
    "1,234.567": lambda v: f"{v:,.3f}",
    "1.5D+03": lambda v: f"{v:.9E}".replace("E", "D"),
    "minus": lambda v: f"{v:.6f}".replace("-", "−"),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("by", [";", "\t"])
def test_numbers_as_programs_spell_them(by: str, spelling: str, tmp_path: Path) -> None:
    spell = SPELLINGS[spelling]
    mark = "," if spelling.endswith(",567") else "."
    times = [f"{t:.4f}".replace(".", mark) for t in TIMES]
    columns = {"time": times, **{k: [spell(1e3 * v) for v in values] for k, values in MOTION.items()}}
    (tmp_path / "n.txt").write_text(text(columns, by=by), encoding="utf-8")
    recording = open_recording(tmp_path / "n.txt")
    check_delay(recording)
    block = next(recording.blocks(N))
    np.testing.assert_allclose(block.samples[:, 0], 1e3 * command(TIMES), atol=1e-3)


@given(st.floats(-1e9, 1e9), st.sampled_from(sorted(SPELLINGS)))
def test_a_spelled_number_is_that_number(value: float, spelling: str) -> None:
    mark = "," if spelling.endswith(",567") else "."
    assert number(SPELLINGS[spelling](value), mark) == pytest.approx(value, rel=1e-8, abs=1e-3)


@pytest.mark.parametrize("ambiguous", ["1,234", "12,345"])
def test_a_comma_is_a_decimal_mark_unless_it_cannot_be(ambiguous: str, tmp_path: Path) -> None:
    rows = [f"0,{k:02d};{ambiguous};{ambiguous}" for k in range(20)]
    (tmp_path / "c.csv").write_text("time;cmd;meas\n" + "\n".join(rows) + "\n")
    assert next(open_recording(tmp_path / "c.csv").blocks(1)).samples[0, 0] == float(ambiguous.replace(",", "."))


@pytest.mark.parametrize(
    ("name", "sentinel"),
    [("csv", each) for each in (9.9e37, 9.91e37, -99999.0, 1e30, -32768.0)] + [(name, -9999.0) for name in WRITERS],
)
def test_numbers_without_a_meaning_are_missing_and_said(name: str, sentinel: float, tmp_path: Path) -> None:
    came = measured(TIMES)
    came[300:307] = sentinel
    recording = open_recording(write_columns(tmp_path, name, {"time": TIMES, **MOTION, "measured": came}))
    assert f"measured: {sentinel:.6g} (7 times) is no value, taken as missing" in recording.notes
    check_delay(recording)


def test_numbers_without_a_meaning_in_a_file_read_piece_by_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    came = measured(TIMES)
    came[[300, 1100]] = -9999.0, 9.9e37
    path = write_columns(tmp_path, "hdf5", {"time": TIMES, **MOTION, "measured": came})
    monkeypatch.setattr("replay.formats.table_recording._IN_MEMORY", 1000)
    recording = open_recording(path)
    found = samples(recording)
    assert np.flatnonzero(np.isnan(found[:, 1])).tolist() == [300, 1100]
    assert "measured: -9999 (1 times), 9.9e+37 (1 times) is no value, taken as missing" in recording.notes


def test_a_true_value_like_a_sentinel_is_kept(tmp_path: Path) -> None:
    ramp = np.linspace(-9999.0, 9999.0, N)
    np.savez(tmp_path / "r.npz", fs=RATE, command=ramp, measured=ramp)
    assert np.all(np.isfinite(next(open_recording(tmp_path / "r.npz").blocks(N)).samples))


@pytest.mark.parametrize("word", ["OVERLOAD", "-nan(ind)", "OL", "#DIV/0!", "1.#INF", "Error", "n.a."])
def test_words_for_no_value_are_missing_and_counted(word: str, tmp_path: Path) -> None:
    came: list[str] = [f"{v:.9f}" for v in measured(TIMES)]
    came[700:703] = [word] * 3
    (tmp_path / "w.csv").write_text(text({"time": TIMES, "command": command(TIMES), "measured": came}))
    recording = open_recording(tmp_path / "w.csv")
    assert f"measured: 3 of {N} values are missing" in recording.notes
    check_delay(recording)


def _scaled(kind: str, path: Path, about: dict[str, float], raw: np.ndarray) -> Path:
    sent = command(TIMES)
    if kind == "hdf5":
        with h5py.File(path / "s.h5", "w") as file:
            file["time"], file["command"], file["measured"] = TIMES, sent, raw
            file["measured"].attrs.update(about)
        return path / "s.h5"
    if kind == "json":
        channels = {"command": {"values": sent.tolist()}, "measured": {"values": raw.tolist(), **about}, "fs": RATE}
        (path / "s.json").write_text(json.dumps(channels))
        return path / "s.json"
    if kind == "mat":
        # no name of MATLAB begins with an underscore
        said = {key.strip("_"): value for key, value in about.items()}
        structs = {"command": {"values": sent}, "measured": {"values": raw, **said}}
        scipy.io.savemat(path / "s.mat", {"fs": RATE, **structs})
        return path / "s.mat"
    if kind == "parquet":
        import pyarrow as pa
        from pyarrow import parquet

        texts = {key: str(value) for key, value in about.items()}
        fields = [pa.field("time", pa.float64()), pa.field("command", pa.float64())]
        fields.append(pa.field("measured", pa.float64(), metadata=texts))
        parquet.write_table(pa.table([TIMES, sent, raw], schema=pa.schema(fields)), path / "s.parquet")
        return path / "s.parquet"
    from nptdms import ChannelObject, TdmsWriter

    with TdmsWriter(path / "s.tdms") as writer:
        step = {"wf_increment": 1 / RATE}
        writer.write_segment(
            [ChannelObject("g", "command", sent, step), ChannelObject("g", "measured", raw, step | about)]
        )
    return path / "s.tdms"


@pytest.mark.parametrize("kind", ["hdf5", "json", "mat", "parquet", "tdms"])
def test_factors_of_a_convention_are_used_and_others_said(kind: str, tmp_path: Path) -> None:
    raw = np.round((measured(TIMES) - 3.0) / 0.001)
    raw[40] = -32768.0
    about = {"scale_factor": 0.001, "add_offset": 3.0, "_FillValue": -32768.0}
    recording = open_recording(_scaled(kind, tmp_path, about, raw))
    check_delay(recording)
    notes = " ".join(recording.notes)
    assert "scaled as the file says, 0.001 times the numbers + 3" in notes and "-32768 is no value" in notes
    doubtful = open_recording(_scaled(kind, tmp_path, {"gain": 2.0}, measured(TIMES)))
    assert any("gives gain 2, which is not applied" in note for note in doubtful.notes), doubtful.notes


@pytest.mark.parametrize(
    ("names", "factors"),
    [
        (("demand_m", "feedback_m"), (1e-3, 1e-3)),
        (("demand_mm", "feedback_in"), (1.0, 1 / 25.4)),
        (("Ref (mm)", "Fbk (in)"), (1.0, 1 / 25.4)),
        (("target_m", "response_mm"), (1e-3, 1.0)),
    ],
)
def test_units_at_the_end_of_names_are_no_actuators(
    names: tuple[str, str], factors: tuple[float, float], tmp_path: Path
) -> None:
    columns = {"time": TIMES, names[0]: factors[0] * command(TIMES), names[1]: factors[1] * measured(TIMES)}
    (tmp_path / "u.csv").write_text(text(columns))
    recording = open_recording(tmp_path / "u.csv")
    check_delay(recording)
    assert {pair.actuator for pair in recording.stream.pairs} == {"actuator"}


def test_files_in_other_units_are_compared_after_conversion(tmp_path: Path) -> None:
    for name, unit, factor in (("mm", "mm", 1.0), ("m", "m", 1e-3), ("in", "in", 1 / 25.4)):
        columns = {"time": TIMES, **{f"{k} [{unit}]": factor * v for k, v in MOTION.items()}}
        (tmp_path / f"{name}.csv").write_text(text(columns, form="{:.17g}"))
    reference = open_recording(tmp_path / "mm.csv")
    for name in ("m", "in"):
        found = in_units_of(open_recording(tmp_path / f"{name}.csv"), reference.stream)
        assert found.stream.channels == reference.stream.channels
        assert f"command is converted from {name} to mm, as the reference is" in found.notes
        ours, theirs = (next(each.blocks(N)).samples for each in (found, reference))
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    assert in_units_of(reference, reference.stream) is reference


def blocks_of_samples(size: int, **more: object) -> list[dict[str, object]]:
    sent, came = command(TIMES).tolist(), measured(TIMES).tolist()
    return [
        {"t": float(TIMES[k]), "command": sent[k : k + size], "measured": came[k : k + size], **more}
        for k in range(0, N, size)
    ]


@pytest.mark.parametrize("kind", ["lines", "json", "mcap"])
@pytest.mark.parametrize("with_rate", [True, False])
@pytest.mark.parametrize("size", [20, 37])
def test_lists_of_messages_are_samples(size: int, with_rate: bool, kind: str, tmp_path: Path) -> None:
    messages = blocks_of_samples(size, **({"sample_rate": RATE} if with_rate else {}), force=1.5)
    if kind == "mcap":
        path = mcap(tmp_path / "b.mcap", {"/rig": [(10**18 + round(float(str(m["t"])) * 1e9), m) for m in messages]})
    elif kind == "json":
        path = tmp_path / "b.json"
        path.write_text(json.dumps(messages))
    else:
        path = tmp_path / "b.jsonl"
        path.write_text("".join(json.dumps(m) + "\n" for m in messages))
    recording = open_recording(path)
    assert (recording.n_samples, len(recording.stream.pairs)) == (N, 1)
    check_delay(recording)
    assert any("are consecutive samples: command, measured" in note for note in recording.notes)
    assert any("by their times and lengths" in note for note in recording.notes) != with_rate


def test_the_plain_form_of_two_actuators_with_units_and_an_index(tmp_path: Path) -> None:
    sent, came = command(TIMES), measured(TIMES)
    lines = [
        {
            "index": k,
            "sample_rate": RATE,
            "command": {"north": sent[k : k + 40].tolist(), "south": (2 * sent[k : k + 40]).tolist()},
            "measured": {"north": came[k : k + 40].tolist(), "south": (2 * came[k : k + 40]).tolist()},
            "units": {"command": "mm", "measured": "mm"},
        }
        for k in range(0, N, 40)
        if k != 400
    ]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    recording = open_recording(tmp_path / "p.jsonl")
    assert [p.actuator for p in recording.stream.pairs] == ["north", "south"]
    assert {c.unit for c in recording.stream.channels} == {"mm"}
    assert any(note.startswith("40 missing samples in a gap") for note in recording.notes)


def test_rows_of_samples_in_messages_are_samples(tmp_path: Path) -> None:
    both = np.column_stack([command(TIMES), measured(TIMES)]).tolist()
    lines = [{"t": float(TIMES[k]), "dt": 0.005, "values": both[k : k + 20]} for k in range(0, N, 20)]
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    check_delay(open_recording(tmp_path / "r.jsonl", Selection(("values_1",), ("values_2",))))


def test_lists_of_channels_stay_channels_and_it_is_said(tmp_path: Path) -> None:
    lines = [{"t": k / 100, "position": [float(k), 1.0], "effort": [0.0, 0.5]} for k in range(50)]
    (tmp_path / "j.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    recording = open_recording(tmp_path / "j.jsonl", Selection(("position_1",), ("effort_1",)))
    assert "position, effort: each number of a list is a channel" in recording.notes


RATES: dict[str, dict[str, object]] = {
    "StepSize": {"StepSize": 0.005},
    "isi": {"isi": 5.0, "isi_units": "ms"},
    "SamplingPeriod": {"SamplingPeriod": 0.005},
    "Delta_X": {"Delta_X": 0.005},
    "fs_kHz": {"fs_kHz": 0.2},
    "a text with its unit": {"fs": "200 Hz"},
    "sampling interval us": {"sample_interval_us": 5000.0},
}


@pytest.mark.parametrize("given_as", RATES)
@pytest.mark.parametrize("name", ["mat", "npz", "json", "hdf5", "parquet", "csv"])
def test_rates_by_other_names(name: str, given_as: str, tmp_path: Path) -> None:
    path, said = tmp_path / f"run{WRITERS[name][0]}", RATES[given_as]
    if name == "mat":
        scipy.io.savemat(path, {**MOTION, **said})
    elif name == "npz":
        np.savez(path, **MOTION, **{k: np.array(v) for k, v in said.items()})
    elif name == "json":
        path.write_text(json.dumps({k: v.tolist() for k, v in MOTION.items()} | said))
    elif name == "hdf5":
        with h5py.File(path, "w") as file:
            file.update(MOTION)
            file.attrs.update(said)
            # a number that is a dataset has its unit as an attribute
            if "isi" in said:
                file["dt"] = file.attrs.pop("isi")
                file["dt"].attrs["unit"] = file.attrs.pop("isi_units")
    elif name == "parquet":
        import pyarrow as pa
        from pyarrow import parquet

        metadata = {key: str(value) for key, value in said.items()}
        parquet.write_table(pa.table(MOTION).replace_schema_metadata(metadata), path)
    else:
        unit = str(said.get("isi_units", ""))
        lines = [f"{key}: {value} {unit}" for key, value in said.items() if not key.endswith("_units")]
        path.write_text("\n".join(lines) + "\n" + text(MOTION))
    recording = open_recording(path)
    assert recording.stream.sample_rate == pytest.approx(RATE)
    check_delay(recording)


def test_rates_that_contradict_each_other_are_said(tmp_path: Path) -> None:
    scipy.io.savemat(tmp_path / "r.mat", {**MOTION, "fs": 200.0, "dt": 0.001})
    assert "fs gives 200 Hz and is used, against dt of 1000 Hz: --rate HZ" in open_recording(tmp_path / "r.mat").notes
    np.savez(tmp_path / "t.npz", time=TIMES, **MOTION)
    (tmp_path / "t.csv").write_text("Sample rate: 1000 Hz\n" + text({"time": TIMES, **MOTION}))
    notes = open_recording(tmp_path / "t.csv").notes
    assert "the file gives a rate of 1000 Hz, its times one of 200 Hz: the times are used" in notes


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "latin-1"])
@pytest.mark.parametrize("kind", ["csv", "json", "json lines"])
def test_texts_in_the_encodings_of_windows(kind: str, encoding: str, tmp_path: Path) -> None:
    path = write_columns(tmp_path, kind, {"time": TIMES, **MOTION})
    path.write_bytes(path.read_text().encode(encoding))
    check_delay(open_recording(path))
    if kind == "csv" and encoding.startswith("utf-16"):
        path.write_bytes(path.read_bytes()[:-30])
        assert LAST_LINE_CUT in open_recording(path).notes


HEADERS = {
    "an unknown word": "Time,Command,Feedback\nSec,inch,inch\n",
    "TOA5": '"TOA5","CR1000","12"\n"TIME","Command","Feedback"\n"s","mm","mm"\n"","Smp","Avg"\n',
    "a unit of no list": "Time,Command,Feedback\ns,flurbs,flurbs\n",
    "deg": "Time,Command,Feedback\nsec,Deg C,Deg C\n",
    "blanks": "Time   Axial Command   Axial Feedback\n",
    "remarks": "Test of March\nOperator: nn\n\nTime,Command,Feedback\n",
    "an oscilloscope": "Point Format,Y,,\nHorizontal Scale,2,,\nProbe,1,1,\nLabel,a,b,\nTIME,Command,Feedback,\n",
}


@pytest.mark.parametrize("header", HEADERS)
def test_headers_of_programs(header: str, tmp_path: Path) -> None:
    by, end = "   " if header == "blanks" else ",", ",\n" if header == "an oscilloscope" else "\n"
    rows = text({"time": TIMES, **MOTION}, by=by).split("\n", 1)[1].replace("\n", end)
    (tmp_path / "h.txt").write_text(HEADERS[header] + rows)
    recording = open_recording(tmp_path / "h.txt")
    assert [c.name.split()[-1] for c in recording.stream.channels] == ["Command", "Feedback"]
    check_delay(recording)


@pytest.mark.parametrize("name", WRITERS)
def test_a_column_of_text_is_kept_as_events(name: str, tmp_path: Path) -> None:
    rows = {0: "IDLE", 200: "RAMP", 1000: "HOLD", 1500: "RAMP"}
    state = [rows[max(row for row in rows if row <= k)] for k in range(N)]
    noise = [f"serial {k}" for k in range(N)]
    path = write_columns(tmp_path, name, {"time": TIMES, **MOTION, "state": state, "checksum": noise})
    recording = open_recording(path)
    check_delay(recording)
    found = [(event.kind, event.detail.rpartition("state: ")[2], at) for event, at in recording.timed_events()]
    assert found == [(EventKind.NOTE, word, pytest.approx(row / RATE)) for row, word in rows.items()]
    assert any("kept as events, one a change" in note and "state (4)" in note for note in recording.notes)
    assert any(note.startswith("left out") and "checksum" in note for note in recording.notes), recording.notes
    if name in ("csv", "npz"):
        # after interpolation too, and in a part
        again = open_recording(path, Selection(resample=500.0))
        assert [at for _, at in again.timed_events()] == [pytest.approx(row / RATE) for row in rows]
        part = RecordingPart(recording, 4.0, 7.0)
        assert [(event.detail, at) for event, at in part.timed_events()] == [("state: HOLD", pytest.approx(1.0))]


def test_markers_of_a_stream_are_events_at_their_times(tmp_path: Path) -> None:
    parts = [b"XDF:" + xdf_chunk(1, b"<info><version>1.0</version></info>")]
    parts.append(xdf_stream(1, "rig", RATE, [("command", "mm"), ("measured", "mm")]))
    parts.append(xdf_samples(1, 700.0 + TIMES, np.column_stack(list(MOTION.values()))))
    about = b"<info><name>marks</name><type>m</type><channel_count>1</channel_count><nominal_srate>0</nominal_srate>"
    about += b"<channel_format>string</channel_format></info>"
    parts.append(xdf_chunk(2, struct.pack("<I", 2) + about))
    marks = [(701.0, b"push"), (703.5, b"push"), (705.25, b"valve")]
    told = [*marks, (650.0, b"early"), (800.0, b"late")]
    body = b"".join(b"\x08" + struct.pack("<d", at) + b"\x01" + bytes([len(text)]) + text for at, text in told)
    parts.append(xdf_chunk(3, struct.pack("<IBB", 2, 1, len(told)) + body))
    (tmp_path / "m.xdf").write_bytes(b"".join(parts))
    recording = open_recording(tmp_path / "m.xdf")
    assert "left out: 2 markers or changes of state are before or after the record" in recording.notes
    found = [(event.detail, at) for event, at in recording.timed_events()]
    assert found == [(f"marks: {text.decode()}", pytest.approx(at - 700.0)) for at, text in marks]


def test_a_change_in_the_last_row_is_kept_when_resampled(tmp_path: Path) -> None:
    state = ["run"] * (N - 1) + ["trip"]
    path = write_columns(tmp_path, "csv", {"time": TIMES, **MOTION, "state": state})
    recording = open_recording(path, Selection(resample=0.61 * RATE))
    event, _ = recording.timed_events()[-1]
    assert (event.detail, event.index) == ("state: trip", recording.n_samples - 1)


@pytest.mark.parametrize(
    "footer", ["Mean,0.001,0.002\nMax,14.1,13.9\n", "End of file\n", "***\n", "\n# done\nStopped by operator\n"]
)
def test_footers_and_remarks_are_left_out_and_said(footer: str, tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text(text({"time": TIMES, **MOTION}) + footer)
    recording = open_recording(tmp_path / "f.csv")
    assert recording.n_samples == N
    check_delay(recording)
    assert any(note.startswith("left out: ") and "no row of numbers" in note for note in recording.notes)


@pytest.mark.parametrize("restarts", [True, False])
def test_repeated_headers_are_segments(restarts: bool, tmp_path: Path) -> None:
    parts = []
    for k in range(4):
        part = slice(400 * k, 400 * k + 400)
        times = TIMES[:400] if restarts else TIMES[part]
        columns = {"Time": times, "Command": command(TIMES[part]), "Feedback": measured(TIMES[part])}
        parts.append(f"Data Header:,Time:,{k}.5\n" + text(columns).replace("\n", "\nSec,mm,mm\n", 1))
    (tmp_path / "m.csv").write_text("".join(parts))
    recording = open_recording(tmp_path / "m.csv")
    blocks = list(recording.blocks(N))
    assert [len(block) for block in blocks] == ([400] * 4 if restarts else [N])
    assert (
        any("begin again at line" in note and "gap of unknown length" in note for note in recording.notes) == restarts
    )
    np.testing.assert_allclose(np.concatenate([b.samples for b in blocks])[:, 0], command(TIMES), atol=1e-9)


def test_a_fault_between_rows_is_still_named(tmp_path: Path) -> None:
    lines = text({"time": TIMES, **MOTION}).splitlines()
    for wrong, said in (("0.5,oops,1", "'oops' is not a number"), ("0.5,1", "has 2 cells instead of 3")):
        (tmp_path / "x.csv").write_text("\n".join([*lines[:50], wrong, *lines[51:]]) + "\n")
        assert said in refusal(tmp_path / "x.csv")


def lvm(kind: str, decimal: str = ".", *, by_time: bool = False) -> str:
    """Write as LabVIEW does: cells of the header above their columns, an X column for each channel, one or none."""

    def cell(value: float) -> str:
        return f"{value:.9f}".replace(".", decimal)

    def both(one: str, other: str) -> str:
        return f"{one}\t\t{other}" if kind == "Multi" else f"{one}\t{other}"

    later = TIMES if kind == "One" and not by_time else TIMES + 0.0025
    head = f"LabVIEW Measurement\t\nSeparator\tTab\nDecimal_Separator\t{decimal}\nX_Columns\t{kind}\n"
    head += f"***End_of_Header***\t\n\t\nChannels\t2\t\t\nSamples\t{both(str(N), str(N))}\t\n"
    if by_time:
        head += f"Date\t{both('2024/03/07', '2024/03/07')}\nTime\t{both('09:58:52.5', '09:58:52.5024999999999999')}\n"
    start = cell(0.0 if kind == "One" or by_time else 0.0025)
    head += f"Y_Unit_Label\t{both('mm', 'mm')}\t\nX0\t{both('0', start)}\t\n"
    head += f"Delta_X\t{both(cell(0.005), cell(0.005))}\t\n***End_of_Header***\t\t\n"
    sent, came = map(cell, command(TIMES)), map(cell, measured(later))
    if kind == "Multi":
        x = TIMES if by_time else later
        lines = ["X_Value\tcommand\tX_Value\tmeasured\tComment"]
        lines += map("\t".join, zip(map(cell, TIMES), sent, map(cell, x), came, strict=True))
    else:
        lines = ["X_Value\tcommand\tmeasured\tComment"]
        lines += map("\t".join, zip(map(cell, TIMES) if kind == "One" else [""] * N, sent, came, strict=True))
    return head + "\n".join(lines) + "\n"


@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("by_time", [False, True])
@pytest.mark.parametrize("kind", ["No", "One", "Multi"])
def test_measurement_files_of_labview(kind: str, by_time: bool, decimal: str, tmp_path: Path) -> None:
    (tmp_path / "l.lvm").write_text(lvm(kind, decimal, by_time=by_time))
    chosen = Selection()
    if kind != "One" or by_time:
        assert "not sampled together" in refusal(tmp_path / "l.lvm")
        chosen = Selection(resample=RATE)
    recording = open_recording(tmp_path / "l.lvm", chosen)
    check_delay(recording, tolerance=1.5e-4)
    assert [(c.name, c.unit) for c in recording.stream.channels] == [("command", "mm"), ("measured", "mm")]


@pytest.mark.parametrize(
    ("kind", "later", "missing"),
    [("No", 8.0, 0), ("No", 8.002, 0), ("No", 9.0, 200), ("No", 4.0, None), ("One", 8.0, 0), ("One", 4.0, None)],
)
def test_segments_that_labview_has_begun_anew_are_one_recording(
    kind: str, later: float, missing: int | None, tmp_path: Path
) -> None:
    x = TIMES if kind == "One" else np.full(N, "")
    rows = text({"X_Value": x, **MOTION}, by="\t")
    head = "Channels\t2\nDate\t2024/03/07\t2024/03/07\nTime\t{0}\t{0}\nX0\t0\t0\nDelta_X\t0.005\t0.005\n"
    segments = [head.format(f"09:58:{30.0 + begin}") + "***End_of_Header***\n" + rows for begin in (0.0, later)]
    start = f"LabVIEW Measurement\nX_Columns\t{kind}\n***End_of_Header***\n"
    (tmp_path / "s.lvm").write_text(start + "\n".join(segments))
    if missing is None:
        assert "segment 1, segment 2" in refusal(tmp_path / "s.lvm")
        return
    recording = open_recording(tmp_path / "s.lvm")
    assert "2 segments, one after another, are one recording" in recording.notes
    assert recording.n_samples == 2 * N and recording.duration == pytest.approx(2 * N / RATE + missing / RATE)


def test_comments_and_lost_cells_of_labview_stay_at_their_rows(tmp_path: Path) -> None:
    lines = lvm("One").splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("X_Value")) + 1
    lines[first + 400] += "\tvalve opened"
    cells = lines[first + 7].split("\t")
    lines[first + 7] = f"{cells[0]}\t{cells[1]}\t"
    (tmp_path / "c.lvm").write_text("\n".join(lines) + "\n")
    recording = open_recording(tmp_path / "c.lvm")
    check_delay(recording)
    found = next(recording.blocks(N)).samples
    assert np.argwhere(np.isnan(found)).tolist() == [[7, 1]]
    assert [(event.detail, at) for event, at in recording.timed_events()] == [("Comment: valve opened", 2.0)]


def test_names_inside_structs(tmp_path: Path) -> None:
    pairs = [(command(TIMES), "Model/command"), (measured(TIMES), "Model/measured")]
    signals = np.array(pairs, dtype=[("Data", object), ("Name", object)])
    scipy.io.savemat(tmp_path / "d.mat", {"capture": {"X": {"Name": "", "Data": TIMES}, "Y": signals}})
    data = np.column_stack([TIMES, command(TIMES), measured(TIMES)])
    heads = np.array(["time", "command", "measured"], dtype=object)
    scipy.io.savemat(tmp_path / "i.mat", {"A": {"data": data, "colheaders": heads, "textdata": heads}})
    for name in ("d.mat", "i.mat"):
        check_delay(open_recording(tmp_path / name))


@pytest.mark.parametrize("name", ["csv", "json lines"])
def test_zeros_that_a_crash_leaves_at_the_end_are_noted(name: str, tmp_path: Path) -> None:
    path = write_columns(tmp_path, name, {"time": TIMES, **MOTION})
    path.write_bytes(path.read_bytes() + bytes(4096))
    recording = open_recording(path)
    assert recording.n_samples == N and LAST_LINE_CUT in recording.notes
    assert getattr(recording, "outcome", "") == "truncated"
    check_delay(recording)


FOREIGN = {
    "run.csv": (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 9\n",
        "a pointer of Git LFS.*git lfs pull",
    ),
    "run.h5": (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 9\n", "a pointer of Git LFS"),
    "run.mat": (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 9\n", "a pointer of Git LFS"),
    "a.dat": (b"|CF,2,1,1;|CK,1,3,1,1;", "imc FAMOS"),
    "o.txt": (
        b"# Created by Octave 7.3.0\n" + b"# name: t\n# type: matrix\n# rows: 2\n# columns: 1\n 0\n 1\n\n" * 2,
        "text file of GNU Octave with several variables: .*save -hdf5",
    ),
    "o.bin": (b"Octave-1-L\0\1", "binary file of GNU Octave.*save -hdf5"),
    "a.dxd": (b"\1\2\3\0", "DEWESoft"),
    "a.bin": (b"\x88\x13\0\0", "catman"),
    "a.wav": (b"RIFF\x24\0\0\0WAVEfmt ", "a sound"),
    "a.xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "Excel: save its sheet as CSV"),
    "a.csv.gz": (b"\x1f\x8b\x08\0", "gunzip"),
    "a.nc": (b"CDF\x01\0\0", "nccopy -k nc4"),
    "a.html": (b"<!DOCTYPE html><html>", "a page of the web"),
    "a.pkl": (b"\x80\x04\x95\0\0", "pickle.*not read"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_file_of_another_program_says_what_it_is_and_what_converts_it(name: str, tmp_path: Path) -> None:
    content, said = FOREIGN[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(RecordingError, match=said) as found:
        open_recording(tmp_path / name)
    assert "damaged" not in str(found.value) and "\n" not in str(found.value)


def test_a_false_clock_offset_of_a_stream_is_left_out(tmp_path: Path) -> None:
    def offsets(number: int, pairs: Sequence[tuple[float, float]]) -> bytes:
        return b"".join(xdf_chunk(4, struct.pack("<Idd", number, at, value)) for at, value in pairs)

    parts = [b"XDF:" + xdf_chunk(1, b"<info><version>1.0</version></info>")]
    for k, (name, values, ahead) in enumerate(
        (("command", command(TIMES), 0.0), ("measured", measured(TIMES), 4000.0)), 1
    ):
        parts.append(xdf_stream(k, name, RATE, [(name, "mm")]))
        stamps = 1000.0 + ahead + TIMES
        parts += [xdf_samples(k, stamps[a : a + 40], values[a : a + 40, None]) for a in range(0, N, 40)]
        parts.append(offsets(k, [(1000.0 + ahead + 2 * i, -ahead) for i in range(5)]))
    parts.append(offsets(2, [(5009.9, -3999.2)]))
    (tmp_path / "o.xdf").write_bytes(b"".join(parts))
    recording: Recording = open_recording(tmp_path / "o.xdf", Selection(resample=RATE))
    check_delay(recording)
    assert any("1 of 6 clock offsets are false, by 800 ms, and not used" in note for note in recording.notes)
