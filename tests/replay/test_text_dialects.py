"""Whatever dialect a table is written in, the same numbers, names and rate come back."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from monitor.messages.blocks import Role
from replay.formats import RecordingError, Selection, open_recording
from replay.formats.table import read_table

NAMES = ("x_c", "x_m", "f_m", "temperature")
UNITS = ("mm", "mm", "kN", "degC")
TIME = "time"


@dataclass(frozen=True)
class Dialect:
    """How a rig's own software writes a table."""

    delimiter: str
    decimal: str
    newline: str
    header: str  # none, plain, brackets, units row, comment
    quotes: bool
    spaces: bool
    trailing: bool
    preamble: int
    encoding: str
    last_newline: bool

    def write(self, times: np.ndarray, values: np.ndarray) -> bytes:
        names, units = [TIME, *NAMES], ["s", *UNITS]
        if self.header == "brackets":
            names = [f"{name} [{unit}]" for name, unit in zip(names, units, strict=True)]
        lines = [f"# recorded by rig {i}, all is well" for i in range(self.preamble)]
        lines += [f"Test run {i}: µ-rig" for i in range(self.preamble if self.header != "none" else 0)]
        if self.header == "comment":
            lines = [*lines, "# " + self.join(names)]
        elif self.header != "none":
            lines.append(self.join(names))
        if self.header == "units row":
            lines.append(self.join(units))
        for time, row in zip(times, values, strict=True):
            cells = [repr(float(cell)) if np.isfinite(cell) else "NaN" for cell in (time, *row)]
            lines.append(self.join([cell.replace(".", self.decimal) for cell in cells]))
        text = self.newline.join(lines) + (self.newline if self.last_newline else "")
        return text.encode(self.encoding)

    def join(self, cells: list[str]) -> str:
        if self.quotes:
            cells = [f'"{cell}"' for cell in cells]
        if self.spaces and self.delimiter != "\t":
            cells = [f" {cell} " for cell in cells]
        return self.delimiter.join(cells) + (self.delimiter if self.trailing else "")


@st.composite
def dialects(draw: st.DrawFn) -> Dialect:
    delimiter = draw(st.sampled_from([",", ";", "\t", " ", "   "]))
    blank = not delimiter.strip(" ")
    return Dialect(
        delimiter,
        draw(st.sampled_from([".", ","])) if delimiter != "," else ".",
        draw(st.sampled_from(["\n", "\r\n", "\r"])),
        draw(st.sampled_from(["none", "plain", "units row", "brackets", "comment"])),
        draw(st.booleans()),
        draw(st.booleans()) if not blank else False,
        draw(st.booleans()) if not blank else False,
        draw(st.integers(0, 2)),
        draw(st.sampled_from(["utf-8", "utf-8-sig", "latin-1"])),
        draw(st.booleans()),
    )


cells = st.one_of(st.floats(-1e6, 1e6), st.just(float("nan")), st.integers(-9, 9).map(float))


@settings(deadline=None, max_examples=250, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    dialects(),
    st.lists(st.tuples(cells, cells, cells, cells), min_size=3, max_size=12),
    st.sampled_from([51.2, 100.0, 1000.0, 1024.0]),
)
def test_any_dialect_gives_the_same_record(
    tmp_path: Path, dialect: Dialect, rows: list[tuple[float, ...]], rate: float
) -> None:
    values = np.array(rows)
    times = 2.0 + np.arange(len(rows)) / rate
    path = tmp_path / "run 7.csv"
    path.write_bytes(dialect.write(times, values))
    if dialect.header == "none":
        recording = open_recording(path, Selection(command=("2",), measured=("3",), force=("4",), time="1"))
        assert any("no header" in note for note in recording.notes)
    else:
        recording = open_recording(path)
        assert tuple(c.name for c in recording.stream.channels) == NAMES
    if dialect.header in ("units row", "brackets"):
        assert tuple(c.unit for c in recording.stream.channels) == UNITS
    roles = [c.role for c in recording.stream.channels]
    assert roles == [Role.COMMAND, Role.MEASURED, Role.FORCE, Role.AUXILIARY]
    assert recording.stream.sample_rate == pytest.approx(rate, rel=1e-12)
    assert recording.stream.rig == "run 7"
    (block,) = recording.blocks(1000)
    np.testing.assert_array_equal(block.samples, values if dialect.last_newline else values[:-1])
    assert any("no end" in note for note in recording.notes) != dialect.last_newline
    assert block.index == 0
    assert block.time == 2.0


