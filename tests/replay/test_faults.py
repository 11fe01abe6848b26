"""Each fault does what it says and nothing else; a channel that carries the sample number is the witness."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.messages.blocks import Channel, Event, EventKind, Role, SignalBlock, Stream
from replay.faults import FaultError, Faults, FaultySource, parse_faults
from replay.formats import ArrayRecording
from replay.playback.players import RecordingPlayer

RATE = 100.0
N = 1000
CHANNELS = (
    Channel("x_c", Role.COMMAND, "m", "a"),
    Channel("x_m", Role.MEASURED, "m", "a"),
    Channel("k", Role.AUXILIARY),
)
NUMBERS = np.arange(N, dtype=np.float64)
SAMPLES = np.column_stack((NUMBERS, NUMBERS, NUMBERS))


def playing(loop: bool = False, length: int = 10) -> RecordingPlayer:
    recording = ArrayRecording(Stream("rig", 0, RATE, CHANNELS), SAMPLES)
    return RecordingPlayer(recording, speed=float("inf"), block_length=length, epoch=50, loop=loop)


def play(faults: Faults, seed: int = 0, length: int = 10, loop: int = 0) -> list[SignalBlock]:
    source = FaultySource(playing(loop > 0, length), faults, seed)
    blocks: list[SignalBlock] = []
    while not source.ended and (not loop or len(blocks) < loop):
        blocks += [item for item in source.receive(0.0) if isinstance(item, SignalBlock)]
    return blocks


def witness(blocks: Sequence[SignalBlock]) -> np.ndarray:
    return np.concatenate([b.samples for b in blocks])[:, 2]


def test_no_fault_changes_nothing() -> None:
    blocks = play(Faults())
    np.testing.assert_array_equal(np.concatenate([b.samples for b in blocks]), SAMPLES)
    assert blocks[-1].last


def test_dropped_blocks_leave_true_numbers_behind() -> None:
    blocks = play(Faults(drop=0.3))
    assert 50 < len(blocks) < 90
    for block in blocks:
        np.testing.assert_array_equal(block.samples[:, 2], block.index + np.arange(len(block)))
    assert blocks[-1].last
    assert len(play(Faults(drop=1.0))) == 1


def test_duplicates_come_twice_in_a_row() -> None:
    indices = [b.index for b in play(Faults(duplicate=0.3))]
    twice = [i for i in range(1, len(indices)) if indices[i] == indices[i - 1]]
    assert sorted(set(indices)) == list(range(0, N, 10))
    assert len(indices) == N // 10 + len(twice)
    assert 15 < len(twice) < 45
    assert len(play(Faults(duplicate=1.0))) == 2 * (N // 10) - 1


def test_reordered_blocks_change_places_with_the_next() -> None:
    indices = [b.index // 10 for b in play(Faults(reorder=0.3))]
    assert sorted(indices) == list(range(N // 10))
    assert indices != sorted(indices)
    assert max(abs(i - at) for at, i in enumerate(indices)) == 1
    assert indices[-1] == N // 10 - 1
    assert [b.index // 10 for b in play(Faults(reorder=1.0))][:4] == [1, 0, 3, 2]


def test_jitter_moves_times_and_not_numbers() -> None:
    blocks = play(Faults(jitter=0.002))
    off = np.array([b.time - b.index / RATE for b in blocks])
    assert 0.001 < np.max(np.abs(off)) <= 0.002
    np.testing.assert_array_equal(witness(blocks), NUMBERS)


def test_nan_hits_measured_channels_only() -> None:
    samples = np.concatenate([b.samples for b in play(Faults(nan=0.1))])
    holes = np.isnan(samples)
    assert not holes[:, [0, 2]].any()
    assert 60 < holes[:, 1].sum() < 140
    np.testing.assert_array_equal(samples[~holes[:, 1], 1], NUMBERS[~holes[:, 1]])
    chopped = np.concatenate([b.samples for b in play(Faults(nan=0.1), length=7)])
    np.testing.assert_array_equal(np.isnan(chopped), holes)  # whatever the blocks


@given(st.integers(1, 40), st.floats(0.0, 0.3), st.integers(0, 500))
def test_a_delay_step_lags_the_measured_channel_by_just_that(length: int, delay: float, at: int) -> None:
    blocks = play(Faults(delay_step=(at / RATE, delay)), length=length)
    samples = np.concatenate([b.samples for b in blocks])
    late = np.interp(NUMBERS - delay * RATE, NUMBERS, NUMBERS)
    expected = np.where(at <= NUMBERS, late, NUMBERS)
    np.testing.assert_allclose(samples[:, 1], expected, atol=2e-5)
    np.testing.assert_array_equal(samples[:, [0, 2]], SAMPLES[:, [0, 2]])


def test_a_delay_of_whole_samples_does_not_smear_nan() -> None:
    samples = np.concatenate([b.samples for b in play(Faults(delay_step=(1.0, 0.05), gap=(2.0, 0.1)))])
    kept = samples[:, 2] >= 100
    np.testing.assert_array_equal(samples[kept, 1], samples[kept, 2] - 5)


@given(st.integers(1, 40), st.integers(0, 1100), st.integers(0, 300))
def test_a_gap_cuts_just_its_span(length: int, at: int, span: int) -> None:
    blocks = play(Faults(gap=(at / RATE, span / RATE)), length=length)
    kept = (at > NUMBERS) | (at + span <= NUMBERS)
    np.testing.assert_array_equal(witness(blocks), NUMBERS[kept])
    for block in blocks:
        np.testing.assert_array_equal(block.samples[:, 2], block.index + np.arange(len(block)))
        assert block.time == pytest.approx(block.index / RATE)
    assert [b.last for b in blocks].count(True) == 1


@given(st.integers(1, 40), st.integers(1, 999))
def test_a_restart_begins_a_new_epoch_at_zero(length: int, at: int) -> None:
    blocks = play(Faults(restart=at / RATE), length=length)
    np.testing.assert_array_equal(witness(blocks), NUMBERS)
    before = [b for b in blocks if b.stream.epoch == 50]
    after = [b for b in blocks if b.stream.epoch == 51]
    assert len(before) + len(after) == len(blocks)
    assert sum(map(len, before)) == at
    assert after[0].index == 0
    for block in after:
        assert block.samples[0, 2] == block.index + at
        assert block.stream is after[0].stream


def test_restarts_of_the_source_itself_stay_larger() -> None:
    blocks = play(Faults(restart=5.0), loop=250)
    epochs = [b.stream.epoch for b in blocks]
    assert epochs == sorted(epochs)
    assert sorted(set(epochs)) == [50, 51, 52, 53]
    second = [b for b in blocks if b.stream.epoch == 52]
    assert [b.index for b in second] == list(range(0, N, 10))
    assert second[0].samples[0, 2] == 0.0


def test_the_seed_decides_and_faults_do_not_disturb_each_other() -> None:
    def lost(faults: Faults, seed: int) -> list[int]:
        return [b.index for b in play(faults, seed)]

    assert lost(Faults(drop=0.3), 1) == lost(Faults(drop=0.3), 1)
    assert lost(Faults(drop=0.3), 1) != lost(Faults(drop=0.3), 2)
    assert lost(Faults(drop=0.3), 1) == lost(Faults(drop=0.3, nan=0.5, jitter=0.1), 1)


def test_events_pass_and_a_held_block_comes_out_at_the_end() -> None:
    event = Event(EventKind.NOTE, 0.0, 0)
    block = SignalBlock(Stream("rig", 1, RATE, CHANNELS), 0, 0.0, SAMPLES[:10])

    class Brief:
        ended = False
        closed = False

        def receive(self, timeout: float) -> list[SignalBlock | Event]:
            self.ended = True
            return [event, block]

        def close(self) -> None:
            self.closed = True

    brief = Brief()
    source = FaultySource(brief, Faults(reorder=1.0))
    assert not source.ended
    assert source.receive(0.0) == [event, block]
    assert source.ended
    source.close()
    assert brief.closed


def test_a_text_gives_the_faults() -> None:
    text = "drop=0.01, nan=0.001,delay_step=10:0.005,restart=20,gap=3:1"
    assert parse_faults(text) == Faults(drop=0.01, nan=0.001, delay_step=(10.0, 0.005), restart=20.0, gap=(3.0, 1.0))
    assert parse_faults("") == Faults()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("lose=1", "unknown fault 'lose=1'"),
        ("drop", "'drop': not a number"),
        ("drop=many", "'drop=many': not a number"),
        ("drop=2", "drop=2: a probability is between 0 and 1"),
        ("drop=nan", "a probability"),
        ("drop=0.1,drop=0.2", "drop is given twice"),
        ("gap=3", "'gap=3': write drop=P"),
        ("gap=3:-1", "gap=3:-1: a time is not negative"),
        ("restart=-1", "restart=-1: a time"),
        ("restart=inf", "a time"),
        ("drop=0.1:0.2", "write drop=P"),
    ],
)
def test_a_wrong_text_is_one_clear_line(text: str, says: str) -> None:
    with pytest.raises(FaultError) as caught:
        parse_faults(text)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def taken(source: FaultySource, calls: int) -> list[SignalBlock]:
    return [item for _ in range(calls) for item in source.receive(0.0) if isinstance(item, SignalBlock)]


def test_the_times_of_faults_by_hand_count_from_then() -> None:
    source = FaultySource(playing(), Faults())
    before = taken(source, 30)
    source.set_faults(Faults(gap=(0.05, 0.1), delay_step=(0.5, 0.1)))
    after = taken(source, 70)
    kept = [n for n in range(N) if not 305 <= n < 315]
    np.testing.assert_array_equal(witness(before + after), kept)
    measured = np.concatenate([b.samples for b in after])[:, 1]
    lagging = np.array([n for n in kept if n >= 350], dtype=np.float64)
    np.testing.assert_allclose(measured[-len(lagging) :], lagging - 10, atol=1e-9)
    np.testing.assert_array_equal(measured[: -len(lagging)], [n for n in kept if 300 <= n < 350])


@given(st.lists(st.tuples(st.integers(1, 30), st.sampled_from([None, 0.0, 0.03, 0.2])), max_size=12))
def test_restarts_by_hand_lose_nothing_and_epochs_never_fall(changes: list[tuple[int, float | None]]) -> None:
    source = FaultySource(playing(loop=True), Faults())
    blocks = []
    for calls, time in changes:
        source.set_faults(Faults(restart=time))
        blocks += taken(source, calls)
    blocks += taken(source, 5)
    np.testing.assert_array_equal(witness(blocks), np.arange(sum(map(len, blocks))) % N)
    following = 0
    epoch = blocks[0].stream.epoch
    for block in blocks:
        assert block.stream.epoch >= epoch
        following = following if block.stream.epoch == epoch else 0
        epoch = block.stream.epoch
        assert block.index == following
        following += len(block)
    assert source.added_epochs <= sum(time is not None for _, time in changes)


def test_what_was_held_back_comes_when_the_faults_change() -> None:
    source = FaultySource(playing(), Faults(reorder=1.0))
    assert taken(source, 1) == []
    source.set_faults(Faults())
    assert [b.index for b in taken(source, 2)] == [0, 10, 20]


def test_a_block_of_before_a_restart_does_not_come_after_it() -> None:
    source = FaultySource(playing(loop=True), Faults(reorder=0.5))
    epochs = [b.stream.epoch for b in taken(source, 500)]
    assert epochs == sorted(epochs)


def test_a_source_that_is_wound_back_after_its_end_has_another_end() -> None:
    player = playing()
    source = FaultySource(player, Faults(reorder=1.0))
    first = taken(source, 100)
    assert source.ended
    player.seek(9.0)
    assert not source.ended
    second = taken(source, 10)
    assert source.ended
    assert (len(witness(first)), len(witness(second))) == (N, 100)
    assert [first[-1].last, second[-1].last] == [True, True]


def test_a_delay_knows_nothing_of_another_place() -> None:
    player = playing()
    source = FaultySource(player, Faults(delay_step=(0.0, 0.05)))
    taken(source, 3)
    player.seek(5.0)
    (block,) = taken(source, 1)
    np.testing.assert_array_equal(block.samples[:, 1], [500.0] * 5 + [500.0, 501.0, 502.0, 503.0, 504.0])


def measured_lag(blocks: Sequence[SignalBlock]) -> np.ndarray:
    samples = np.concatenate([b.samples for b in blocks])
    return samples[:, 2] - samples[:, 1]


@pytest.mark.parametrize("more", [Faults(jitter=0.001), Faults(duplicate=0.5), Faults(restart=0.0)])
def test_another_fault_does_not_disturb_a_delay(more: Faults) -> None:
    source = FaultySource(playing(), Faults(delay_step=(0.0, 0.05)))
    taken(source, 3)
    source.set_faults(replace(more, delay_step=(0.0, 0.05)))
    first = taken(source, 10)
    source.set_faults(Faults(delay_step=(0.0, 0.05)))
    np.testing.assert_array_equal(measured_lag(first + taken(source, 10)), 5.0)


def test_a_delay_that_stays_is_not_put_off() -> None:
    source = FaultySource(playing(), Faults(delay_step=(0.5, 0.05)))
    before = taken(source, 3)
    source.set_faults(Faults(delay_step=(0.5, 0.05), jitter=0.001))
    lags = measured_lag(before + taken(source, 7))
    np.testing.assert_array_equal(lags, np.repeat([0.0, 5.0], 50))


@pytest.mark.parametrize("then", [0.12, 0.08, 0.02])
def test_a_delay_that_changes_holds_still_and_never_looks_ahead(then: float) -> None:
    source = FaultySource(playing(), Faults(delay_step=(0.0, 0.05)))
    taken(source, 3)
    source.set_faults(Faults(delay_step=(0.0, then)))
    measured = np.concatenate([b.samples for b in taken(source, 10)])[:, 1]
    # 24 is the oldest value that a lag of 5 samples has kept at sample 30
    np.testing.assert_allclose(measured, np.maximum(np.arange(30, 130) - 100 * then, 24.0), atol=1e-9)


def test_a_delay_that_changes_later_counts_from_then() -> None:
    source = FaultySource(playing(), Faults(delay_step=(0.0, 0.05)))
    taken(source, 3)
    source.set_faults(Faults(delay_step=(0.2, 0.1)))
    np.testing.assert_array_equal(measured_lag(taken(source, 4)), np.repeat([0.0, 10.0], 20))


@pytest.mark.parametrize("kept", [Faults(drop=0.3), Faults(nan=0.1), Faults(jitter=0.002), Faults(duplicate=0.3)])
def test_what_stays_draws_on_as_if_nothing_had_changed(kept: Faults) -> None:
    def drawn(change: bool) -> list[tuple[int, float, int]]:
        source = FaultySource(playing(), kept)
        blocks = taken(source, 30)
        if change:
            source.set_faults(replace(kept, gap=(100.0, 1.0)))
        return [(b.index, b.time, int(np.isnan(b.samples).sum())) for b in blocks + taken(source, 70)]

    assert drawn(change=True) == drawn(change=False)


def test_a_gap_comes_anew_whenever_it_is_told() -> None:
    source = FaultySource(playing(), Faults())
    blocks = []
    for _ in range(2):
        source.set_faults(Faults(gap=(0.0, 0.05)))
        blocks += taken(source, 3)
    np.testing.assert_array_equal(witness(blocks), [*range(5, 30), *range(35, 60)])
