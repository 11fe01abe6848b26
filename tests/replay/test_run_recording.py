"""Run files as recordings, and the alarm transitions they hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from monitor.messages.alarms import AlarmAction, AlarmState, Severity, Transition
from monitor.messages.blocks import Channel, Event, EventKind, Role, SignalBlock, Stream
from monitor.recording import RunWriter
from replay.formats import RecordingError, Selection, open_recording
from replay.formats.run_file import alarm_steps
from replay.playback.players import RecordingPlayer

CHANNELS = (Channel("c", Role.COMMAND, "m", "a"), Channel("m", Role.MEASURED, "m", "a"))
RATE = 10.0


def samples(start: int, n: int) -> np.ndarray:
    return np.column_stack((np.arange(start, start + n), -np.arange(start, start + n))).astype(np.float64)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Samples 100 .. 119 and 140 .. 149 of one epoch, then 0 .. 9 of the next; witnesses 0 .. 39."""
    path = tmp_path / "run.h5"
    writer = RunWriter(path, {})
    first, second = (Stream("rig", epoch, RATE, CHANNELS) for epoch in (7, 9))
    writer.signals(SignalBlock(first, 100, 10.0, samples(0, 20)))
    writer.signals(SignalBlock(first, 140, 14.0, samples(20, 10)))
    writer.signals(SignalBlock(second, 0, 30.0, samples(30, 10), last=True))
    writer.close()
    return path


def test_a_run_file_is_told_by_its_first_bytes(run: Path) -> None:
    recording = open_recording(run.rename(run.with_name("run.any")))
    assert recording.n_samples == 40
    assert recording.stream.channels == CHANNELS
    blocks = list(recording.blocks(15))
    assert [(b.index, len(b)) for b in blocks] == [(100, 15), (115, 5), (140, 10), (0, 10)]
    np.testing.assert_array_equal(np.concatenate([b.samples for b in blocks]), samples(0, 40))


@pytest.mark.parametrize(
    ("start", "witness"), [(0.0, 0), (0.3, 3), (1.9, 19), (2.0, 20), (3.9, 20), (4.5, 25), (5.0, 30), (5.9, 39)]
)
def test_a_start_counts_missing_samples_too(run: Path, start: float, witness: int) -> None:
    assert next(iter(open_recording(run).blocks(3, start))).samples[0, 0] == witness


def test_a_player_passes_gaps_and_restarts_on(run: Path) -> None:
    player = RecordingPlayer(open_recording(run), speed=float("inf"), block_length=50, epoch=1)
    blocks: list[SignalBlock] = []
    while not player.ended:
        blocks += [item for item in player.receive(0.0) if isinstance(item, SignalBlock)]
    assert [(b.stream.epoch, b.index, len(b)) for b in blocks] == [(1, 0, 20), (1, 40, 10), (2, 0, 10)]
    assert [b.last for b in blocks] == [False, False, True]
    with pytest.raises(RecordingError, match="nothing to play"):
        RecordingPlayer(open_recording(run), start=6.0)


def test_a_player_that_is_closed_early_lets_go_of_the_file(run: Path) -> None:
    player = RecordingPlayer(open_recording(run), speed=float("inf"), block_length=1)
    player.receive(0.0)
    player.close()
    assert player.ended
    writer = RunWriter(run, {})
    writer.close()


def test_a_broken_run_and_columns_named_for_a_run_are_one_clear_line(run: Path) -> None:
    with pytest.raises(RecordingError, match="leave out"):
        open_recording(run, Selection(rate=1.0))
    broken = run.with_name("broken.h5")
    broken.write_bytes(run.read_bytes()[:60])
    with pytest.raises(RecordingError) as caught:
        open_recording(broken)
    assert "\n" not in str(caught.value)


def test_the_notes_of_a_run_are_told(tmp_path):
    stream = Stream("rig", 7, 100.0, (Channel("x", Role.AUXILIARY),))
    writer = RunWriter(tmp_path / "run.h5", {})
    writer.signals(SignalBlock(stream, 0, 50.0, np.zeros((100, 1))))
    for i in range(12):
        writer.event(Event(EventKind.NOTE, 50.25 + 0.05 * i, 25 + 5 * i, 0, f"note {i}"))
    writer.event(Event(EventKind.GAP, 50.5, 50, 3, "no note"))
    writer.close()
    told = open_recording(tmp_path / "run.h5").notes
    assert told[0] == "2 older notes are in the file"
    assert told[1:] == tuple(
        f"note at {0.25 + 0.05 * i:.3f} s ({50.25 + 0.05 * i:.3f} s on the rig's clock): note {i}"
        for i in range(2, 12)
    )


def test_events_are_timed_from_the_start_of_the_run_as_the_start_of_a_part_is(run):
    """The rig's clock begins at 1.7e9 s, counts a gap, and begins again at 0 with a restart."""
    writer = RunWriter(run.with_name("clock.h5"), {})
    first, second = (Stream("rig", epoch, RATE, CHANNELS) for epoch in (7, 9))
    writer.signals(SignalBlock(first, 100, 1.7e9, samples(0, 20)))
    writer.signals(SignalBlock(first, 140, 1.7e9 + 4.0, samples(20, 10)))
    writer.event(Event(EventKind.NOTE, 1.7e9 + 4.2, 142, 0, "after the gap"))
    writer.event(Event(EventKind.RESTART, 0.0, 0, 0, ""))
    writer.signals(SignalBlock(second, 0, 0.0, samples(30, 10), last=True))
    writer.event(Event(EventKind.NOTE, 0.5, 5, 0, "after the restart"))
    writer.close()
    recording = open_recording(run.with_name("clock.h5"))
    assert recording.notes == (
        "note at 4.200 s (1700000004.200 s on the rig's clock): after the gap",
        "note at 5.500 s (0.500 s on the rig's clock): after the restart",
    )
    assert [seconds for _, seconds in recording.timed_events()] == pytest.approx([4.2, 5.0, 5.5])
    assert next(iter(recording.blocks(1, 4.2))).samples[0, 0] == 22.0


def step(name: str, number: int, severity: Severity) -> Event:
    states = (AlarmState.NORMAL, AlarmState.UNACKNOWLEDGED)
    made = Transition(number, f"{name}.{severity}", severity, AlarmAction.OCCUR, *states, float(number), number)
    return Event.of_alarm(made)


def timed(events: list[Event]) -> list[tuple[Event, float]]:
    return [(event, event.time) for event in events]


def test_no_warning_hides_a_trip_and_many_are_told_alarm_by_alarm() -> None:
    trip = step("dead_stream", 0, Severity.TRIP)
    warns = [step("ab"[i % 2], i, Severity.WARN) for i in range(1, 41)]
    assert alarm_steps(timed([trip, *warns, Event(EventKind.GAP, 1.0, 1, 3, "")])) == [
        "alarm at 0.000 s: dead_stream.trip unacknowledged: ",
        *(
            f"alarm {n}.warn: 20 steps, the first at {one}.000 s: {n}.warn unacknowledged: "
            f"; the last at {last}.000 s: {n}.warn unacknowledged: "
            for n, one, last in (("b", 1, 39), ("a", 2, 40))
        ),
    ]
    assert len(alarm_steps(timed(warns[:10]))) == 10


def test_fifty_trips_are_listed_and_of_more_each_alarm() -> None:
    trips = [step("x", i, Severity.TRIP) for i in range(51)]
    assert len(alarm_steps(timed(trips[:50]))) == 50
    assert [line.split(",")[0] for line in alarm_steps(timed(trips))] == ["alarm x.trip: 51 steps"]