def rows(n: int = 10, width: int = 3) -> list[str]:
    return [",".join([f"{i / 100:.2f}", *(f"{i * k}.5" for k in range(1, width))]) for i in range(n)]


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (["time,cmd,meas"], "no rows of numbers"),
        (["time,cmd,meas", "0.0,1,2"], "fewer than 2 rows"),
        (["time,cmd,meas", *rows()[:4], "0.04,oops,1", *rows()[5:]], "line 6, column 2 (cmd): 'oops'"),
        (["time,cmd,meas", "0.00,bad,1", *rows()[1:]], "line 2, column 2 (cmd): 'bad'"),
        (["time,cmd,meas", *rows()[:4], "0.04,1", *rows()[5:]], "line 6 has 2 cells instead of 3"),
        (["time,cmd,meas", *rows()[:4], "0.04,1,2,3", *rows()[5:]], "line 6 has 4 cells instead of 3"),
        (["time,cmd,meas", *rows()[:4], ",1,2", *rows()[5:]], "time is missing at line 6"),
        (["time,cmd,meas", *rows()[:4], *rows()[2:]], "time goes backwards at line 6"),
        (["time,cmd,meas", "", "# note", *rows()[:4], *rows()[3:]], "time repeats at line 8"),
        (["time,cmd,meas", *rows()[:4], "0.043,1,2", *rows()[5:]], "not even: 0.013 s before line 6"),
        (["time,cmd,meas", *(f"{i},{i},{i}" for i in range(9))], "counts steps and is not a time: give --rate"),
        (["step,cmd,meas", *(f"{i},{i},{i}" for i in range(9))], "no column of times"),
        (["time [V],cmd,meas", *rows()], "not a time unit"),
        (["time,left,right", *rows()], "there are left, right"),
        (["t,x_target,x_command,x_measured", *rows(width=4)], "more than one way to pair"),
        (["a table of nothing", "but words"], "no rows of numbers"),
    ],
)
def test_a_fault_in_the_table_is_one_clear_line(tmp_path: Path, lines: list[str], says: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(RecordingError) as caught:
        open_recording(path)
    message = str(caught.value)
    assert says in message
    assert message.startswith(str(path))
    assert "\n" not in message


@pytest.mark.parametrize("tail", ["0.10,1", "0.10,1,-", "0.1", "0.10,1.5,2e-", "0.10,1.5,2.5", "\0\0\0\0\0\0"])
def test_a_last_line_without_an_end_is_left_out_with_a_note(tmp_path: Path, tail: str) -> None:
    path = tmp_path / "killed.csv"
    path.write_text("time,cmd,meas\n" + "\n".join(rows()) + "\n" + tail)
    recording = open_recording(path)
    assert recording.n_samples == 10
    assert "the last line has no end, it may be cut short: left out" in recording.notes


@pytest.mark.parametrize(
    "content",
    [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)) * 20,
        bytes(np.random.default_rng(1).integers(0, 256, 20000, dtype=np.uint8)),
        b"\0" * 5000,
        b"",
        b"\n\n\n",
        b"1" * 3_000_000,
        b"time,cmd,meas\n0,1,2\n1,2,3\n" + b"9" * 3_000_000 + b"\n",
        b"PK\x03\x04" + b"\0" * 100,
        b"\xff\xfet\0i\0m\0e\0",
        b'"' * 10001,
        b'"a,b\n1,2\n',
        b",,,,\n,,,,\n,,,,\n",
        b"nan,nan\nnan,nan\n",
        b"MATLAB 5.0 MAT-file" + b" " * 105 + b"\0\1IM" + bytes(100),
    ],
)
def test_a_hostile_file_is_one_clear_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "strange.csv"
    path.write_bytes(content)
    with pytest.raises(RecordingError) as caught:
        open_recording(path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_directory_and_a_missing_file_are_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="is a directory"):
        open_recording(tmp_path)
    with pytest.raises(RecordingError, match="no such file"):
        open_recording(tmp_path / "nowhere.csv")


def test_latin_1_units_and_numeric_headers_are_understood(tmp_path: Path) -> None:
    path = tmp_path / "fe.csv"
    path.write_bytes("Time,101,102 [µm]\n".encode("latin-1") + "\n".join(rows()).encode())
    stream = open_recording(path, Selection(command=("101",), measured=("3",))).stream
    assert [(c.name, c.unit) for c in stream.channels] == [("101", ""), ("102", "µm")]


def test_a_mat_file_that_is_none_is_called_so(tmp_path: Path) -> None:
    path = tmp_path / "bad.mat"
    path.write_text("x\n")
    with pytest.raises(
        RecordingError, match=r"bad\.mat: is not a MAT file, and as text: no rows of numbers"
    ) as caught:
        open_recording(path)
    assert "\n" not in str(caught.value)


