"""A recording that is computed as it is read gives the samples of one that is computed at once, and no earlier."""

import numpy as np
import pytest

from monitor.messages.blocks import Channel, Role, Stream
from replay.formats.computed import ComputedRecording
from replay.simulations import simulation

STREAM = Stream("rig", 0, 100.0, tuple(Channel(name, Role.AUXILIARY, "m", "") for name in "abc"))


def recording(asked):
    values = np.arange(250 * 2, dtype=np.float64).reshape(250, 2)

    def pieces():
        for start in range(0, 250, 64):
            asked.append(start)
            yield values[start : start + 64]

    known = np.full((250, 3), np.nan)
    known[:, 1] = 7.0
    return ComputedRecording(STREAM, known, [0, 2], pieces()), values


def test_samples_are_computed_as_far_as_they_are_read():
    asked = []
    lazy, values = recording(asked)
    assert (lazy.n_samples, lazy.duration, lazy.notes, lazy.locate(1.234)) == (250, 2.5, (), 1.24)
    assert not asked
    np.testing.assert_array_equal(lazy.known[:, 1], 7.0)
    blocks = lazy.blocks(10)
    first = next(blocks)
    assert asked == [0]
    np.testing.assert_array_equal(first.samples, np.column_stack([values[:10, 0], np.full(10, 7.0), values[:10, 1]]))
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


@pytest.mark.parametrize(("length", "start"), [(0, 0.0), (10, -1.0)])
def test_mistakes_are_those_of_any_recording(length, start):
    with pytest.raises(ValueError, match=r"^(block length 0|start at -1 s): must [^\n]*$"):
        next(recording([])[0].blocks(length, start))


def test_the_demonstration_in_blocks_is_the_demonstration_at_once():
    whole = simulation("hybrid", duration=2.0).samples
    blocks = [block.samples.copy() for block in simulation("hybrid", duration=2.0).blocks(37)]
    np.testing.assert_array_equal(np.concatenate(blocks), whole)
    assert not np.any(np.isnan(whole))
