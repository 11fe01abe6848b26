"""Files that no lab makes: pipes, devices, bombs, links, and texts that steer whoever shows them."""

import os
import zipfile
from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np
import pytest

from monitor.__main__ import main
from monitor.config import SettingsError, load_settings
from monitor.ensembles.files import read_ensemble
from monitor.ensembles.plan_files import read_tolerance_table
from monitor.messages.blocks import Column
from monitor.recording import RunFileError, RunReader
from monitor.reliability.ensemble import EnsembleError
from monitor.reliability.tolerance import ToleranceError
from monitor.system.safe_text import csv_cell, printable
from replay.assessment import Series
from replay.assessment.run import record_settings
from replay.commands.assess import _write_series
from replay.formats import RecordingError, open_recording
from tests.campaign.run_file_mutations import write_run

ENDLESS = Path("/dev/zero")


@pytest.fixture(params=["pipe", "device"])
def endless(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == "device":
        return ENDLESS
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def test_what_never_ends_is_refused_and_not_waited_for(endless: Path) -> None:
    with pytest.raises(RecordingError, match="not a regular file"):
        open_recording(endless)
    with pytest.raises(RunFileError, match="not a regular file"):
        RunReader(endless)
    with pytest.raises(SettingsError, match="not a regular file"):
        load_settings(endless, {})
    with pytest.raises(EnsembleError, match="not a regular file"):
        read_ensemble(endless)
    with pytest.raises(ToleranceError, match="not a regular file"):
        read_tolerance_table(endless, np.arange(3.0))


@pytest.mark.parametrize("words", [("assess",), ("identify",), ("recover",), ("replay", "--describe")])
def test_the_commands_say_so_in_one_line(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([words[0], str(ENDLESS), *words[1:]]) == 2
    said = capsys.readouterr().err
    assert "regular file" in said and said.count("\n") == 1


@pytest.mark.parametrize(
    "text", ["a = " + "[" * 50_000 + "]" * 50_000, "a = " + "{b = " * 50_000 + "1" + "}" * 50_000]
)
def test_settings_that_are_nested_for_ever_are_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "lab.toml"
    path.write_text(text)
    with pytest.raises(SettingsError, match="nested too deep"):
        load_settings(path, {})


def test_settings_of_many_megabytes_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "lab.toml"
    path.write_text("# " + "x" * (1 << 20))
    with pytest.raises(SettingsError, match="more than"):
        load_settings(path, {})


def test_a_small_file_is_not_unpacked_to_gigabytes(tmp_path: Path) -> None:
    packed = tmp_path / "e.npz"
    np.savez_compressed(packed, time=np.arange(2.0), response=np.zeros((2, 1 << 24)))
    with pytest.raises(EnsembleError, match=r"claims 0\.268 GB of numbers in a file of 0\.26"):
        read_ensemble(packed)
    claimed = tmp_path / "e.h5"
    with h5py.File(claimed, "w") as file:
        file["time"] = np.arange(4.0)
        file.create_dataset("response", (4, 1 << 28), "f8", chunks=(4, 1 << 12))
    with pytest.raises(EnsembleError, match=r"claims 8\.59 GB of numbers in a file of 0\.00"):
        read_ensemble(claimed)


@pytest.mark.parametrize("header", [b"{'shape': (3,", b"(((", b'{\'descr\': """', b"\xff\xfe"])
def test_an_array_whose_header_breaks_off_is_one_line(tmp_path: Path, header: bytes) -> None:
    with zipfile.ZipFile(tmp_path / "e.npz", "w") as file:
        for name in ("time", "response"):
            text = header.ljust(117) + b"\n"
            file.writestr(f"{name}.npy", b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text)
    with pytest.raises(EnsembleError, match="cannot be read as an ensemble") as caught:
        read_ensemble(tmp_path / "e.npz")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("way", ["link", "raw"])
def test_an_ensemble_does_not_reach_into_other_files(tmp_path: Path, way: str) -> None:
    other, path = tmp_path / "other", tmp_path / "e.h5"
    with h5py.File(other, "w") as file:
        file["response"] = np.random.default_rng(0).normal(size=(4, 8))
    with h5py.File(path, "w") as file:
        file["time"] = np.arange(4.0)
        if way == "link":
            file["response"] = h5py.ExternalLink(other, "/response")
        else:
            file.create_dataset("response", (4, 8), "f8", external=[(str(other), 0, h5py.h5f.UNLIMITED)])
    with pytest.raises(EnsembleError, match="stored in another file"):
        read_ensemble(path)


def test_texts_of_a_run_do_not_steer_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_run(tmp_path / "run\x1b[31m.h5")
    with h5py.File(path, "r+") as file:
        rows = file["events"][()]
        rows["detail"][:] = b"\x1b]0;owned\x07\x1b[2J"
        file["events"][...] = rows
        del file["settings"], file["outcome"]
        file["settings"] = np.bytes_(rb'{"indicators": {"\u001b[2Jx": 1}}')
        file["outcome"] = np.bytes_(b"\x1b[2J")
        file.attrs["rig"] = "\x1b[2J"
    main(["replay", str(path), "--describe"])
    main(["recover", str(path)])
    main(["recover", str(path), "-o", str(path)])
    said = capsys.readouterr()
    for text in (said.out, said.err):
        assert text and "\x1b" not in text and "\x07" not in text


def test_a_series_has_no_formula_in_its_header(tmp_path: Path) -> None:
    columns = (Column("fdb_delay", "s", "=cmd|' /C calc'!A0"), Column("fdb_delay", "s", "north"))
    found = SimpleNamespace(series=Series(np.arange(3.0), np.arange(3.0), np.zeros((3, 2)), columns), pairs=range(2))
    _write_series(found, tmp_path / "s.csv", 1, lambda *_: None)
    header = (tmp_path / "s.csv").read_text().splitlines()[0]
    assert header == "t [s],'=cmd|' /C calc'!A0_fdb_delay [s],north_fdb_delay [s]"


@pytest.mark.parametrize("content", ['{"indicators": {"window": -1, "no": {}}}', '{"indicators": 7}', "[", "{}"])
def test_a_run_is_assessed_whatever_its_settings_say(tmp_path: Path, content: str) -> None:
    path = write_run(tmp_path / "run.h5")
    with h5py.File(path, "r+") as file:
        del file["settings"]
        file["settings"] = np.bytes_(content)
    settings, notes = record_settings(open_recording(path), {})
    assert settings.window > 0.0
    assert any("are not valid and were ignored" in note for note in notes) == ("window" in content)


def test_a_header_cell_is_no_formula() -> None:
    assert csv_cell("=HYPERLINK(1)") == "'=HYPERLINK(1)" and csv_cell(" @x") == "' @x" and csv_cell("-1+2") == "'-1+2"
    assert csv_cell("x_c\n=1") == "x_c =1" and csv_cell("broadband_delay") == "broadband_delay"
    assert printable("a\x1b[31mb") == "a\ufffd[31mb" and printable("µm ²") == "µm ²"
