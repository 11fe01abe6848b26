"""Measured records out of text tables and run files."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from monitor.recording import RunWriter
from replay.formats.base import RecordingError
from replay.validation.records import is_run, read_record, read_run
from tests.replay.written_formats import ROUNDED, TIMES, WRITERS, run_samples, written

TIME = np.arange(6) * 0.25
RESPONSE = np.array([0.0, 1.5, -2.25, 3.0, 1e-3, -7.0])


def write(path, header, *columns, end="\n"):
    rows = [",".join("" if cell is None else repr(cell) for cell in row) for row in zip(*columns, strict=True)]
    path.write_text("\n".join([*([header] if header else []), *rows]) + end)
    return path


@pytest.mark.parametrize(
    ("header", "factor", "unit"),
    [
        ("time,response", 1.0, ""),
        ("", 1.0, ""),
        ("time [ms],response [mm]", 1e3, "mm"),
        ("t_ms,laser_mm", 1e3, "mm"),
        ("Time (min),anything", 1.0 / 60.0, ""),
        ("TIME,Response [in/s^2]", 1.0, "in/s^2"),
    ],
)
def test_time_is_in_seconds_and_the_response_in_its_unit(tmp_path, header, factor, unit):
    path = write(tmp_path / "a.csv", header, (TIME * factor).tolist(), RESPONSE.tolist())
    record = read_record(path)
    np.testing.assert_allclose(record.time, TIME, rtol=1e-15, atol=1e-15)
    np.testing.assert_array_equal(record.response, RESPONSE)
    assert (record.name, record.unit, record.dt) == (str(path), unit, pytest.approx(0.25))


def test_without_a_header_the_names_are_told(tmp_path):
    (note,) = read_record(write(tmp_path / "a.csv", "", TIME.tolist(), RESPONSE.tolist())).notes
    assert "no header" in note


@pytest.mark.parametrize(
    ("header", "words", "taken"),
    [
        ("time,load,response", {}, 2),
        ("time,load,response", {"response": "load"}, 1),
        ("time,load,response", {"response": "2"}, 1),
        ("stamp,load,clock", {"time": "clock", "response": "LOAD"}, 1),
    ],
)
def test_of_several_columns_the_one_called_response_or_the_one_named(tmp_path, header, words, taken):
    columns = [RESPONSE, 2.0 * RESPONSE, 3.0 * RESPONSE]
    columns[2 if words.get("time") == "clock" else 0] = TIME
    path = write(tmp_path / "a.csv", header, *(column.tolist() for column in columns))
    np.testing.assert_array_equal(read_record(path, **words).response, columns[taken])


@pytest.mark.parametrize("blank", [None, float("nan")])
def test_a_missing_sample_stays_in_its_place(tmp_path, blank):
    response = RESPONSE.tolist()
    response[3] = blank
    record = read_record(write(tmp_path / "a.csv", "time,response", TIME.tolist(), response))
    np.testing.assert_array_equal(np.isnan(record.response), [False, False, False, True, False, False])
    np.testing.assert_array_equal(record.time, TIME)


def test_a_last_line_that_was_cut_short_is_left_out_and_told(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("time,response\n0.0,1.0\n0.1,2.0\n0.2,3.0\n0.3")
    record = read_record(path)
    np.testing.assert_array_equal(record.response, [1.0, 2.0, 3.0])
    assert record.notes == ("the last line has no end, it may be cut short: left out",)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("time,response\n0,1\n1,2\n1,3\n2,4\n", "the time does not rise at line 4"),
        ("time,response\n0,1\n2,2\n1,3\n3,4\n", "the time does not rise at line 4"),
        ("time,response\n0,1\n,2\n2,3\n3,4\n", "the time is missing at line 3"),
        ("time [mm],response\n0,1\n1,2\n2,3\n", "the times of 'time' are in 'mm', which is not a time unit"),
        ("a,b,c\n0,1,2\n1,2,3\n2,3,4\n", "no column of times among a, b, c: name it with --time NAME"),
        ("time,b,c\n0,1,2\n1,2,3\n2,3,4\n", "which of b, c is the response: name it with --response NAME"),
        ("time,response\n0,1\n1,x\n2,3\n", "'x' is not a number"),
        ("time,response\n", "no rows of numbers"),
        ("", "the file is empty"),
    ],
)
def test_what_is_no_record_is_told_in_one_line_with_the_file(tmp_path, text, complaint):
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(RecordingError) as told:
        read_record(path)
    said = str(told.value)
    assert said.startswith(str(path)) and complaint in said and "\n" not in said


def test_a_file_that_is_not_there_or_a_folder(tmp_path):
    with pytest.raises(RecordingError, match=r"no\.csv: no such file or directory$"):
        read_record(tmp_path / "no.csv")
    with pytest.raises(RecordingError, match=r": is a directory$"):
        read_record(tmp_path)


def test_a_column_that_is_not_there_is_told_with_those_there_are(tmp_path):
    path = write(tmp_path / "a.csv", "time,response", TIME.tolist(), RESPONSE.tolist())
    with pytest.raises(RecordingError, match=r"a\.csv: no column 'force'; there are time, response$"):
        read_record(path, response="force")


@pytest.mark.parametrize("name", [name for name in WRITERS if name != "csv"])
def test_a_record_of_any_format(tmp_path, name):
    record = read_record(written(tmp_path, name), response="oil")
    error = ROUNDED.get(name, 0.0)
    np.testing.assert_allclose(record.response, run_samples()[:, -1], rtol=error)
    # those of XDF are on the clock of the stream, dates count from the first sample
    np.testing.assert_allclose(record.time - record.time[0], TIMES, atol=1e-9)
    assert record.time[0] == pytest.approx(0.0) or name == "xdf"
    with pytest.raises(RecordingError, match=r"which of .* is the response: name it with --response NAME$"):
        read_record(tmp_path / f"run{WRITERS[name][0]}")


def test_a_response_is_found_in_the_dataset_that_has_it(tmp_path):
    path = tmp_path / "two.h5"
    with h5py.File(path, "w") as file:
        file["fast/time"], file["fast/load"] = np.arange(9) / 100.0, np.arange(9.0)
        file["slow/time"], file["slow/response"] = TIME, RESPONSE
        file["slow/response"].attrs["unit"] = "mm"
    record = read_record(path)
    np.testing.assert_array_equal(record.response, RESPONSE)
    np.testing.assert_array_equal(record.time, TIME)
    assert record.unit == "mm"
    np.testing.assert_array_equal(read_record(path, response="load").time, np.arange(9) / 100.0)


RATE = 50.0


def a_run(path, names, blocks):
    channels = tuple(Channel(name, Role.AUXILIARY, "mm") for name in names)
    writer = RunWriter(path, {})
    for epoch, index, samples in blocks:
        writer.signals(SignalBlock(Stream("rig", epoch, RATE, channels), index, 1e9 + index / RATE, samples))
    writer.close()
    return path


def test_a_channel_of_a_run_with_its_times_from_sample_0(tmp_path):
    samples = np.arange(12.0).reshape(6, 2)
    path = a_run(tmp_path / "run.h5", ["oil", "response"], [(1, 10, samples[:4]), (1, 20, samples[4:])])
    assert is_run(path)
    record = read_run(path)
    np.testing.assert_array_equal(record.time, np.array([10, 11, 12, 13, 20, 21]) / RATE)
    np.testing.assert_array_equal(record.response, samples[:, 1])
    assert (record.name, record.unit) == (str(path), "mm")
    np.testing.assert_array_equal(read_run(path, "oil").response, samples[:, 0])


def test_what_is_no_replicate_is_told(tmp_path):
    one = np.zeros((3, 1))
    twice = a_run(tmp_path / "twice.h5", ["response"], [(1, 0, one), (2, 0, one)])
    with pytest.raises(RecordingError, match=r"twice.h5: the rig was restarted in it, it holds 2 tests"):
        read_run(twice)
    several = a_run(tmp_path / "several.h5", ["a", "b"], [(1, 0, np.zeros((3, 2)))])
    with pytest.raises(RecordingError, match=r"several.h5: which channel is the response: .*; there are a, b"):
        read_run(several)
    with pytest.raises(RecordingError, match=r"no channel 'c'; there are a, b"):
        read_run(several, "c")
    text = tmp_path / "r.csv"
    text.write_text("time,response\n0,1\n1,2\n")
    assert not is_run(text) and not is_run(tmp_path) and not is_run(tmp_path / "none.h5")
