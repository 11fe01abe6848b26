"""A recording that is computed as it is read gives the samples of one that is computed at once, and no earlier."""

import tracemalloc

import numpy as np
import pytest

from monitor.messages.blocks import Channel, Role, Stream
from replay.formats.recordings import ComputedRecording
from replay.playback.description import describe_recording
from replay.simulations import simulation
from sim.laboratory.plants import BenchmarkPlant

STREAM = Stream("rig", 0, 100.0, tuple(Channel(name, Role.AUXILIARY, "m", "") for name in "abc"))


def recording(asked, kept_bytes=1 << 20):
    values = np.arange(250 * 2, dtype=np.float64).reshape(250, 2)

    def pieces():
        for start in range(0, 250, 64):
            asked.append(start)
            yield values[start : start + 64]

    def known(time):
        return 700.0 * time[:, np.newaxis]

    return ComputedRecording(STREAM, 250, [0, 2], pieces, known, kept_bytes), values


def test_samples_are_computed_as_far_as_they_are_read():
    asked = []
    lazy, values = recording(asked)
    assert (lazy.n_samples, lazy.duration, lazy.notes, lazy.locate(1.234)) == (250, 2.5, (), 1.24)
    assert not asked
    np.testing.assert_array_equal(
        lazy.known_at(np.array([0, 200])), [[np.nan, 0.0, np.nan], [np.nan, 1400.0, np.nan]]
    )
    blocks = lazy.blocks(10)
    first = next(blocks)
    assert asked == [0]
    np.testing.assert_array_equal(
        first.samples, np.column_stack([values[:10, 0], 700.0 * (np.arange(10) / 100.0), values[:10, 1]])
    )
    rest = np.concatenate([block.samples for block in blocks])
    assert asked == [0, 64, 128, 192]
    np.testing.assert_array_equal(rest[:, [0, 2]], values[10:])
    # again, and from the middle
    again = list(lazy.blocks(100, start=1.005))
    assert [(block.index, len(block)) for block in again] == [(101, 100), (201, 49)]
    np.testing.assert_array_equal(again[0].samples[:, 0], values[101:201, 0])
    assert asked == [0, 64, 128, 192]


def test_a_start_in_the_middle_computes_what_comes_before():
    asked = []
    lazy, values = recording(asked)
    np.testing.assert_array_equal(next(lazy.blocks(5, start=1.0)).samples[:, 2], values[100:105, 1])
    assert asked == [0, 64]
    assert list(lazy.blocks(5, start=2.5)) == []
    np.testing.assert_array_equal(lazy.samples[:, [0, 2]], values)


def test_memory_is_bounded_and_what_was_dropped_is_computed_again():
    asked = []
    # two pieces of 64 rows of 3 channels
    lazy, values = recording(asked, kept_bytes=2 * 64 * 3 * 8)
    read = np.concatenate([block.samples for block in lazy.blocks(10)])
    np.testing.assert_array_equal(read[:, [0, 2]], values)
    assert asked == [0, 64, 128, 192]
    assert sum(piece.nbytes for piece in lazy._kept) <= 2 * 64 * 3 * 8
    # still there
    np.testing.assert_array_equal(next(lazy.blocks(50, start=1.3)).samples[:, 0], values[130:180, 0])
    assert asked == [0, 64, 128, 192]
    # dropped: the simulation runs again from its start, as far as it is read
    np.testing.assert_array_equal(next(lazy.blocks(50, start=0.5)).samples[:, 2], values[50:100, 1])
    assert asked == [0, 64, 128, 192, 0, 64]
    # a block that is longer than what is kept is whole
    np.testing.assert_array_equal(next(lazy.blocks(250)).samples[:, [0, 2]], values)


@pytest.mark.parametrize(("length", "start"), [(0, 0.0), (10, -1.0)])
def test_mistakes_are_those_of_any_recording(length, start):
    with pytest.raises(ValueError, match=r"^(block length 0|start at -1 s): must [^\n]*$"):
        next(recording([])[0].blocks(length, start))


@pytest.mark.parametrize(("name", "duration"), [("hybrid", 2.0), ("plant", 0.6)])
def test_a_simulation_in_blocks_is_the_simulation_at_once(name, duration):
    whole = simulation(name, duration=duration).samples
    blocks = [block.samples.copy() for block in simulation(name, duration=duration).blocks(37)]
    np.testing.assert_array_equal(np.concatenate(blocks), whole)
    assert not np.any(np.isnan(whole[1:]))


@pytest.mark.parametrize(("name", "compensation"), [("hybrid", None), ("hybrid", "fdb"), ("plant", None)])
def test_a_simulation_of_a_day_begins_at_once_and_is_bounded(name, compensation):
    tracemalloc.start()
    try:
        day = simulation(name, duration=86400.0, compensation=compensation)
        first = next(day.blocks(64))
        described = describe_recording(day)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert first.samples.shape == (64, len(day.stream.channels))
    assert day.duration == 86400.0
    # all of its samples are 13 GB and more; the truth is read at some hundred thousand instants
    assert peak < 4e8
    if name == "hybrid" and compensation is None:
        # a third of the day passes before the first change
        changed = next(event for event in described.events if "→ 25.0" in event.detail)
        assert changed.time == pytest.approx(28800.0, abs=0.5)


def test_the_force_of_the_plant_is_that_of_its_whole_motion():
    plant, dt = BenchmarkPlant(), 1.0 / 4096.0
    command, measured, force = simulation("plant", duration=0.6).samples[:, :3].T
    np.testing.assert_array_equal(measured, plant.respond(command, dt))
    np.testing.assert_array_equal(force, plant.stiffness * measured + plant.damping * np.gradient(measured, dt))
