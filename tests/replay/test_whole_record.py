"""What is said of a record as a whole: of its longest segment without a gap."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.messages.blocks import Channel, Role, Stream
from replay.assessment.whole_record import whole_records
from replay.formats.recordings import ArrayRecording

RATE, N = 200.0, 2000
STREAM = Stream("rig", 0, RATE, (Channel("c", Role.COMMAND, "m", "a"), Channel("m", Role.MEASURED, "m", "a")))


def tone(gain=0.8, delay=0.02):
    t = np.arange(N) / RATE
    # whole cycles, so that a rectangular window does not leak
    return np.column_stack([np.sin(2.0 * np.pi * 2.0 * t), gain * np.sin(2.0 * np.pi * 2.0 * (t - delay))])


def check(found):
    for fei in (found.fei, found.fei_tapered):
        assert (fei.ratio, fei.delay, fei.frequency) == pytest.approx((1.25, 0.02, 2.0), rel=0.01)
    assert found.criteria.j1 == pytest.approx(20.0, abs=5.0)


def test_a_whole_record():
    found = whole_records(ArrayRecording(STREAM, tone()), 0.1)[0]
    check(found)
    assert found.left_out == 0
    assert found.criteria.j3 == pytest.approx(100.0 * np.abs(tone()[:, 1] - tone()[:, 0]).max(), rel=1e-6)


def test_a_hole_ends_a_stretch_and_is_counted():
    samples = tone()
    samples[300, 1] = np.nan
    found = whole_records(ArrayRecording(STREAM, samples), 0.1)[0]
    check(found)
    assert found.left_out == 301


def test_missing_samples_end_a_stretch_too():
    samples = tone()
    # the signals jump back by a quarter of a cycle where 25 samples are missing
    index = np.r_[0:300, 325 : N + 25]
    found = whole_records(ArrayRecording(STREAM, samples, index=index), 0.1)[0]
    check(found)
    assert found.left_out == 301


def test_nothing_at_all():
    found = whole_records(ArrayRecording(STREAM, np.full((10, 2), np.nan)), 0.1)[0]
    assert np.isnan([*found.fei, *found.fei_tapered, *found.criteria]).all()
    assert found.left_out == 10
