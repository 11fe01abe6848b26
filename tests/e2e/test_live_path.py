"""A record sent over real sockets through the real commands: what is recorded is what the record holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np
import pytest

from monitor.config import IndicatorSettings
from monitor.engine.monitor import Monitor
from monitor.messages.blocks import ResultBlock, SignalBlock
from monitor.messages.health import Health, StreamCounts
from monitor.recording import RunReader
from monitor.transport.zeromq.results import ResultSubscriber
from replay.assessment import Series, assess
from replay.faults import FaultySource, parse_faults
from replay.formats import Selection, open_recording
from replay.playback.players import RecordingPlayer
from replay.simulations import simulation, simulations

ANY_PORT = "tcp://127.0.0.1:*"
RATE = 1000.0
N_WINDOW = 500
WINDOW = ("--window", N_WINDOW / RATE, "--every", 1)
LONGEST = 12.0  # s that a simulation is played
INDICATORS = IndicatorSettings(window=N_WINDOW / RATE)

pytestmark = pytest.mark.usefixtures("warm_kernels")


@dataclass(frozen=True)
class Run:
    """What a run file holds."""

    outcome: str
    epoch: np.ndarray
    index: np.ndarray
    samples: np.ndarray
    result_epoch: np.ndarray
    result_index: np.ndarray
    time: np.ndarray
    values: np.ndarray
    columns: list[str]
    channels: list[str]

    def channel(self, name: str) -> np.ndarray:
        return self.samples[:, self.channels.index(name)]


def read(path: Path) -> Run:
    with RunReader(path) as reader:
        blocks = list(reader.signal_blocks(4096))
        index = np.concatenate([block.index + np.arange(len(block)) for block in blocks])
        epoch = np.concatenate([np.full(len(block), block.stream.epoch) for block in blocks])
        # without actuators there is nothing to say
        results = reader.result_stream.columns if reader.result_stream else ()
        columns = [f"{c.actuator}_{c.name}" for c in results]
        names = [channel.name for channel in reader.stream.channels]
        samples = np.concatenate([block.samples for block in blocks])
        return Run(reader.outcome, epoch, index, samples, *reader.results(), columns, names)


def expected(path: Path, selection: Selection | None = None, settings: IndicatorSettings = INDICATORS) -> Series:
    return assess(open_recording(path, selection or Selection()), settings, thin=False).series


def assert_complete(run: Run, record: Path, outcome: str = "clean") -> None:
    """Every sample is there once, in order and unchanged, and so is every result."""
    recording = open_recording(record)
    sent = np.concatenate([block.samples for block in recording.blocks(4096)])
    assert run.outcome == outcome
    assert run.samples.tobytes() == sent.tobytes()
    np.testing.assert_array_equal(run.index, np.arange(len(sent)))
    np.testing.assert_array_equal(run.channel("count"), run.index)
    series = expected(record)
    assert run.values.tobytes() == series.values.tobytes()
    assert run.columns == [f"{c.actuator}_{c.name}" for c in series.columns]
    np.testing.assert_array_equal(run.result_index, np.arange(len(sent)))
    np.testing.assert_allclose(run.time, series.time, atol=1e-9)


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "run.h5"


@pytest.fixture
def watched() -> Iterator[Callable[..., list[Any]]]:
    """Listen to a monitor, and once it has ended return all that it said."""
    subscribers: list[ResultSubscriber] = []

    def listen(url: str, *kinds: str) -> Callable[..., list[Any]]:
        subscriber = ResultSubscriber(url, kinds=kinds or ("health",))
        subscribers.append(subscriber)

        def until(ended: Callable[[], bool]) -> list[Any]:
            found: list[Any] = []
            while not ended():
                found += subscriber.receive(0.05)
            while more := subscriber.receive(0.2):
                found += more
            return found

        return until

    yield listen
    for subscriber in subscribers:
        subscriber.close()


def names_of(path):
    with RunReader(path) as reader:
        return [column.name for column in reader.result_stream.columns]


@pytest.mark.parametrize(
    "options", [(), ("--block", 1), ("--block", 7), ("--block", 100_000)], ids=["default", "1", "7", "whole"]
)
def test_recorded_results_equal_the_assessment_of_the_file(start, record, kept, options) -> None:
    path = record()
    rig = start("replay", path, "--speed", "max", "--bind", ANY_PORT, *options)
    start("monitor", "--connect", rig.publishing, "--publish", ANY_PORT, "--record", kept, "--once", *WINDOW).wait()
    rig.wait()
    run = read(kept)
    assert_complete(run, path)
    # those that are made anew at every sample, and need no force
    steady = [i for i, name in enumerate(names_of(kept)) if name.startswith(("fdb_", "paei_phase", "nrmse", "peak"))]
    assert np.isfinite(run.values[N_WINDOW:, steady]).all()
    roles = {channel.name: (channel.role, channel.actuator) for channel in open_recording(path).stream.channels}
    with RunReader(kept) as reader:
        assert {channel.name: (channel.role, channel.actuator) for channel in reader.stream.channels} == roles
    assert roles["north_force"] == ("force", "north")
    assert roles["oil"] == ("auxiliary", "")


FIRST, *OTHERS = simulations()


@pytest.mark.parametrize("kind", OTHERS, ids=lambda kind: kind.name)
def test_every_simulation_gives_values(kind) -> None:
    played = simulation(kind.name, duration=min(kind.duration, LONGEST))
    monitor = Monitor(IndicatorSettings(measures=("fdb",)))
    found = [results for block in played.blocks(1000) if (results := monitor.update(block).results) is not None]
    assert bool(found) == bool(played.stream.pairs)
    for k, column in enumerate(found[0].stream.columns if found else ()):
        if column.name == "fdb_delay":
            assert np.isfinite(np.concatenate([results.values[:, k] for results in found])).any(), column.actuator


def test_a_simulation_is_played_as_it_is_and_gives_values(start, kept) -> None:
    rig = start("replay", FIRST.name, "--speed", "max", "--bind", ANY_PORT, "--duration", LONGEST)
    start("monitor", "--connect", rig.publishing, "--publish", ANY_PORT, "--record", kept, "--once").wait()
    rig.wait()
    run, played = read(kept), simulation(FIRST.name, duration=LONGEST)
    assert run.samples.tobytes() == played.samples.tobytes()
    assert bool(run.columns) == bool(played.stream.pairs)
    delay = run.values[:, [column.endswith("_fdb_delay") for column in run.columns]]
    assert np.isfinite(delay).any(axis=0).all()


def test_a_run_file_played_again_gives_the_same_run(start, record, kept, tmp_path) -> None:
    path, again = record(3000), tmp_path / "again.h5"
    for source, target in ((path, kept), (kept, again)):
        service = start("monitor", "--bind", ANY_PORT, "--publish", ANY_PORT, "--record", target, "--once", *WINDOW)
        start("replay", source, "--speed", "max", "--block", 100, "--connect", service.listening).wait()
        service.wait()
        assert_complete(read(target), path)


def test_a_real_record_arrives_as_it_is_assessed(start, kept, records) -> None:
    (path,) = records.shaker.glob("Large*_16.00Hz.csv")
    columns = ("--command", "shaker_front_cmd_V", "--measured", "laser_front_mm", "--force", "force_front_N")
    rig = start("replay", path, *columns, "--speed", "max", "--bind", ANY_PORT)
    service = (
        "--connect",
        rig.publishing,
        "--publish",
        ANY_PORT,
        "--record",
        kept,
        "--once",
        "--window",
        0.09,
        "--every",
        1,
    )
    start("monitor", *service).wait()
    rig.wait()
    run = read(kept)
    chosen = Selection((columns[1],), (columns[3],), (columns[5],))
    assert run.outcome == "clean"
    assert run.values.tobytes() == expected(path, chosen, IndicatorSettings(window=0.09)).values.tobytes()
    delay = run.values[:, [name.endswith("_fdb_delay") for name in run.columns]]
    assert np.nanmedian(delay) == pytest.approx(0.022, abs=0.003)


def test_in_real_time_a_late_client_sees_results_and_health(start, record, kept) -> None:
    path = record(5000)
    rig, began = start("replay", path, "--bind", ANY_PORT), monotonic()
    service = start(
        "monitor", "--connect", rig.publishing, "--publish", ANY_PORT, "--record", kept, "--once", *WINDOW
    )
    service.until("listening")
    sleep(0.5)
    client = ResultSubscriber(service.results)
    seen: list[Any] = []
    while service.process.poll() is None:
        seen += client.receive(0.05)
    client.close()
    assert monotonic() - began > 4.9
    rig.wait()
    service.wait()
    assert_complete(read(kept), path)
    results = [item for item in seen if isinstance(item, ResultBlock) and len(item)]
    series = expected(path).values
    assert results[0].index > 0
    for block in results:
        assert block.values.tobytes() == series[block.index : block.index + len(block)].tobytes()
    looks = [item for item in seen if isinstance(item, Health)]
    assert looks[0].state == "receiving"
    assert looks[-1].state == "ended"
    assert looks[-1].counts == StreamCounts(received=5000)
    assert looks[0].recording == str(kept)
    assert any(isinstance(item, SignalBlock) for item in seen)
    # the first look may span the wait for the rig, the last the rest after the stream
    assert any(look.measured_rate == pytest.approx(RATE, rel=0.3) for look in looks)


def _suffered(path: Path, faults: str, block: int) -> list[SignalBlock]:
    """Return the blocks that a replay with these faults sends."""
    player = RecordingPlayer(open_recording(path), speed=float("inf"), block_length=block)
    source = FaultySource(player, parse_faults(faults), 1)
    found = []
    while not source.ended:
        found += [item for item in source.receive(0.0) if isinstance(item, SignalBlock)]
    return found


def _account(blocks: list[SignalBlock]) -> tuple[StreamCounts, list[SignalBlock]]:
    """Return what a careful receiver counts, sample by sample, and what it keeps."""
    counted = dict.fromkeys(("received", "lost", "gaps", "duplicates", "reordered", "restarts"), 0)
    missing: set[int] = set()
    epoch, following, kept = blocks[0].stream.epoch, 0, []
    for block in blocks:
        indices = set(range(block.index, block.index + len(block)))
        if block.stream.epoch != epoch:
            epoch, following, missing = block.stream.epoch, 0, set()
            counted["restarts"] += 1
        if block.index > following:
            counted["gaps"] += 1
            counted["lost"] += block.index - following
            missing |= set(range(following, block.index))
        elif block.index < following:
            counted["reordered" if indices <= missing else "duplicates"] += len(block)
            missing -= indices
            continue
        following = block.index + len(block)
        counted["received"] += len(block)
        kept.append(block)
    return StreamCounts(**counted), kept


def _valid_rows(kept: list[SignalBlock]) -> np.ndarray:
    """Return at which kept samples and for which pairs a whole window of good samples lies behind."""
    rows = []
    run, following, epoch = np.zeros(2, dtype=int), 0, None
    for block in kept:
        if block.stream.epoch != epoch or block.index != following:
            run = np.zeros(2, dtype=int)
        epoch, following = block.stream.epoch, block.index + len(block)
        for sample in block.samples:
            good = [np.isfinite(sample[[pair.command, pair.measured]]).all() for pair in block.stream.pairs]
            run = np.where(good, run + 1, 0)
            rows.append(run >= N_WINDOW)
    return np.array(rows)


@pytest.mark.parametrize(
    ("faults", "block"),
    [
        ("gap=2:0.25", 20),
        ("gap=2.0005:0.0035", 7),
        ("restart=2.5", 20),
        ("nan=0.0002", 20),
        ("duplicate=0.1", 20),
        ("reorder=0.01", 20),
        ("drop=0.005", 20),
        ("gap=1:0.1,restart=3,nan=0.0001,duplicate=0.05,reorder=0.005", 10),
    ],
)
def test_faults_are_counted_and_only_the_windows_across_them_are_invalid(
    start, record, kept, watched, faults, block
) -> None:
    path = record()
    counts, survived = _account(_suffered(path, faults, block))
    options = ("--speed", "max", "--block", block, "--faults", faults)
    service = start("monitor", "--bind", ANY_PORT, "--publish", ANY_PORT, "--record", kept, "--once", *WINDOW)
    until = watched(service.results)
    rig = start("replay", path, *options, "--connect", service.listening)
    looks = until(lambda: service.process.poll() is not None)
    service.wait()
    rig.wait()
    assert looks[-1].counts == counts
    run = read(kept)
    assert run.outcome == "clean"
    assert run.samples.tobytes() == np.concatenate([b.samples for b in survived]).tobytes()
    np.testing.assert_array_equal(run.index, np.concatenate([b.index + np.arange(len(b)) for b in survived]))
    rows = _valid_rows(survived)
    for i, actuator in enumerate(("north", "south")):
        for name in ("fdb_phase", "paei_phase", "nrmse", "peak_error"):
            values = run.values[:, run.columns.index(f"{actuator}_{name}")]
            np.testing.assert_array_equal(np.isfinite(values), rows[:, i], err_msg=f"{actuator} {name}")
    assert 0 < rows.sum() < rows.size


@pytest.mark.parametrize("first", ["monitor", "rig"])
def test_either_may_be_started_first(start, record, kept, free_url, first) -> None:
    path = record(2000)
    service = ("monitor", "--connect", free_url, "--publish", ANY_PORT, "--record", kept, "--once", *WINDOW)
    rig = ("replay", path, "--speed", "max", "--block", 100, "--bind", free_url)
    words = (service, rig) if first == "monitor" else (rig, service)
    one = start(*words[0])
    one.until("listening" if first == "monitor" else "waiting for a monitor")
    start(*words[1]).wait()
    one.wait()
    assert_complete(read(kept), path)


def test_a_rig_that_dies_and_comes_back_goes_on_in_the_same_recording(start, record, kept, free_url) -> None:
    path = record()
    service = start("monitor", "--connect", free_url, "--publish", ANY_PORT, "--record", kept, "--once", *WINDOW)
    rig = start("replay", path, "--bind", free_url)
    client = ResultSubscriber(service.results, kinds=("health",))
    looks: list[Any] = [Health()]
    while looks[-1].recorded < 700:
        looks += client.receive(0.1)
    rig.kill()
    with RunReader(kept) as reader:
        assert reader.n_samples >= looks[-1].recorded
    start("replay", path, "--bind", free_url, "--speed", "max", "--block", 100).wait()
    client.close()
    service.wait()
    run = read(kept)
    assert run.outcome == "clean"
    early, late = np.unique(run.epoch)
    assert early < late
    series = expected(path).values
    for epoch, whole in ((early, False), (late, True)):
        count = run.channel("count")[run.epoch == epoch]
        np.testing.assert_array_equal(count, np.arange(len(count)))
        np.testing.assert_array_equal(run.index[run.epoch == epoch], count)
        assert (len(count) == 6000) if whole else (700 <= len(count) < 6000)
        assert run.values[run.result_epoch == epoch].tobytes() == series[: len(count)].tobytes()
