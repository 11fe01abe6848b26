"""The longest segment without a gap: where it is, and what is left of the record."""

import numpy as np
import pytest

from monitor.messages.blocks import Channel, Role, Stream
from replay.formats import ArrayRecording
from replay.formats.parts import longest_gap_free_segment

STREAM = Stream("rig", 1, 100.0, (Channel("c", Role.COMMAND, "m", "a"), Channel("m", Role.MEASURED, "m", "a")))
SAMPLES = np.column_stack([np.arange(100.0), -np.arange(100.0)])


def found(samples=SAMPLES, index=None):
    return longest_gap_free_segment(ArrayRecording(STREAM, samples, index=index), STREAM.pairs[0])


def with_holes(*places):
    samples = SAMPLES.copy()
    for i, place in enumerate(places):
        samples[place, i % 2] = np.nan
    return samples


@pytest.mark.parametrize(
    ("places", "start", "stop"), [((), 0, 100), ((30,), 31, 100), ((70, 90), 0, 70), ((10, 60, 61), 11, 60)]
)
def test_a_stretch_between_holes(places, start, stop):
    stretch = found(with_holes(*places))
    np.testing.assert_array_equal(stretch.samples, SAMPLES[start:stop])
    assert (stretch.start, stretch.left_out) == (start, 100 - (stop - start))


def test_samples_that_are_missing_count_for_the_time():
    index = np.arange(100)
    index[20:] += 50
    stretch = found(with_holes(24), index)
    np.testing.assert_array_equal(stretch.samples, SAMPLES[25:])
    # the gap has one that stands for it
    assert (stretch.start, stretch.left_out) == (25 + 50, 25 + 1)


def test_nothing_but_holes():
    stretch = found(np.full((10, 2), np.nan))
    assert stretch.samples.shape == (0, 2) and stretch.left_out == 10
