"""Detail from the run file: against the samples themselves, while it is written, damaged or gone."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from gui.model.pyramid import Pyramid
from gui.model.run_detail import RunDetail
from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from monitor.recording import RunWriter
from monitor.recording.reader import read_signals

CHANNELS = tuple(Channel(f"x{i}", Role.AUXILIARY) for i in range(3))
RATE, BEGIN = 200.0, 1000.0
FIRST, SECOND = Stream("rig", 1_700_000_000_000_000_001, RATE, CHANNELS), Stream(
    "rig", 1_700_000_000_000_000_002, RATE, CHANNELS
)  # fmt: skip


def samples(start, stop):
    rng = np.random.default_rng(start)
    return rng.normal(size=(stop - start, 3))


BLOCKS = [
    SignalBlock(FIRST, 50, BEGIN, samples(50, 4050)),
    # 150 samples are missing
    SignalBlock(FIRST, 4200, BEGIN + 4150 / RATE, samples(4200, 6200)),
    SignalBlock(SECOND, 0, 3.5, samples(0, 3000)),
    # the clock jumps
    SignalBlock(SECOND, 3000, 3.5 + 3000 / RATE + 60.0, samples(3000, 4000)),
]


def written(path, blocks=BLOCKS):
    writer = RunWriter(path, {}, flush_interval=0.001)
    for block in blocks:
        writer.signals(block)
    writer.close()
    assert not writer.failed
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return written(tmp_path_factory.mktemp("run") / "run.h5")


def naive(blocks, epoch, start, stop, column):
    """Return the least and greatest of the samples of an epoch numbered `start` to `stop` - 1."""
    inside = [
        row[column]
        for block in blocks
        if block.stream.epoch == epoch
        for row in block.samples[max(0, start - block.index) : max(0, stop - block.index)]
    ]
    return (min(inside), max(inside)) if inside else (np.nan, np.nan)


@pytest.mark.parametrize(
    ("epoch", "first", "stop"),
    [
        (FIRST.epoch, 450, 2450),
        # over what is missing
        (FIRST.epoch, 3900.3, 4499.9),
        (FIRST.epoch, 4450, 5250),
        (SECOND.epoch, 300.5, 1500.5),
        # over a jump of the clock
        (SECOND.epoch, 2700, 3600),
        # all there is, and more on either side
        (SECOND.epoch, -200.0, 4200.0),
    ],
)
@pytest.mark.parametrize("n_columns", [10, 100, 10_000])
def test_an_envelope_is_that_of_the_recorded_samples(run, epoch, first, stop, n_columns):
    envelope = RunDetail(run).envelope(epoch, first, stop, n_columns, [2, 0])
    newest = {FIRST.epoch: 6200, SECOND.epoch: 4000}[epoch]
    assert envelope.edges[0] <= max(first, 0) and envelope.edges[-1] >= min(stop, newest)
    assert set(np.diff(envelope.edges)) == {envelope.rows}
    assert envelope.exact == (n_columns == 10_000)
    edges = envelope.edges.astype(int)
    for place, column in enumerate((2, 0)):
        expected = [naive(BLOCKS, epoch, *edges[i : i + 2], column) for i in range(len(envelope))]
        np.testing.assert_array_equal(np.column_stack([envelope.low[:, place], envelope.high[:, place]]), expected)


def test_what_is_missing_is_a_hole(run):
    envelope = RunDetail(run).envelope(FIRST.epoch, 3850, 4450, 10_000, [1])
    at = envelope.edges[:-1]
    np.testing.assert_array_equal(np.isnan(envelope.low[:, 0]), (at >= 4050) & (at < 4200))


@pytest.mark.parametrize(
    ("epoch", "first", "stop", "columns"),
    [
        (FIRST.epoch, 4100, 4150, [0]),
        (FIRST.epoch, 0, 40, [0]),
        (SECOND.epoch, 4100, 6000, [0]),
        (SECOND.epoch, -400, -200, [0]),
        (SECOND.epoch, 1e18, 1e19, [0]),
        (1, 50, 250, [0]),
        (2**62, 50, 250, [0]),
        (FIRST.epoch, 50, 250, [3]),
        (FIRST.epoch, 50, 250, [-1]),
        (FIRST.epoch, 50, 50, [0]),
        (FIRST.epoch, 50, np.nan, [0]),
        (FIRST.epoch, -np.inf, np.inf, [0]),
        (FIRST.epoch, -1e308, 1e308, [0]),
    ],
)
def test_what_the_file_does_not_have_is_none(run, epoch, first, stop, columns):
    assert RunDetail(run).envelope(epoch, first, stop, 100, columns) is None


def test_no_more_is_read_than_was_allowed(run):
    rows = read_signals(run, FIRST.epoch, 50, 250, 8 * 3 * 200)
    np.testing.assert_array_equal(rows.index, np.arange(50, 250))
    assert rows.sample_rate == RATE
    np.testing.assert_array_equal(rows.samples, BLOCKS[0].samples[:200])
    assert read_signals(run, FIRST.epoch, 50, 250, 8 * 3 * 200 - 1) is None


def test_a_file_that_is_being_written_is_read_as_far_as_it_goes(tmp_path):
    path = tmp_path / "run.h5"
    writer = RunWriter(path, {}, flush_interval=0.001)
    detail = RunDetail(path)
    try:
        assert detail.envelope(FIRST.epoch, 0, 200, 10, [0]) is None
        for start in (0, 500):
            writer.signals(SignalBlock(FIRST, start, BEGIN + start / RATE, samples(start, start + 500)))
            end = time.monotonic() + 20
            while writer.recorded < start + 500:
                assert time.monotonic() < end, "waited for 20 s"
                time.sleep(0.002)
            envelope = detail.envelope(FIRST.epoch, 0, 2000, 10_000, [1])
            found = envelope.low[~np.isnan(envelope.low[:, 0]), 0]
            np.testing.assert_array_equal(found[-500:], samples(start, start + 500)[:, 1])
            assert len(found) == start + 500
    finally:
        writer.close()


def test_a_broken_file_is_none_and_never_an_error(run, tmp_path):
    whole = run.read_bytes()
    rng = np.random.default_rng(3)
    path = tmp_path / "broken.h5"
    for kept in (0, 10, 60, 4000, len(whole) // 2):
        path.write_bytes(whole[:kept])
        assert RunDetail(path).envelope(SECOND.epoch, 300, 1500, 100, [0]) is None
    for _ in range(60):
        damaged = bytearray(whole)
        for place in rng.integers(0, len(whole) // 20, 40):
            damaged[place] = rng.integers(256)
        path.write_bytes(damaged)
        RunDetail(path).envelope(SECOND.epoch, 300, 1500, 100, [0])
    path.unlink()
    assert RunDetail(path).envelope(SECOND.epoch, 300, 1500, 100, [0]) is None
    assert RunDetail(tmp_path).envelope(SECOND.epoch, 300, 1500, 100, [0]) is None


@pytest.mark.parametrize("n_columns", [10, 100, 10_000])
@pytest.mark.parametrize("drift", [0.98, 1.001, 1.02])
def test_a_clock_that_drifts_moves_nothing_against_memory(tmp_path, drift, n_columns):
    step, memory = 100, Pyramid(3, (4096,))
    blocks = [SignalBlock(FIRST, i, BEGIN + drift * i / RATE, samples(i, i + step)) for i in range(0, 4000, step)]
    for block in blocks:
        memory.append(block.index, block.samples)
    detail = RunDetail(written(tmp_path / "run.h5", blocks))
    for first, stop in ((1000, 3000), (1234.5, 1834.25), (0, 3999)):
        found = detail.envelope(FIRST.epoch, first, stop, n_columns, [0, 2])
        expected = memory.envelope(first, stop, n_columns, [0, 2])
        assert found.rows == expected.rows and found.exact == expected.exact
        for part in ("edges", "low", "high"):
            np.testing.assert_array_equal(getattr(found, part), getattr(expected, part))
        # and both are what the samples are
        for i in (0, len(found) // 2, len(found) - 1):
            start, end = found.edges[i : i + 2].astype(int)
            assert (found.low[i, 1], found.high[i, 1]) == naive(blocks, FIRST.epoch, start, end, 2)


def test_the_epoch_is_part_of_the_place(run):
    """Both epochs have the index 2000; only the right one is shown."""
    assert replace(SECOND, epoch=FIRST.epoch) == FIRST
    for epoch, value in ((FIRST.epoch, BLOCKS[0].samples[1950, 0]), (SECOND.epoch, BLOCKS[2].samples[2000, 0])):
        envelope = RunDetail(run).envelope(epoch, 1990, 2010, 10_000, [0])
        assert envelope.at(2000.0)[0] == value
