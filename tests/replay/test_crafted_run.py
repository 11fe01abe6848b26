"""Files whose names, notes, alarms and dates are what nobody records: markup, control characters, 100 kB."""

from __future__ import annotations

import json
import shutil
from html.parser import HTMLParser
from pathlib import Path

import h5py
import numpy as np
import pandas
import pytest
import scipy.io

from monitor.__main__ import main
from replay.formats import RecordingError, Selection, open_recording
from tests.replay.report_runs import record_run

_HOSTILE = "\x1b[2J\x07</title></svg><script>alert(1)</script><img src=x onerror=alert(2)>\u202e\n\r\t=1+1"
_LONG = _HOSTILE + "W" * 100_000
_TEXTS = ("name", "unit", "actuator", "detail", "alarm")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, warm_kernels: None) -> Path:
    """Return a folder with a good run and the same one with other texts."""
    folder = tmp_path_factory.mktemp("crafted")
    good = record_run(folder / "good.h5", bad=True, duration=16.0)
    shutil.copy(good, folder / "bad.h5")
    with h5py.File(folder / "bad.h5", "r+") as file:
        for table in ("channels", "events"):
            rows = file[table][()]
            kind = rows.dtype
            wide = [(n, h5py.string_dtype("utf-8", 110_000) if n in _TEXTS else kind[n]) for n in kind.names]
            crafted = np.empty(rows.shape, wide)
            for name in kind.names:
                crafted[name] = rows[name]
            if table == "channels":
                crafted["name"] = [f"{number}{_LONG}".encode() for number in range(len(rows))]
                crafted["actuator"][rows["actuator"] == b"north"] = _LONG.encode()
            else:
                crafted["detail"] = _LONG.encode()
                crafted["alarm"][rows["alarm"] != b""] = _LONG.encode()
                crafted["time"][0] = 1e300
            del file[table]
            file[table] = crafted
        file.attrs["rig"] = _LONG[:60_000]
        file.attrs["created"] = "<b>2026\x1b[1m"
    return folder


class _Page(HTMLParser):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.handlers: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.handlers |= {name for name, _ in attributes if name.startswith("on")}


def said(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """Run a command that succeeds and return what it says: no control characters, no text of 100 kB."""
    assert main(list(map(str, words))) == 0
    found = "".join(capsys.readouterr())
    assert all(char in "\n\t" or char.isprintable() for char in found)
    assert len(found) < 400_000 and max(map(len, found.split("W"))) < 100_000 and "W" * 300 not in found
    return found


@pytest.mark.parametrize("suffix", [".h5", ".npz", ".json", ".mat", ".parquet", ".csv"])
def test_names_in_a_file_stay_on_one_short_line(suffix: str, tmp_path: Path) -> None:
    name = "\x1b[2J\n" + "W" * 2000
    path = tmp_path / f"x{suffix}"
    columns = {
        f"{name}{number}": np.arange(9.0 + (number == 3)) for number in range(4 - (suffix in {".parquet", ".csv"}))
    }
    match suffix:
        case ".h5":
            with h5py.File(path, "w") as file:
                for each, values in columns.items():
                    file[each] = values
        case ".npz":
            np.savez(path, **columns, **{f"{name}o": np.array([1j, 2])})
        case ".json":
            path.write_text(json.dumps({each: values.tolist() for each, values in columns.items()}))
        case ".mat":
            scipy.io.savemat(path, {"x": np.arange(9.0), "other" + "W" * 20: np.array([1j, 2])})
            path.write_bytes(path.read_bytes().replace(b"other" + b"W" * 20, b"\x1b[2J\n" + b"W" * 20))
        case ".parquet":
            pandas.DataFrame(columns).to_parquet(path)
        case ".csv":
            pandas.DataFrame(columns).to_csv(path, index=False)
    for selection in (Selection(), Selection(auxiliary=True, rate=10.0), Selection(dataset="none")):
        try:
            texts = open_recording(path, selection).notes
        except RecordingError as problem:
            texts = (str(problem),)
        assert all(text.isprintable() and len(text) < 6000 for text in texts)


@pytest.mark.parametrize(
    ("name", "value"), [("fs", 5e-306), ("fs", 1e300), ("dt", 1e300), ("dt", 5e-324), ("fs", -1.0)]
)
def test_a_rate_that_is_none_of_a_test_is_one_line(name: str, value: float, tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", command=np.arange(9.0), measured=np.arange(9.0), **{name: value})
    with pytest.raises(RecordingError, match=r"^[^\n]*x\.npz: [^\n]*give --rate HZ$"):
        open_recording(tmp_path / "x.npz")


def test_every_command_stays_readable(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = folder / "good.h5", folder / "bad.h5"
    assert "undershoots" in said(capsys, "assess", bad)
    said(capsys, "assess", bad, "--json")
    table = said(capsys, "runs", folder, "--rebuild")
    assert "good.h5" in table and "bad.h5" in table
    said(capsys, "runs", folder, "--json", "--sort", "start")
    said(capsys, "compare", good, bad)


@pytest.mark.parametrize("command", [("assess",), ("compare", "good.h5")])
def test_one_bad_file_hides_no_others(
    command: tuple[str, ...], folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    Path("cut.h5").write_bytes(Path("good.h5").read_bytes()[:5000])
    assert main([*command, "good.h5", "cut.h5", "bad.h5", "--json"]) == 2
    found = capsys.readouterr()
    assert "cut.h5" in found.err and found.err.count("\n") == 1
    answer = json.loads(found.out)
    assert [each["file"] for each in answer.get("runs") or answer["records"]] == ["good.h5", "bad.h5"]
    # of one file alone the line is that of any mistake
    assert main([*command, "cut.h5"]) == 2
    assert capsys.readouterr().err == found.err


def test_the_pages_have_the_markup_of_any_other(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for run in ("good", "bad"):
        said(capsys, "report", folder / f"{run}.h5", "-o", folder / f"{run}.html")
        said(capsys, "compare", *[folder / f"{run}.h5"] * 2, "-o", folder / f"{run}-compared.html")
    for name in ("{}.html", "{}-compared.html"):
        page = _Page(folder / name.format("bad"))
        assert page.tags.count("script") == page.tags.count("title") == 1
        assert "img" not in page.tags and not page.handlers
        assert (folder / name.format("bad")).stat().st_size < 1_000_000
