"""Written times: rounding, units, gaps and jitter told apart."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.formats import RecordingError, Selection, open_recording
from replay.formats.cells import DateForm, parse_instants
from replay.formats.clock import read_timing, through_daylight_saving
from tests.replay.column_files import write_columns

PAIR = Selection(command=("cmd",), measured=("meas",))


def write(path: Path, times: list[str], header: str = "time") -> Path:
    path.write_text(f"{header},cmd,meas\n" + "".join(f"{t},{k},{-k}\n" for k, t in enumerate(times)))
    return path


@pytest.mark.parametrize("rate", [51.2, 100.0, 256.0, 1000 / 3, 1024.0, 2048.0, 5000.0])
@pytest.mark.parametrize("form", ["{:.6g}", "{:.7f}", "{:.9e}", "{!r}"])
def test_the_rate_behind_rounded_times_is_found(tmp_path: Path, rate: float, form: str) -> None:
    times = [form.format(float(k / rate)) for k in range(1, 900)]
    stream = open_recording(write(tmp_path / "r.csv", times)).stream
    assert stream.sample_rate == pytest.approx(rate, rel=1e-9)


@given(st.integers(1, 4000), st.integers(20, 3000), st.integers(3, 7), st.floats(0, 1000))
def test_rounding_of_half_a_step_or_less_changes_no_sample_number(
    rate: int, n: int, digits: int, start: float
) -> None:
    if 10.0**-digits > 0.5 / rate:
        return
    times = np.round(start + np.arange(n) / rate, digits)
    timing = read_timing(times, 1.0, lambda row: f"line {row}")
    assert timing.index is None
    assert timing.sample_rate == pytest.approx(rate, rel=4 * 10.0**-digits * rate / n)


@pytest.mark.parametrize(
    ("header", "scale"),
    [("time", 1), ("Running Time (s)", 1), ("Zeit_ms", 1e3), ("t_us", 1e6), ("Time [min]", 1 / 60)],
)
def test_the_unit_of_time_is_honoured(tmp_path: Path, header: str, scale: float) -> None:
    times = [f"{(3 + k / 200) * scale:.12g}" for k in range(50)]
    recording = open_recording(write(tmp_path / "u.csv", times, header))
    assert recording.stream.sample_rate == pytest.approx(200.0)
    assert next(recording.blocks(1)).time == pytest.approx(3.0)
    assert (scale == 1) is not any(note.endswith("converted to s") for note in recording.notes)


@given(st.sets(st.integers(1, 298), max_size=60), st.sampled_from([3, 4, 6]), st.integers(1, 50))
def test_missing_samples_become_gaps_in_the_numbers(missing: set[int], digits: int, length: int) -> None:
    index = np.array([k + length * (k > 150) for k in range(300) if k not in missing])
    if np.median(np.diff(index)) > 1:
        return
    timing = read_timing(np.round(index / 1000, digits), 1.0, lambda row: f"line {row}")
    assert timing.sample_rate == pytest.approx(1000.0)
    np.testing.assert_array_equal(timing.index, index)


def test_blocks_stop_at_a_gap_and_carry_the_true_numbers_and_times(tmp_path: Path) -> None:
    index = [*range(7), *range(20, 31), 40]
    recording = open_recording(write(tmp_path / "g.csv", [f"{5 + k / 100:.4f}" for k in index]))
    blocks = list(recording.blocks(4))
    assert [(b.index, len(b)) for b in blocks] == [(0, 4), (4, 3), (20, 4), (24, 4), (28, 3), (40, 1)]
    assert [b.time for b in blocks] == pytest.approx([5 + b.index / 100 for b in blocks])
    assert any("22 missing samples in 2 gaps, the first before line 9" in note for note in recording.notes)
    later = list(recording.blocks(100, start=0.22))
    assert [(b.index, len(b)) for b in later] == [(22, 9), (40, 1)]
    assert [(b.index, len(b)) for b in recording.blocks(100, start=0.1)] == [(20, 11), (40, 1)]


def test_a_little_jitter_is_let_pass_and_more_is_refused(tmp_path: Path) -> None:
    noise = np.random.default_rng(3).uniform(-1, 1, 400)
    grid = np.arange(400) / 100
    fine = write(tmp_path / "fine.csv", [f"{t:.9f}" for t in grid + 5e-5 * noise])
    assert open_recording(fine).stream.sample_rate == pytest.approx(100.0, rel=1e-3)
    poor = write(tmp_path / "poor.csv", [f"{t:.9f}" for t in grid + 2e-3 * noise])
    with pytest.raises(RecordingError, match="not even"):
        open_recording(poor)
    asked = open_recording(poor, Selection(rate=100.0))
    assert asked.stream.sample_rate == 100.0
    assert "time" in [c.name for c in asked.stream.channels]  # nothing is lost


def test_two_rates_in_one_record_are_refused(tmp_path: Path) -> None:
    times = np.concatenate((np.arange(200) / 100, 2 + np.arange(200) / 110))
    with pytest.raises(RecordingError, match="not even"):
        open_recording(write(tmp_path / "two.csv", [f"{t:.9f}" for t in times]))


def test_a_long_table_is_read_exactly(tmp_path: Path) -> None:
    n = 100_000
    values = np.random.default_rng(0).standard_normal((n, 2))
    path = tmp_path / "long.csv"
    times = np.arange(n) / 4096
    np.savetxt(path, np.column_stack((times, values)), "%.17g", ",", header="time,cmd,meas", comments="")
    recording = open_recording(path)
    assert recording.stream.sample_rate == 4096.0
    np.testing.assert_allclose(np.concatenate([b.samples for b in recording.blocks(999)]), values, rtol=4e-16)


@pytest.mark.parametrize(
    ("times", "word"),
    [
        ([f"{k}e300" for k in range(1, 9)], "far too large"),
        ([f"{k * 2e307}" for k in range(9)], r"far too large|missing"),
        (["-1e308", "0", "1e308"], "far too large"),
        ([f"{k}e-320" for k in range(9)], "far too short"),
        (["0", "1e-300", "1", "2", "1e19"], "far too"),
        (["0", "1", "2", "3", "1e18"], "far too long"),
        ([f"1{'0' * 400}{k}" for k in range(9)], "missing"),
    ],
)
def test_times_of_no_test_are_one_line(tmp_path: Path, times: list[str], word: str) -> None:
    for header in ("time", "t [h]", ""):
        with pytest.raises(RecordingError, match=word if header else None) as caught:
            open_recording(write(tmp_path / "odd.csv", times, header))
        assert str(caught.value).isprintable()


@pytest.mark.parametrize("rate", [1e308, 1e-308, 0.0, -1.0, float("nan"), float("inf")])
def test_a_rate_of_no_test_is_refused(rate: float) -> None:
    with pytest.raises(RecordingError, match=r"--rate .*: must be between"):
        Selection(rate=rate)


@pytest.mark.parametrize("where", ["header", "first", "later"])
def test_a_cell_in_quotes_may_be_longer_than_csv_takes(tmp_path: Path, where: str) -> None:
    path = write(tmp_path / "long.csv", [f"{k / 10}" for k in range(40)])
    rows, cell = path.read_text().splitlines(), f'"{"1" * 140_000}"'
    at = {"header": 0, "first": 1, "later": 30}[where]
    rows[at] = f"{cell},1,2"
    path.write_text("\n".join(rows) + "\n")
    with pytest.raises(RecordingError) as caught:
        open_recording(path)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("header", ["time", "Timestamp", "date", "Time (UTC)"])
@pytest.mark.parametrize(
    "form", ["{:%Y-%m-%dT%H:%M:%S.%f}Z", "{:%Y-%m-%d %H:%M:%S.%f}", "{:%Y-%m-%dT%H:%M:%S.%f}+00:00"]
)
def test_iso_8601_times_are_read(tmp_path: Path, header: str, form: str) -> None:
    begin = datetime(2026, 3, 2, 9, 31, 7, 482_000, UTC)
    times = [form.format(begin + timedelta(microseconds=500 * k)) for k in range(3000)]
    recording = open_recording(write(tmp_path / "r.csv", times, header), PAIR)
    assert recording.stream.sample_rate == 2000.0
    block = next(recording.blocks(5000))
    assert block.time == pytest.approx(9 * 3600 + 31 * 60 + 7.482, abs=1e-9)
    assert block.samples[:, 0].tolist() == list(range(3000))
    assert f"the times of {header.partition(' (')[0]} count from 2026-03-02, 00:00 UTC" in recording.notes


def test_iso_8601_times_of_whole_seconds_over_midnight(tmp_path: Path) -> None:
    begin = datetime(2026, 12, 31, 23, 59, 50, tzinfo=UTC)
    times = [f"{begin + timedelta(seconds=k):%Y-%m-%dT%H:%M:%S}" for k in range(40) if k not in (20, 21)]
    recording = open_recording(write(tmp_path / "r.csv", times), PAIR)
    assert recording.stream.sample_rate == 1.0
    assert "2 missing samples in a gap" in " ".join(recording.notes)


def test_without_pandas_and_with_a_bad_instant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replay.formats.table.read_compiled", lambda *_: None)
    times = [f"2026-03-02 09:31:0{k}" for k in range(5)]
    path = tmp_path / "r.csv"
    path.write_text("time;cmd;meas\n" + "".join(f"{t};{k},5;{k},25\n" for k, t in enumerate(times)))
    recording = open_recording(path, PAIR)
    assert next(recording.blocks(10)).samples[1].tolist() == [1.5, 1.25]
    with pytest.raises(RecordingError, match=r"line 4, column 1 .time.: '2026-03-02 later' is not a date and time"):
        open_recording(write(tmp_path / "b.csv", [*times[:2], "2026-03-02 later", *times[3:]]), PAIR)


@given(st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1)), st.integers(-14 * 60, 14 * 60))
def test_an_instant_is_that_of_the_standard_library(moment: datetime, offset: int) -> None:
    zone = f"{'-' if offset < 0 else '+'}{abs(offset) // 60:02d}:{abs(offset) % 60:02d}"
    text = f"{moment:%Y-%m-%dT%H:%M:%S.%f}{zone}".rjust(32, "0")
    expected = datetime.fromisoformat(text).timestamp()
    assert DateForm().seconds(text, 0) == pytest.approx(expected, abs=1e-6)
    basic = f"{moment:%Y%m%dT%H%M%S.%f}".rjust(22, "0") + zone.replace(":", "")
    assert DateForm().seconds(basic, 0) == DateForm().seconds(text, 0)
    (stamp,) = parse_instants([text]).astype("datetime64[us]").tolist()
    assert stamp.replace(tzinfo=UTC) == datetime.fromisoformat(text)
    day = int(DateForm().seconds(text, 0) // 86400)
    assert DateForm().seconds(text, day) == pytest.approx(expected - 86400 * day, abs=2e-6)


def test_a_date_that_does_not_exist_is_called_a_date(tmp_path: Path) -> None:
    times = [f"2026-02-{27 + k}T10:00:00" for k in range(4)]
    with pytest.raises(RecordingError, match=r"column 1 .time.: '2026-02-29T10:00:00' is not a date and time"):
        open_recording(write(tmp_path / "later.csv", times), PAIR)
    with pytest.raises(
        RecordingError, match=r"line 2, column 1 .time.: '2026-02-30T10:00:00' is not a date and time"
    ):
        open_recording(write(tmp_path / "first.csv", times[-1:] * 4), PAIR)


@pytest.mark.parametrize("day", ["1500-01-01", "1677-09-20", "2262-04-12", "2400-01-01"])
def test_a_day_that_64_bits_of_nanoseconds_do_not_reach_is_not_another_day(tmp_path: Path, day: str) -> None:
    assert parse_instants([f"{day}T00:00:00", "2026-03-02T00:00:00"]) is None
    # as an array of coarser dates it is right
    when = np.datetime64(day, "s") + np.arange(20)
    np.savez(tmp_path / "a.npz", when=when, cmd=np.arange(20.0), meas=np.arange(20.0))
    recording = open_recording(tmp_path / "a.npz", PAIR)
    assert recording.stream.sample_rate == 1.0
    assert f"the times of when count from {day}, 00:00 UTC" in recording.notes


def test_a_date_of_no_calendar_of_python_is_read(tmp_path: Path) -> None:
    when = np.datetime64(20_000_000, "D") + np.arange(20) * np.timedelta64(1, "s")
    np.savez(tmp_path / "a.npz", when=when, cmd=np.arange(20.0), meas=np.arange(20.0))
    assert open_recording(tmp_path / "a.npz", PAIR).n_samples == 20


@pytest.mark.parametrize(
    "text",
    [
        *("2026-02-30T00:00:00", "2026-03-02", "2026-03-02T24:00:00", "20260302T2400", "20260302 093107", "1e3"),
        *("2026-03-02T09:31:07+99:99", "2026-03-02T09:31:07+15:00", "2026-03-02T09:31:07-05:60"),
    ],
)
def test_what_is_no_instant_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        DateForm().seconds(text, 0)


def test_a_given_rate_that_the_times_contradict_is_noted(tmp_path: Path) -> None:
    path = write(tmp_path / "r.csv", [f"{k / 500:.3f}" for k in range(200)])
    notes = open_recording(path, Selection(command=("cmd",), measured=("meas",), rate=250.0)).notes
    assert "evenly spaced at 250 Hz, as given; the times in the file are those of 500 Hz" in notes
    notes = open_recording(path, Selection(command=("cmd",), measured=("meas",), rate=500.0)).notes
    assert "evenly spaced at 500 Hz, as given" in notes


BERLIN = ZoneInfo("Europe/Berlin")
STAMPS = {
    "naive": lambda t: t.replace(tzinfo=None).isoformat(timespec="milliseconds"),
    "Z": lambda t: t.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z",
    "offset": lambda t: t.astimezone(BERLIN).isoformat(timespec="microseconds"),
    "basic": lambda t: f"{t:%Y%m%dT%H%M%S.%f}Z",
    "comma": lambda t: t.replace(tzinfo=None).isoformat(timespec="milliseconds").replace(".", ","),
    "local": lambda t: t.astimezone(BERLIN).replace(tzinfo=None).isoformat(timespec="milliseconds"),
}
KINDS = ["csv", "json", "records.json", "parquet", "stamps.parquet", "npz", "hdf5"]


def stamped(folder: Path, kind: str, columns: dict[str, list[Any]], *, utc: bool) -> Path:
    """Write texts of stamps and numbers in a format; records of JSON, and stamps of Parquet, by pandas."""
    path = folder / f"run.{kind}"
    if kind == "csv":
        # a comma is in a stamp
        pd.DataFrame(columns).to_csv(path, sep=";", index=False)
    elif kind == "records.json":
        path.write_text(json.dumps(pd.DataFrame(columns).to_dict("records")))
    elif kind == "stamps.parquet":
        stamps = pd.to_datetime([t.replace(",", ".") for t in columns["when"]], format="ISO8601", utc=utc)
        pd.DataFrame(columns | {"when": stamps}).to_parquet(path)
    else:
        numbers = {name: np.array(values) for name, values in columns.items() if name != "when"}
        return write_columns(folder, kind, {"when": columns["when"], **numbers})
    return path


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", STAMPS)
def test_stamps_of_every_form_are_times_in_every_format(tmp_path: Path, form: str, kind: str) -> None:
    # local time goes back by an hour after the first second
    start, n = datetime(2026, 10, 25, 0, 59, 59, tzinfo=UTC), 200
    when = [STAMPS[form](start + timedelta(milliseconds=10 * k)) for k in range(n)]
    x = np.sin(np.arange(n) / 8)
    columns = {"when": when, "cmd": x.tolist(), "meas": np.roll(x, 1).tolist()}
    recording = open_recording(stamped(tmp_path, kind, columns, utc=form == "offset"), PAIR)
    assert (recording.stream.sample_rate, recording.n_samples) == (100.0, n)
    notes = " ".join(recording.notes)
    assert "count from 2026-10-25, 00:00 UTC" in notes
    assert ("go back by an hour" in notes) == (form == "local")
    # local time is two hours ahead
    assert next(recording.blocks(1)).time == pytest.approx(3599.0 + 7200.0 * (form == "local"))


@pytest.mark.parametrize("kind", ["csv", "json", "parquet", "stamps.parquet", "npz", "hdf5"])
@pytest.mark.parametrize("zone", ["Z", "+02:00"])
def test_an_hour_back_in_utc_is_a_fault_of_the_clock(tmp_path: Path, zone: str, kind: str) -> None:
    start, n = datetime(2026, 10, 25, 0, 59, 59), 200
    back = [start + timedelta(milliseconds=10 * k - 3_600_000 * (k >= 100)) for k in range(n)]
    columns = {"when": [t.isoformat(timespec="milliseconds") + zone for t in back]}
    columns |= {"cmd": np.arange(n).tolist(), "meas": np.arange(n).tolist()}
    with pytest.raises(RecordingError, match="the time goes backwards at"):
        open_recording(stamped(tmp_path, kind, columns, utc=True), PAIR)


@given(st.integers(4, 60), st.floats(1e-3, 10.0), st.data())
def test_an_hour_is_added_where_times_go_back_by_one_and_nowhere_else(n: int, dt: float, data: st.DataObject) -> None:
    times, row = dt * np.arange(n), data.draw(st.integers(1, n - 1))
    folded = times - 3600.0 * (np.arange(n) >= row)
    found, at = through_daylight_saving(folded)
    assert at == row
    np.testing.assert_allclose(found, times, atol=1e-9)
    by = data.draw(st.sampled_from([10.0 * dt, 1800.0, 3599.0 - 10.0 * dt, 7200.0]))
    other = times - by * (np.arange(n) >= row)
    assert through_daylight_saving(other)[1] is None
    assert through_daylight_saving(times)[1] is None


def test_a_text_among_stamps_is_named(tmp_path: Path) -> None:
    when = ["2026-03-02T09:31:07", "2026-03-02T09:31:08", "later", "2026-03-02T09:31:10"]
    pd.DataFrame({"when": when, "cmd": [1.0, 2.0, 3.0, 4.0], "meas": [1.0, 2.0, 3.0, 5.0]}).to_parquet(
        tmp_path / "a.parquet"
    )
    with pytest.raises(RecordingError, match=r"a\.parquet: column when: 'later' is no date and time as those before"):
        open_recording(tmp_path / "a.parquet", PAIR)
