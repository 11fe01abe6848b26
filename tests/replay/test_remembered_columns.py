"""Columns remembered beside a file: written when asked, read by themselves, overridden by options."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from monitor.__main__ import main
from monitor.recording import RunWriter
from replay.formats import RecordingError, Selection, inspect_recording, open_recording
from replay.formats.sidecar import sidecar_of
from replay.simulations import simulation
from tests.mistakes import refusal_of
from tests.records import Records

_TIMES = np.arange(200) / 100.0


def table(path: Path, names: str = "red,green,blue,t") -> Path:
    values = np.column_stack([np.sin(_TIMES), np.cos(_TIMES), _TIMES**2, _TIMES])
    np.savetxt(path, values, "%.9g", ",", header=names, comments="")
    return path


def test_a_choice_is_written_only_when_asked_and_then_read(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv")
    chosen = Selection(("red",), ("green",), ("blue",))
    first = open_recording(path, chosen)
    assert not sidecar_of(path).exists()
    with pytest.raises(RecordingError, match="which column is the command"):
        open_recording(path)
    written = open_recording(path, Selection(("red",), ("green",), ("blue",), remember=True))
    assert "the columns are remembered in a.csv.synchroscope.toml" in written.notes
    again = open_recording(path)
    assert again.stream == first.stream
    assert again.notes[0] == "command, measured, force, time as remembered in a.csv.synchroscope.toml"
    found = inspect_recording(path)[1]
    assert found.selection is not None
    assert (found.selection.command, found.selection.time) == (("red",), "t")


def test_options_override_what_is_remembered(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv")
    open_recording(path, Selection(("red",), ("green",), ("blue",), rate=50.0, remember=True))
    recording = open_recording(path)
    assert (recording.stream.sample_rate, recording.stream.pairs[0].force) == (50.0, 2)
    by_time = open_recording(path, Selection(time="t"))
    assert (by_time.stream.sample_rate, len(by_time.stream.pairs)) == (100.0, 1)
    other = open_recording(path, Selection(("blue",), ("red",)))
    (pair,) = other.stream.pairs
    assert (pair.command, pair.measured, pair.force) == (2, 0, None)
    assert other.notes[0] == "rate as remembered in a.csv.synchroscope.toml"
    assert not open_recording(path, Selection(auxiliary=True)).stream.pairs


@pytest.mark.parametrize("name", ['quoted "a" \\ b.csv', "ümläut.csv", "new\nline.csv"])
def test_any_name_of_file_and_columns_survives(tmp_path: Path, name: str) -> None:
    path = table(tmp_path / name, "röd \\ 'x',g#[1],blue\x7f,t")
    first = open_recording(path, Selection(("1",), ("2",), remember=True))
    assert open_recording(path).stream == first.stream


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[columns", "Expected ']'"),
        ("[columns]\ncolour = 1\n", "unknown field `colour`"),
        ("[columns]\ncommand = 3\n", "Expected `array`, got `int`"),
        ('[columns]\ncommand = ["red"]\n', "1 command and 0 measured columns"),
        ("", "missing required field `columns`"),
        ("\xff\xfe", "codec can't decode"),
    ],
)
def test_what_is_damaged_is_one_line_with_its_name(tmp_path: Path, text: str, why: str) -> None:
    path = table(tmp_path / "a.csv")
    sidecar_of(path).write_bytes(text.encode("latin-1"))
    with pytest.raises(RecordingError, match="mend it, or delete it and choose the columns again") as found:
        open_recording(path)
    assert str(found.value).startswith(f"{sidecar_of(path)}: ")
    assert why in str(found.value) and "\n" not in str(found.value)


def test_a_column_that_is_no_longer_there_is_named(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv")
    open_recording(path, Selection(("red",), ("green",), remember=True))
    table(path, "rot,gruen,blau,t")
    with pytest.raises(RecordingError, match="no column 'red'; there are rot"):
        open_recording(path)


def test_a_run_file_knows_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    writer = RunWriter(path, {})
    for block in simulation("hybrid", duration=0.5).blocks(100):
        writer.signals(block)
    writer.close()
    sidecar_of(path).write_text('[columns]\ncommand = ["x"]\nmeasured = ["y"]\n')
    assert len(open_recording(path).stream.pairs) == 3
    with pytest.raises(RecordingError, match="a run file knows its channels"):
        open_recording(path, Selection(remember=True))


def test_halves_have_no_columns_to_remember(records: Records) -> None:
    with pytest.raises(RecordingError, match="--remember: the file's columns are not chosen"):
        open_recording(records.openfresco / "Elmt_ctrlDsp_Ref.out", Selection(remember=True))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_is_one_line(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv")
    tmp_path.chmod(0o500)
    with pytest.raises(RecordingError, match="cannot be written"):
        open_recording(path, Selection(("red",), ("green",), remember=True))


@pytest.mark.usefixtures("warm_kernels")
def test_the_commands_remember_and_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = table(tmp_path / "a.csv")
    words = ["assess", str(path), "--window", "0.5"]
    assert main([*words, "--command", "red", "--measured", "green", "--remember"]) == 0
    assert "remembered in a.csv.synchroscope.toml" in capsys.readouterr().out
    assert main(words) == 0
    assert "command, measured, time as remembered in a.csv.synchroscope.toml" in capsys.readouterr().out
    said = refusal_of(capsys, "assess", sidecar_of(path))
    assert said.endswith("columns that are remembered for a recording: open a.csv")