def test_every_parser_reads_the_same_numbers_and_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    values = rng.standard_normal((500, 2)) * 10.0 ** rng.integers(-12, 12, (500, 2))
    values[rng.random((500, 2)) < 0.1] = np.nan
    words, states = ["", "NaN", "n.a.", "inf", "-Infinity"], ("error", '"none; 5 kN"')
    rows = [
        f"2026-03-02 09:31:{k // 100:02d}.{k % 100:02d};{states[k > 300]};"
        + ";".join(words[k % 5] if np.isnan(v) else f"{v:.17g}".replace(".", ",") for v in row)
        for k, row in enumerate(values)
    ]
    path = tmp_path / "p.csv"
    path.write_text("when;mode;cmd;meas\n" + "\n".join(rows) + "\n")
    found = []
    for absent in ((), ("_by_arrow",), ("_by_arrow", "_by_pandas")):
        for name in absent:
            monkeypatch.setattr(f"replay.formats.table.{name}", lambda *_: None)
        found.append(open_recording(path))
    for recording in found:
        np.testing.assert_array_equal(recording.samples, values)
        assert [(event.detail, event.index) for event, _ in recording.timed_events()] == [
            ("mode: error", 0),
            ("mode: none; 5 kN", 301),
        ]
        assert recording.notes == found[0].notes


def test_every_parser_takes_a_first_text_as_a_comment_that_begins_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "c.csv"
    path.write_text("mode,t,cmd,meas\n" + "".join(f"{'#off' if k == 9 else 'on'},{k},{k},1\n" for k in range(20)))
    tables = [read_table(path)]
    monkeypatch.setattr("replay.formats.table.read_compiled", lambda *_: None)
    tables.append(read_table(path))
    assert [len(table.values) for table in tables] == [19, 19]


def _states(path: Path) -> list[tuple[str, int]]:
    return [(event.detail, event.index) for event, _ in open_recording(path).timed_events()]


def _table_of(path: Path, cells: dict[int, str], usual: str = "", n_rows: int = 600) -> Path:
    rows = (f"{k / 100:.2f},{np.sin(k):.4f},{np.cos(k):.4f},{cells.get(k, usual)}\n" for k in range(n_rows))
    path.write_text("time,cmd,meas,remark\n" + "".join(rows))
    return path


@pytest.mark.parametrize("cells", [{300: '"operator: 5 kN', 400: 'resumed"'}, {549: '"operator: 5 kN'}])
def test_a_quote_that_a_text_opens_swallows_no_rows(tmp_path: Path, cells: dict[int, str]) -> None:
    path = _table_of(tmp_path / "q.csv", cells, "run")
    assert open_recording(path).n_samples == 600
    assert ("remark: operator: 5 kN", next(iter(cells))) in _states(path)


def test_a_state_may_bear_the_name_of_a_missing_value(tmp_path: Path) -> None:
    words = ("idle", "ramp", "error", "ramp", "Invalid")
    path = _table_of(tmp_path / "s.csv", {k: words[k // 120] for k in range(600)})
    assert _states(path) == [(f"remark: {word}", 120 * k) for k, word in enumerate(words)]


@pytest.mark.parametrize("noted", [False, True])
def test_a_state_that_is_none_at_first_may_be_another_later(tmp_path: Path, noted: bool) -> None:
    path = _table_of(tmp_path / "n.csv", dict.fromkeys(range(560, 600), "trip"), "none")
    assert _states(path) == [("remark: none", 0), ("remark: trip", 560)]
    # a signal that has no values at first remains one
    lines = path.read_text().splitlines()
    lines = [f"{line},{'nan' if k < 550 else k}" for k, line in enumerate(lines)]
    lines[0] = lines[0].replace("550", "").removesuffix("nan") + "level"
    lines[590:590] = ["a remark"] if noted else []
    path.write_text("\n".join(lines) + "\n")
    recording = open_recording(path)
    assert [channel.name for channel in recording.stream.channels] == ["cmd", "meas", "level"]
    assert np.count_nonzero(np.isfinite(recording.samples[:, 2])) == 51


def test_states_that_are_words_for_no_value_in_most_rows_are_text(tmp_path: Path) -> None:
    path = _table_of(tmp_path / "m.csv", {0: "idle", 30: "error", 60: "ramp", 90: "None"}, "None", 120)
    assert [text for text, _ in _states(path)] == [
        f"remark: {word}" for word in ("idle", "None", "error", "None", "ramp", "None")
    ]


def test_empty_cells_between_equal_states_are_no_change(tmp_path: Path) -> None:
    path = _table_of(tmp_path / "e.csv", dict.fromkeys((*range(100), *range(200, 300)), "run"))
    assert _states(path) == [("remark: run", 0)]
