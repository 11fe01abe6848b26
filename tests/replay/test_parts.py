"""A part of a recording: the same samples, at the same times, and no others."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.messages.blocks import Channel, Role, Stream
from replay.formats import ArrayRecording
from replay.formats.parts import RecordingPart

RATE, N = 100.0, 1000
STREAM = Stream("rig", 0, RATE, (Channel("c", Role.COMMAND, "m", "a"), Channel("m", Role.MEASURED, "m", "a")))


def recording(index=None) -> ArrayRecording:
    return ArrayRecording(STREAM, np.column_stack([np.arange(N), -np.arange(N)]), 5.0, ("a note",), index)


def numbers(part, length=64, start=0.0) -> np.ndarray:
    return np.concatenate([np.empty(0), *(block.samples[:, 0] for block in part.blocks(length, start))])


@pytest.mark.parametrize("length", [1, 7, 64, 5000])
def test_the_samples_of_a_part(length):
    part = RecordingPart(recording(), 2.0, 3.5)
    np.testing.assert_array_equal(numbers(part, length), np.arange(200, 350))
    assert (part.n_samples, part.duration) == (150, 1.5)
    first = next(iter(part.blocks(length)))
    assert (first.index, first.time) == (200, 7.0)
    np.testing.assert_array_equal(numbers(part, length, 1.0), np.arange(300, 350))
    assert part.notes == ("a note", "from 2 to 3.5 s of 10 s")
    assert part.settings == {}


def test_open_ends():
    np.testing.assert_array_equal(numbers(RecordingPart(recording(), 9.0)), np.arange(900, 1000))
    np.testing.assert_array_equal(numbers(RecordingPart(recording(), stop=1.0)), np.arange(100))
    assert RecordingPart(recording(), 9.0, 99.0).duration == 1.0


@pytest.mark.parametrize("length", [7, 400])
def test_times_go_on_through_gaps(length):
    # samples 300 to 399 are missing: row 300 is number 400
    index = np.concatenate([np.arange(300), np.arange(300, N) + 100])
    part = RecordingPart(recording(index), 2.0, 5.0)
    np.testing.assert_array_equal(numbers(part, length), np.arange(200, 400))
    inside = RecordingPart(recording(index), 3.5, 4.5)
    np.testing.assert_array_equal(numbers(inside, length), np.arange(300, 350))
    assert inside.locate(0.0) == pytest.approx(0.5)
    assert RecordingPart(recording(index), 3.2, 3.8).n_samples == 0


@pytest.mark.parametrize(
    ("start", "stop", "said"), [(10.0, 20.0, "10 s long"), (-1.0, 2.0, "long"), (2.0, 2.0, "after")]
)
def test_a_part_that_is_none(start, stop, said):
    with pytest.raises(ValueError, match=said):
        RecordingPart(recording(), start, stop)
