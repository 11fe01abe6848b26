"""A run that was recorded is a replicate like any other."""

import numpy as np
import pytest

from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from monitor.recording import RunWriter
from replay.formats.base import RecordingError
from replay.validation.run_records import is_run, read_run

RATE = 50.0


def a_run(path, names, blocks):
    channels = tuple(Channel(name, Role.AUXILIARY, "mm") for name in names)
    writer = RunWriter(path, {})
    for epoch, index, samples in blocks:
        writer.signals(SignalBlock(Stream("rig", epoch, RATE, channels), index, 1e9 + index / RATE, samples))
    writer.close()
    return path


def test_a_channel_of_a_run_with_its_times_from_sample_0(tmp_path):
    samples = np.arange(12.0).reshape(6, 2)
    path = a_run(tmp_path / "run.h5", ["oil", "response"], [(1, 10, samples[:4]), (1, 20, samples[4:])])
    assert is_run(path)
    record = read_run(path)
    np.testing.assert_array_equal(record.time, np.array([10, 11, 12, 13, 20, 21]) / RATE)
    np.testing.assert_array_equal(record.response, samples[:, 1])
    assert (record.name, record.unit) == (str(path), "mm")
    np.testing.assert_array_equal(read_run(path, "oil").response, samples[:, 0])


def test_what_is_no_replicate_is_told(tmp_path):
    one = np.zeros((3, 1))
    twice = a_run(tmp_path / "twice.h5", ["response"], [(1, 0, one), (2, 0, one)])
    with pytest.raises(RecordingError, match=r"twice.h5: the rig was restarted in it, it holds 2 tests"):
        read_run(twice)
    several = a_run(tmp_path / "several.h5", ["a", "b"], [(1, 0, np.zeros((3, 2)))])
    with pytest.raises(RecordingError, match=r"several.h5: which channel is the response: .*; there are a, b"):
        read_run(several)
    with pytest.raises(RecordingError, match=r"no channel 'c'; there are a, b"):
        read_run(several, "c")
    text = tmp_path / "r.csv"
    text.write_text("time,response\n0,1\n1,2\n")
    assert not is_run(text) and not is_run(tmp_path) and not is_run(tmp_path / "none.h5")
