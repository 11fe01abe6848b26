"""What a file says of itself, beside what was written into it."""

import json
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.__main__ import main
from monitor.messages.blocks import Channel, Event, EventKind, Role, SignalBlock, Stream
from monitor.messages.recordings import RecordedEvent
from monitor.recording import RunWriter
from replay.formats import ArrayRecording, RecordingError, Selection, file_kinds, open_recording
from replay.playback.description import describe_recording, open_described, overview
from replay.simulations import simulation
from tests.mistakes import refusal_of
from tests.records import Records

ROOT = Path(__file__).parents[2]
CHANNELS = (Channel("c", Role.COMMAND, "mm", "a"), Channel("m", Role.MEASURED, "mm", "a"))
RATE = 10.0


def table(path: Path, header: str, n: int = 50, step: float = 0.01) -> Path:
    width = header.count(",")
    rows = (",".join([f"{k * step:.2f}", *(f"{k * (column + 1)}" for column in range(width))]) for k in range(n))
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Samples 100 .. 119 and 140 .. 149 of one epoch, then 0 .. 9 of the next, with a witness that counts rows."""
    path = tmp_path / "run.h5"
    writer = RunWriter(path, {})
    first, second = (Stream("rig", epoch, RATE, CHANNELS) for epoch in (7, 9))
    writer.event(Event(EventKind.STARTED, 10.0, 100))
    for stream, index, time, begin, n in (
        (first, 100, 10.0, 0, 20),
        (first, 140, 14.0, 20, 10),
        (second, 0, 30.0, 30, 10),
    ):
        counted = np.arange(begin, begin + n, dtype=np.float64)
        if stream is second:
            writer.event(Event(EventKind.RESTART, 30.0, 0))
        writer.signals(SignalBlock(stream, index, time, np.column_stack((counted, -counted)), last=stream is second))
        if index == 100:
            writer.event(Event(EventKind.GAP, 12.0, 120, 20, "lost"))
    writer.event(Event(EventKind.ENDED, 31.0, 10))
    writer.close()
    return path


def test_a_run_file_tells_its_length_and_events_on_one_time(run: Path) -> None:
    told = open_described(run, n_columns=6)[0]
    assert (told.format, told.rig, told.sample_rate, told.n_samples) == ("run file", "rig", RATE, 40)
    # 20 samples, 20 missing, 10 samples, then 10 of the next start
    assert (told.duration, told.start_time) == (6.0, 10.0)
    assert told.channels == CHANNELS
    assert (told.columns, told.guess, told.problem) == ((), None, "")
    assert told.events == (
        RecordedEvent(0.0, "started", ""),
        RecordedEvent(2.0, "gap", "lost"),
        RecordedEvent(5.0, "restart", ""),
        RecordedEvent(6.0, "ended", ""),
    )
    assert told.overview is not None
    np.testing.assert_array_equal(told.overview.seconds, np.arange(6.0))
    np.testing.assert_array_equal(told.overview.low["c"], [0.0, 10.0, np.nan, np.nan, 20.0, 30.0])
    np.testing.assert_array_equal(told.overview.high["c"], [9.0, 19.0, np.nan, np.nan, 29.0, 39.0])
    np.testing.assert_array_equal(told.overview.low["m"], -np.array(told.overview.high["c"]))


@pytest.mark.parametrize(
    ("start", "place"),
    [(0.0, 0.0), (1.95, 4.0), (1.9, 1.9), (2.0, 4.0), (3.9, 4.0), (4.95, 5.0), (5.9, 5.9), (6.0, 6.0), (99.0, 6.0)],
)
def test_a_place_in_a_run_is_found_through_gaps_and_restarts(run: Path, start: float, place: float) -> None:
    assert open_recording(run).locate(start) == pytest.approx(place)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=12), st.floats(0.0, 60.0))
def test_a_place_is_that_of_the_first_sample_from_there_on(steps: list[int], start: float) -> None:
    index = np.cumsum([0, *steps])
    recording = ArrayRecording(Stream("r", 0, RATE, CHANNELS), np.zeros((len(index), 2)), 0.0, (), index)
    after = index[index >= start * RATE - 1e-6]
    assert recording.locate(start) == pytest.approx(after[0] / RATE if after.size else recording.duration)
    assert recording.duration == pytest.approx((index[-1] + 1) / RATE)
    first = next(iter(recording.blocks(1, start)), None)
    assert (first.index / RATE if first else recording.duration) == recording.locate(start)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=20), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_an_overview_is_the_least_and_the_largest_of_each_column(steps: list[int], n: int, seed: int) -> None:
    index = np.cumsum([0, *steps])
    rng = np.random.default_rng(seed)
    samples = rng.standard_normal((len(index), 2))
    samples[rng.random(samples.shape) < 0.3] = np.nan
    found = overview(ArrayRecording(Stream("r", 0, RATE, CHANNELS), samples, 0.0, (), index), n)
    width = -(-(int(index[-1]) + 1) // n)
    assert len(found.seconds) <= n
    for k, left in enumerate(found.seconds):
        assert left == pytest.approx(k * width / RATE)
        for channel, name in enumerate("cm"):
            inside = samples[(index >= k * width) & (index < (k + 1) * width), channel]
            inside = inside[~np.isnan(inside)]
            expected = (inside.min(), inside.max()) if inside.size else (np.nan, np.nan)
            np.testing.assert_array_equal((found.low[name][k], found.high[name][k]), expected)


def test_an_overview_needs_a_column() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        overview(ArrayRecording(Stream("r", 0, RATE, CHANNELS), np.zeros((3, 2))), 0)


def test_a_table_tells_what_its_columns_were_taken_for(tmp_path: Path) -> None:
    told = open_described(table(tmp_path / "a.csv", "time [s],cmd [mm],meas [mm],load [kN],oil"))[0]
    assert [(c.name, c.unit, c.number) for c in told.columns] == [
        ("time", "s", 1),
        ("cmd", "mm", 2),
        ("meas", "mm", 3),
        ("load", "kN", 4),
        ("oil", "", 5),
    ]
    assert told.guess is not None
    assert (told.guess.command, told.guess.measured, told.guess.force) == (("cmd",), ("meas",), ("load",))
    assert (told.guess.time, told.guess.auxiliary, told.problem) == ("time", False, "")
    assert (told.sample_rate, told.duration, told.n_samples) == (100.0, 0.5, 50)
    assert told.overview is None


@pytest.mark.parametrize(
    "header",
    [
        "time,cmd,meas,load",
        "t,north_cmd,north_meas,south_cmd,south_meas,north_load",
        "t,x_c,x_m,f",
        "t,single",
        "time,command [mm],measured [mm],oil,oil",
    ],
)
def test_a_guess_said_back_means_the_same(tmp_path: Path, header: str) -> None:
    path = table(tmp_path / "a.csv", header)
    told = open_described(path)[0]
    guess = told.guess
    assert guess is not None
    said = Selection(guess.command, guess.measured, guess.force, guess.time, auxiliary=guess.auxiliary)
    again = open_described(path, said)[0].channels
    if len(guess.force) in (0, len(guess.command)) and "north_load" not in header:
        assert again == told.channels
    assert [c.name for c in again] == [c.name for c in told.channels]


def test_columns_that_nobody_can_guess_are_told_with_what_to_do(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", "time [s],red,green,green")
    told = open_described(path, n_columns=10)[0]
    assert [c.name for c in told.columns] == ["time", "red", "green", "green_2"]
    assert [c.reference for c in told.columns] == ["time", "red", "3", "green_2"]
    assert (told.guess, told.sample_rate, told.duration, told.channels, told.overview) == (None, None, None, (), None)
    assert told.problem.startswith("which column is the command")
    assert "\n" not in told.problem
    by_reference = Selection(("3",), ("green_2",))
    chosen = open_described(path, by_reference)[0]
    assert chosen.guess is not None
    assert [(c.name, c.role) for c in chosen.channels if c.actuator] == [
        ("green", Role.COMMAND),
        ("green_2", Role.MEASURED),
    ]
    wrong = open_described(path, Selection(("blue",), ("red",)))[0]
    assert (wrong.guess, wrong.problem) == (None, "no column 'blue'; there are red, green, green_2")


def test_a_table_without_times_tells_what_is_missing(tmp_path: Path) -> None:
    told = open_described(table(tmp_path / "a.csv", "step,cmd,meas", step=1.0))[0]
    assert told.guess is None
    assert "--rate" in told.problem
    assert told.channels == ()


def test_a_simulation_is_described_as_it_is_sent() -> None:
    recording = ArrayRecording(Stream("sim", 0, RATE, CHANNELS), np.ones((30, 2)), 2.0, ("a note",))
    told = describe_recording(recording, n_columns=3)
    assert (told.format, told.rig, told.duration, told.start_time, told.notes) == (
        "simulation",
        "sim",
        3.0,
        2.0,
        ("a note",),
    )


def test_what_a_simulation_injects_is_told_with_its_times() -> None:
    told = describe_recording(simulation("hybrid", duration=30.0))
    assert [(round(event.time, 1), event.detail) for event in told.events] == [
        (0.0, "north: injected delay 12.0 ms, amplitude ratio 1.000"),
        (0.0, "south: injected delay 0.0 ms, amplitude ratio 1.111"),
        (0.0, "roof: injected delay 5.0 ms, amplitude ratio 1.000"),
        (10.0, "north: injected delay 12.0 → 25.0 ms, amplitude ratio 1.000"),
        (10.0, "roof: injected delay 5.0 → 30.0 ms, amplitude ratio 1.000"),
        (15.0, "south: injected delay 0.0 → 8.0 ms, amplitude ratio 1.111 → 0.956"),
        (20.0, "north: injected delay 25.0 → -2.0 ms, amplitude ratio 1.000"),
    ]
    # a sweep changes all the time
    assert describe_recording(simulation("plant", duration=5.0)).events == ()


def test_the_formats_have_names_and_patterns() -> None:
    kinds = dict(file_kinds())
    assert {"*.h5", "*.hdf5"} <= set(kinds["run file"])
    assert {"*.csv", "*.txt", "*.dat", "*.tsv"} <= set(kinds["text table"])


def test_asking_for_the_formats_loads_no_reader() -> None:
    code = (
        "import sys; from replay.formats import file_kinds; from replay.simulations import simulations\n"
        "assert file_kinds() and simulations()\n"
        "print(*{'h5py', 'pandas', 'scipy', 'numba', 'zmq'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == []


def described(capsys: pytest.CaptureFixture[str], *words: object) -> dict[str, object]:
    assert main(["replay", *map(str, words), "--describe"]) == 0
    out = capsys.readouterr()
    assert out.err == ""
    assert out.out.count("\n") == 1
    found: dict[str, object] = json.loads(out.out, parse_constant=lambda word: pytest.fail(word))
    return found


def test_the_command_prints_one_object_with_null_for_nan(capsys: pytest.CaptureFixture[str], run: Path) -> None:
    told = described(capsys, run, "--overview", 6)
    assert told["channels"][0] == {"name": "c", "role": "command", "unit": "mm", "actuator": "a"}
    assert told["events"][1] == {"time": 2.0, "kind": "gap", "detail": "lost"}
    assert told["overview"]["seconds"] == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert told["overview"]["low"] == {
        "c": [0.0, 10.0, None, None, 20.0, 30.0],
        "m": [-9.0, -19.0, None, None, -29.0, -39.0],
    }
    assert described(capsys, run, "--overview", 0)["overview"] is None
    assert len(described(capsys, "plant", "--duration", 1)["overview"]["seconds"]) <= 1000


def test_the_command_takes_the_columns_options(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", "time [s],red,green")
    assert described(capsys, path)["guess"] is None
    told = described(capsys, path, "--command", "red", "--measured", "3", "--rate", 200)
    assert told["guess"]["command"] == ["red"]
    assert (told["guess"]["time"], told["sample_rate"]) == (None, 200.0)
    assert described(capsys, path, "--auxiliary")["guess"]["auxiliary"] is True


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "the file is empty"),
        (b"\x89HDF\r\n\x1a\n" + b"\0" * 600, ""),
        (bytes(range(256)), "not a recording; this program reads run file, MATLAB 7.3, HDF5"),
        (b"only words\nand no numbers\n", "no rows of numbers"),
    ],
)
def test_what_is_no_recording_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: bytes, says: str
) -> None:
    path = tmp_path / "broken"
    path.write_bytes(content)
    said = refusal_of(capsys, "replay", path, "--describe")
    assert said.startswith(str(path)) and says in said


def test_a_run_file_cut_anywhere_is_described_or_refused(tmp_path: Path, run: Path) -> None:
    whole = run.read_bytes()
    path = tmp_path / "cut.h5"
    for length in range(1, len(whole), max(1, len(whole) // 40)):
        path.write_bytes(whole[:length])
        try:
            open_described(path, n_columns=5)[0]
        except RecordingError as problem:
            assert "\n" not in str(problem)


def test_openfresco_halves_are_described_together(records: Records) -> None:
    told = open_described(records.openfresco / "Elmt_daqDsp_Ref.out", n_columns=100)[0]
    assert (told.format, told.sample_rate, told.columns, told.problem) == ("OpenFresco recorders", 51.2, (), "")
    measured = np.loadtxt(records.openfresco / "Elmt_daqDsp_Ref.out")[:, 1]
    assert told.overview is not None
    _, low, high = told.overview.curve(told.channels[1].name)
    assert (np.nanmin(low), np.nanmax(high)) == (measured.min(), measured.max())
    uneasy = open_described(records.openfresco / "Slave_Elmt_daqDsp_Ref.out")[0]
    assert "--rate" in uneasy.problem
    assert len(uneasy.columns) == 2


def restarted(path: Path, n_starts: int) -> Path:
    """Record that many starts of a rig, ten samples each, every one with its event."""
    writer = RunWriter(path, {})
    for number in range(n_starts):
        stream, time = Stream("rig", number + 1, RATE, CHANNELS), 3.0 * number
        writer.event(Event(EventKind.RESTART, time, 0))
        writer.signals(SignalBlock(stream, 0, time, np.full((10, 2), float(number)), last=number == n_starts - 1))
    writer.close()
    return path


def test_a_description_reads_no_more_of_each_restart_where_there_are_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = 0
    untouched = h5py.Dataset.__getitem__

    def counted(data: h5py.Dataset, key: object) -> object:
        nonlocal read
        found = untouched(data, key)
        read += np.size(found)
        return found

    monkeypatch.setattr(h5py.Dataset, "__getitem__", counted)
    reads = []
    for n_starts in (40, 400):
        path = restarted(tmp_path / f"{n_starts}.h5", n_starts)
        read = 0
        told = open_described(path, n_columns=50)[0]
        reads.append(read)
        assert (told.n_samples, told.duration, len(told.events)) == (10 * n_starts, float(n_starts), n_starts)
        assert [event.time for event in told.events] == [float(number) for number in range(n_starts)]
    assert reads[1] < 12 * reads[0]
