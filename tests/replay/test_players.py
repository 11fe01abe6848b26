"""A player sends the record and nothing but the record, when it is due."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from replay.formats import ArrayRecording, RecordingError
from replay.playback.players import Pacer, RecordingPlayer, default_block_length

RATE = 100.0
STREAM = Stream(
    "rig",
    0,
    RATE,
    (Channel("x_c", Role.COMMAND, "m", "a"), Channel("x_m", Role.MEASURED, "m", "a"), Channel("k", Role.AUXILIARY)),
)


class Clock:
    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds


def record(n: int = 50, start_time: float = 3.0, index: list[int] | None = None) -> ArrayRecording:
    numbers = np.arange(n, dtype=np.float64)
    samples = np.column_stack((np.sin(numbers), np.cos(numbers), numbers))
    return ArrayRecording(STREAM, samples, start_time, (), None if index is None else np.array(index))


def drain(player: RecordingPlayer, timeout: float = 0.01, calls: int = 10_000) -> list[SignalBlock]:
    blocks: list[SignalBlock] = []
    for _ in range(calls):
        if player.ended:
            break
        blocks += [item for item in player.receive(timeout) if isinstance(item, SignalBlock)]
    return blocks


def paced(recording: ArrayRecording, **settings: object) -> tuple[RecordingPlayer, Clock]:
    clock = Clock()
    speed = settings.pop("speed", 1.0)
    player = RecordingPlayer(recording, pacer=Pacer(speed, clock, clock.sleep), **settings)
    return player, clock


@given(
    st.integers(1, 60),
    st.integers(1, 70),
    st.sampled_from([0.5, 1.0, 7.0, float("inf")]),
    st.lists(st.floats(0.0, 0.2), min_size=1, max_size=9),
)
def test_any_block_length_and_cadence_reproduce_the_record(
    n: int, length: int, speed: float, timeouts: list[float]
) -> None:
    player, clock = paced(record(n), block_length=length, epoch=5, speed=speed)
    blocks: list[SignalBlock] = []
    for call in range(10_000):
        if player.ended:
            break
        blocks += player.receive(timeouts[call % len(timeouts)])
        clock.time += 0.003
    assert player.ended
    np.testing.assert_array_equal(np.concatenate([b.samples for b in blocks]), record(n).samples)
    assert [b.index for b in blocks] == list(range(0, n, length))
    assert [b.time for b in blocks] == pytest.approx([3.0 + b.index / RATE for b in blocks])
    assert [b.last for b in blocks] == [False] * (len(blocks) - 1) + [True]
    assert {b.stream.epoch for b in blocks} == {5}


def test_a_block_comes_when_its_last_sample_would_have_been_taken() -> None:
    player, clock = paced(record(50), block_length=10, speed=2.0)
    arrived = []
    while not player.ended:
        arrived += [(b.index, clock.time) for b in player.receive(0.05)]
    assert arrived == [(i, pytest.approx((i + 9) / RATE / 2)) for i in range(0, 50, 10)]


def test_the_clock_starts_with_the_first_call() -> None:
    player, clock = paced(record(50), block_length=10)
    clock.time += 100.0
    assert player.receive(0.05) == []
    assert len(player.receive(0.05)) == 1


def test_a_loop_restarts_with_a_larger_epoch_and_keeps_its_pace() -> None:
    player, clock = paced(record(50), block_length=20, loop=True, epoch=7)
    blocks = drain(player, 0.1, calls=40)
    assert not player.ended
    assert not any(b.last for b in blocks)
    assert [(b.stream.epoch, b.index) for b in blocks[:7]] == [
        *((7, i) for i in (0, 20, 40)),
        *((8, i) for i in (0, 20, 40)),
        (9, 0),
    ]
    passes = blocks[-1].stream.epoch - 7
    due = passes * 0.5 + (blocks[-1].index + len(blocks[-1]) - 1) / RATE
    assert due - 1e-9 <= clock.time < due + 0.2
    player.close()
    assert player.ended
    assert player.receive(1.0) == []


def test_pause_holds_everything_and_resume_goes_on_without_a_burst() -> None:
    player, clock = paced(record(50), block_length=10)
    assert [b.index for b in player.receive(0.2)] == [0]
    player.pause()
    assert player.paused
    clock.time += 60.0
    assert player.receive(0.5) == []
    player.resume()
    began = clock.time
    assert [b.index for b in player.receive(0.5)] == [10]
    assert clock.time == pytest.approx(began + 0.1)


def test_pause_before_the_first_call_holds() -> None:
    player, _ = paced(record(50), speed=float("inf"))
    player.pause()
    assert player.receive(0.5) == []
    player.resume()
    assert player.receive(0.5) != []


def test_seek_is_a_restart_at_another_place() -> None:
    player, clock = paced(record(50), block_length=10, epoch=1)
    drain(player, 0.2, calls=2)
    clock.time += 0.04
    player.seek(0.3)
    blocks = drain(player)
    assert [(b.stream.epoch, b.index, b.samples[0, 2]) for b in blocks] == [(2, 0, 30.0), (2, 10, 40.0)]
    assert [b.time for b in blocks] == pytest.approx([3.3, 3.4])
    assert player.ended
    player.seek(0.0)
    assert not player.ended
    assert [b.stream.epoch for b in drain(player)] == [3] * 5


def test_a_place_beyond_the_end_is_refused_and_changes_nothing() -> None:
    player, _ = paced(record(50), block_length=25)
    with pytest.raises(RecordingError, match=r"nothing to play from 0\.5 s on"):
        player.seek(0.5)
    with pytest.raises(ValueError, match="before the first sample"):
        player.seek(-1.0)
    assert len(drain(player)) == 2
    with pytest.raises(RecordingError):
        RecordingPlayer(record(0))


def test_start_counts_from_the_first_sample() -> None:
    player, _ = paced(record(50), block_length=100, start=0.3)
    (block,) = drain(player)
    assert (block.index, block.samples[0, 2], block.time) == (0, 30.0, pytest.approx(3.3))


def test_gaps_are_passed_on() -> None:
    player, clock = paced(record(4, index=[0, 1, 10, 11]), block_length=5)
    assert [(b.index, len(b)) for b in drain(player)] == [(0, 2), (10, 2)]
    assert clock.time == pytest.approx(0.11)


def test_live_time_dates_the_first_sample_today() -> None:
    wall = iter([1e9, 1e9 + 1, 1e9 + 2])
    player, _ = paced(record(20), block_length=10, live_time=True, now=lambda: next(wall), loop=True)
    blocks = drain(player, 0.1, calls=4)
    assert [b.time for b in blocks[:2]] == pytest.approx([1e9 + 1.0, 1e9 + 1.1])
    assert blocks[2].time == pytest.approx(1e9 + 2.0)
    assert blocks[0].stream.epoch == 10**18


def test_restarts_in_a_recording_are_passed_on() -> None:
    class Restarted(ArrayRecording):
        def blocks(self, block_length: int, start: float = 0.0) -> Iterator[SignalBlock]:
            for epoch, first in ((100, 40), (200, 7)):
                stream = Stream("rig", epoch, RATE, STREAM.channels)
                for k in (0, 10):
                    yield SignalBlock(stream, first + k, 1.0, np.zeros((10, 3)), last=epoch == 100)

    player, _ = paced(Restarted(STREAM, np.zeros((40, 3))), block_length=10, epoch=1, loop=True)
    blocks = drain(player, 0.1, calls=8)
    assert [(b.stream.epoch, b.index) for b in blocks[:5]] == [(1, 0), (1, 10), (2, 0), (2, 10), (3, 0)]
    assert not any(b.last for b in blocks)
    assert blocks[2].stream is blocks[3].stream


def test_default_blocks_last_ten_milliseconds() -> None:
    assert default_block_length(10_000.0, 1.0) == 100
    assert default_block_length(51.2, 1.0) == 1
    assert default_block_length(1000.0, float("inf")) == 4096


def test_the_block_length_follows_the_speed() -> None:
    player, clock = paced(record(2000, index=None), speed=1.0)
    assert [len(b) for b in player.receive(0.1)] == [1]
    player.speed = 50.0
    clock.time += 0.04
    lengths = [len(b) for b in player.receive(0.0)]
    assert set(lengths) == {50}
    player.speed = float("inf")
    assert [len(b) for b in player.receive(0.0)] == [2000 - 1 - sum(lengths)]


def test_time_stands_in_the_middle_of_a_block_and_goes_on_from_there() -> None:
    player, clock = paced(record(50), block_length=10)
    player.receive(0.0)
    clock.time += 0.055
    player.pause()
    assert [(b.index, len(b)) for b in player.receive(0.0)] == [(0, 6)]
    assert player.position == pytest.approx(0.06)
    clock.time += 9.0
    player.resume()
    player.receive(0.0)
    began = clock.time
    assert [(b.index, len(b)) for b in player.receive(0.5)] == [(6, 10)]
    assert clock.time == pytest.approx(began + 0.15 - 0.055)


def test_a_step_into_a_gap_stands_there() -> None:
    player, _ = paced(record(4, index=[0, 1, 10, 11]), block_length=5)
    player.step(0.05)
    assert [b.index for b in player.receive(0.0)] == [0]
    assert player.position == pytest.approx(0.05)
    player.step(0.05)
    assert player.receive(0.0) == []
    player.step(0.01)
    assert [(b.index, len(b)) for b in player.receive(0.0)] == [(10, 1)]


def test_a_step_goes_round_in_a_loop() -> None:
    player, _ = paced(record(50), block_length=50, loop=True, epoch=1)
    player.seek(0.4)
    player.step(0.2)
    assert [(b.stream.epoch, b.index, len(b)) for b in player.receive(0.0)] == [(2, 0, 10), (3, 0, 10)]
    assert player.position == pytest.approx(0.1)
    assert player.epoch == 3


def test_finish_ends_the_stream_where_it_is() -> None:
    player, _ = paced(record(50), block_length=10)
    player.receive(0.2)
    (end,) = player.finish()
    assert isinstance(end, SignalBlock)
    assert (end.index, len(end), end.last, end.time) == (10, 0, True, pytest.approx(3.1))
    assert player.ended
    assert player.finish() == []


def test_a_loop_that_is_switched_off_ends_with_its_last_block() -> None:
    player, _ = paced(record(50), block_length=25, speed=float("inf"), loop=True)
    drain(player, 0.0, calls=3)
    player.loop = False
    (end,) = drain(player)
    assert end.last
    assert player.position == player.duration == 0.5
