"""Detail from the run file: against the samples themselves, while it is written, damaged or gone."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from gui.history.run_detail import RunDetail
from monitor.blocks import Channel, Role, SignalBlock, Stream
from monitor.recording import RunReader, RunWriter
from monitor.recording.spans import read_signals

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


def naive(block, start, stop, column):
    """Return the least and greatest of the samples taken in [start, stop)."""
    times = block.time + np.arange(len(block)) / RATE
    inside = block.samples[(times > start - 1e-6) & (times < stop - 1e-6), column]
    return (inside.min(), inside.max()) if len(inside) else (np.nan, np.nan)


@pytest.mark.parametrize(
    ("block", "t0", "t1"),
    [(0, BEGIN + 2.0, BEGIN + 12.0), (1, BEGIN + 22.0, BEGIN + 26.0), (2, 5.0, 11.0), (3, 80.0, 81.5)],
)
@pytest.mark.parametrize("n_columns", [10, 100, 10_000])
def test_an_envelope_is_that_of_the_recorded_samples(run, block, t0, t1, n_columns):
    of = BLOCKS[block]
    envelope = RunDetail(run).envelope(of.stream.epoch, t0, t1, n_columns, [2, 0])
    assert envelope.edges[0] <= t0 and envelope.edges[-1] >= t1
    np.testing.assert_allclose(np.diff(envelope.edges), envelope.rows / RATE)
    assert envelope.exact == (n_columns == 10_000)
    # those at the edges may be cut
    for i in range(2, len(envelope) - 2):
        for place, column in enumerate((2, 0)):
            expected = naive(of, envelope.edges[i], envelope.edges[i + 1], column)
            assert (envelope.low[i, place], envelope.high[i, place]) == expected


def test_what_is_missing_is_a_hole(run):
    envelope = RunDetail(run).envelope(FIRST.epoch, BEGIN + 19.0, BEGIN + 22.0, 10_000, [1])
    at = np.round((envelope.edges[:-1] - BEGIN) * RATE).astype(int) + 50
    np.testing.assert_array_equal(np.isnan(envelope.low[:, 0]), (at >= 4050) & (at < 4200))


@pytest.mark.parametrize(
    ("epoch", "t0", "t1", "columns"),
    [
        (FIRST.epoch, 5.0, 10.0, [0]),
        (SECOND.epoch, 500.0, 510.0, [0]),
        (1, BEGIN, BEGIN + 1.0, [0]),
        (2**62, BEGIN, BEGIN + 1.0, [0]),
        (FIRST.epoch, BEGIN, BEGIN + 1.0, [3]),
        (FIRST.epoch, BEGIN, BEGIN + 1.0, [-1]),
        (FIRST.epoch, BEGIN, BEGIN, [0]),
        (FIRST.epoch, BEGIN, np.nan, [0]),
        (FIRST.epoch, -np.inf, np.inf, [0]),
    ],
)
def test_what_the_file_does_not_have_is_none(run, epoch, t0, t1, columns):
    assert RunDetail(run).envelope(epoch, t0, t1, 100, columns) is None


def test_no_more_is_read_than_was_allowed(run):
    rows = read_signals(run, FIRST.epoch, BEGIN, BEGIN + 1.0, 8 * 3 * 201)
    assert len(rows.index) == 201 and rows.sample_rate == RATE
    np.testing.assert_array_equal(rows.samples, BLOCKS[0].samples[:201])
    assert read_signals(run, FIRST.epoch, BEGIN, BEGIN + 1.0, 8 * 3 * 201 - 1) is None


def test_a_file_that_is_being_written_is_read_as_far_as_it_goes(tmp_path):
    path = tmp_path / "run.h5"
    writer = RunWriter(path, {}, flush_interval=0.001)
    detail = RunDetail(path)
    try:
        assert detail.envelope(FIRST.epoch, BEGIN, BEGIN + 1.0, 10, [0]) is None
        for start in (0, 500):
            writer.signals(SignalBlock(FIRST, start, BEGIN + start / RATE, samples(start, start + 500)))
            end = time.monotonic() + 20
            while writer.recorded < start + 500:
                assert time.monotonic() < end, "waited for 20 s"
                time.sleep(0.002)
            envelope = detail.envelope(FIRST.epoch, BEGIN, BEGIN + 10.0, 10_000, [1])
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
        assert RunDetail(path).envelope(SECOND.epoch, 5.0, 11.0, 100, [0]) is None
    for _ in range(60):
        damaged = bytearray(whole)
        for place in rng.integers(0, len(whole) // 20, 40):
            damaged[place] = rng.integers(256)
        path.write_bytes(damaged)
        RunDetail(path).envelope(SECOND.epoch, 5.0, 11.0, 100, [0])
    path.unlink()
    assert RunDetail(path).envelope(SECOND.epoch, 5.0, 11.0, 100, [0]) is None
    assert RunDetail(tmp_path).envelope(SECOND.epoch, 5.0, 11.0, 100, [0]) is None


def test_times_that_drift_are_those_of_the_rows(tmp_path):
    """A publisher whose clock goes two per cent faster than its rate says."""
    path, step = tmp_path / "run.h5", 100
    blocks = [SignalBlock(FIRST, i, BEGIN + 1.02 * i / RATE, samples(i, i + step)) for i in range(0, 4000, step)]
    written(path, blocks)
    with RunReader(path) as run:
        assert run.n_samples == 4000
    envelope = RunDetail(path).envelope(FIRST.epoch, BEGIN + 5.0, BEGIN + 15.0, 10_000, [0])
    for start in (1500, 2500):
        (at,) = np.flatnonzero(envelope.low[:, 0] == samples(start, start + step)[0, 0])
        assert envelope.centers[at] == pytest.approx(BEGIN + 1.02 * start / RATE)


def test_the_epoch_is_part_of_the_place(run):
    """Both epochs have the index 2000; only the right one is shown."""
    of = BLOCKS[2]
    envelope = RunDetail(run).envelope(SECOND.epoch, 3.5, 4.0, 10_000, [0])
    assert of.samples[0, 0] in envelope.low
    assert replace(of.stream, epoch=FIRST.epoch) == FIRST
    assert BLOCKS[1].samples[-1, 0] not in envelope.low
