"""Values that need a whole window: their latency, and that they are the same whatever the spare time was spent on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.config import IndicatorSettings
from monitor.engine.monitor import Monitor
from monitor.indicators.broadband_delay import BroadbandDelayIndicator
from monitor.indicators.frequency_evaluation import FrequencyEvaluationIndex
from monitor.indicators.tracking_pass import TrackingPass, create_indicators
from monitor.indicators.transfer_function import TransferFunction
from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from monitor.messages.reasons import Reason

RATE, N, WINDOW = 200.0, 1500, 100

pytestmark = pytest.mark.usefixtures("warm_kernels")


def signals(n_pairs: int = 3) -> tuple[np.ndarray, np.ndarray]:
    t = np.arange(N)[:, None] / RATE
    phase = np.arange(n_pairs)

    def motion(t):
        return sum(np.sin(2.0 * np.pi * f * t + f * phase) for f in (1.3, 3.1, 7.7))

    return motion(t), 0.9 * motion(t - 0.011)


def values(indicator, x_c, x_m, step: int = 1, work=lambda: False) -> np.ndarray:
    rows = []
    for start in range(0, len(x_c), step):
        rows.append(indicator.update_block(x_c[start : start + step], x_m[start : start + step]))
        while work() and indicator.run_pending():
            pass
    return np.concatenate(rows)


@pytest.mark.parametrize("latency", [1, 7, 24])
def test_it_is_told_so_many_samples_later_and_else_the_same(latency):
    x_c, x_m = signals()
    evaluates_when_full = values(FrequencyEvaluationIndex(RATE, WINDOW / RATE, n_pairs=3), x_c, x_m)
    told = values(FrequencyEvaluationIndex(RATE, WINDOW / RATE, latency=latency, n_pairs=3), x_c, x_m)
    np.testing.assert_array_equal(told[latency:], evaluates_when_full[:-latency])
    assert np.isnan(told[:latency, :, 0]).all() and np.isfinite(told[-1]).all()


@pytest.mark.parametrize("kind", [BroadbandDelayIndicator, FrequencyEvaluationIndex])
@settings(max_examples=15, deadline=None)
@given(
    step=st.integers(1, 90),
    latency=st.integers(0, 24),
    seed=st.integers(0, 1 << 20),
    bad=st.lists(st.integers(0, N - 1), max_size=4),
)
def test_time_that_was_to_spare_changes_no_bit(kind, step, latency, seed, bad):
    x_c, x_m = signals()
    x_m[bad, 1] = np.nan
    chance = np.random.default_rng(seed)
    whole = values(kind(RATE, WINDOW / RATE, latency=latency, n_pairs=3), x_c, x_m, N)
    often = kind(RATE, WINDOW / RATE, latency=latency, n_pairs=3)
    pieces = values(often, x_c, x_m, step, lambda: chance.random() < 0.6)
    np.testing.assert_array_equal(pieces, whole)
    # no value while a bad sample is in the window
    for at in bad:
        assert np.isnan(whole[at : at + WINDOW, 1, :6]).all()
        assert np.isfinite(whole[-1, [0, 2]]).all()


def test_what_waits_is_found_once_and_the_oldest_first():
    x_c, x_m = signals()
    indicator = BroadbandDelayIndicator(RATE, WINDOW / RATE, latency=24, n_pairs=3)
    values(indicator, x_c[:103], x_m[:103])
    # each pair's window was full, one sample after the other's, and none of them is told yet
    assert not np.isfinite(indicator.values[:, :9]).any() and (indicator.values[:, 9:] == Reason.FILLING).all()
    assert [indicator.run_pending() for _ in range(4)] == [True, True, True, False]
    assert not np.isfinite(indicator.values[:, :9]).any() and (indicator.values[:, 9:] == Reason.FILLING).all()
    indicator.update_block(x_c[103:160], x_m[103:160])
    np.testing.assert_allclose(indicator.value.delay, 0.011, rtol=1e-3)


@pytest.mark.parametrize(("n_pairs", "most"), [(3, 1), (20, 1), (64, 2)])
def test_a_call_holds_as_many_evaluations_as_must_be_and_none_is_late(n_pairs, most, monkeypatch):
    """64 pairs, 32 samples a hop: two at a sample, and one where there are fewer than samples."""
    x_c, x_m = signals(n_pairs)
    kind, done = FrequencyEvaluationIndex, []
    evaluate = kind._evaluate
    monkeypatch.setattr(kind, "_evaluate", lambda *given: done.append(given[3]) or evaluate(*given))
    indicator = kind(RATE, 64 / RATE, latency=16, n_pairs=n_pairs)
    for number in range(300):
        done.clear()
        indicator.update_block(x_c[number : number + 1], x_m[number : number + 1])
        assert len(done) <= most
        # as late as it may be, so that spare time comes first, but not at the sample at which it is told
        assert all(0 <= number - window < 16 for window in done)
    assert np.isfinite(indicator.values).all()


def test_two_measures_of_one_pass_are_spread_together(monkeypatch):
    samples = np.stack([each[:, i] for i in range(8) for each in signals(8)], axis=1)
    done = []
    for kind in (BroadbandDelayIndicator, FrequencyEvaluationIndex, TransferFunction):
        evaluate = kind._evaluate
        monkeypatch.setattr(kind, "_evaluate", lambda *given, of=evaluate: done.append(0) or of(*given))
        column = TransferFunction.column
    monkeypatch.setattr(TransferFunction, "column", lambda *given: done.append(1) or column(*given))
    channels = tuple(Channel(f"{r}{i}", r, "m", f"a{i}") for i in range(8) for r in (Role.COMMAND, Role.MEASURED))
    stream, monitor = Stream("rig", 1, RATE, channels), Monitor(IndicatorSettings(window=1.0, transfer_segment=2.0))
    most = []
    for number in range(N):
        done.clear()
        monitor.update(SignalBlock(stream, number, number / RATE, samples[number : number + 1]))
        most.append(len(done))
    # the first call makes the measures, and while the windows fill two measures begin at once
    assert max(most[1:]) <= 2 and max(most[210:]) == 1 and sum(most) > 8 * (N // 50 - 8)


def test_a_pass_keeps_one_ring_for_all_measures():
    def size(*measures: str) -> int:
        made = create_indicators(IndicatorSettings(window=10.0, measures=measures), RATE, 1)
        return TrackingPass(dict.fromkeys(made, 0)).memory.nbytes

    ring = 4 * 8 * int(10.0 * RATE)
    apart = sum(map(size, ("broadband", "fei", "paei_adaptive")))
    assert 1.9 * ring < apart - size("broadband", "fei", "paei_adaptive") < 2.5 * ring


def test_a_window_that_waits_is_kept_in_a_snapshot():
    x_c, x_m = signals()
    indicator, other = (FrequencyEvaluationIndex(RATE, WINDOW / RATE, latency=20, n_pairs=3) for _ in range(2))
    indicator.update_block(x_c[:151], x_m[:151])
    other.restore(indicator.snapshot())
    indicator.finish_pending()
    for each in (indicator, other):
        each.update_block(x_c[151:200], x_m[151:200])
    np.testing.assert_array_equal(indicator.values, other.values)
    assert np.isfinite(other.values).all()


def test_a_pause_gives_nothing_and_ends_with_the_next_window():
    x_c, x_m = signals()
    indicator = BroadbandDelayIndicator(RATE, WINDOW / RATE, latency=3, n_pairs=3)
    indicator.update_block(x_c[:500], x_m[:500])
    indicator.pause(Reason.PAUSED)
    rows = indicator.update_block(x_c[500:900], x_m[500:900])
    assert np.isnan(rows[..., :9]).all() and (rows[..., 9:] == Reason.PAUSED).all()
    assert not indicator.run_pending()
    indicator.pause(None)
    after = indicator.update_block(x_c[900:1000], x_m[900:1000])
    assert np.isnan(after[0, :, :8]).all()
    np.testing.assert_allclose(after[-1, :, 2], 0.011, rtol=1e-3)


def test_later_is_less_than_a_hop():
    with pytest.raises(ValueError, match="latency = 50 samples: must be less than 50"):
        FrequencyEvaluationIndex(RATE, WINDOW / RATE, latency=50)


CHANNELS = tuple(
    Channel(f"{name}.{role}", role, "m", name) for name in "ab" for role in (Role.COMMAND, Role.MEASURED)
)


def told(step: int, work, n: int = 6000, rows: float | None = None):
    x = np.random.default_rng(1).normal(size=(n, 4)).cumsum(axis=0)
    x[:, 1::2] = np.roll(x[:, ::2], 3, axis=0)
    monitor, stream = Monitor(IndicatorSettings(window=1.0), max_rows=rows), Stream("rig", 1, RATE, CHANNELS)
    found = []
    for start in range(0, n, step):
        last = start + step >= n
        found.append(monitor.update(SignalBlock(stream, start, start / RATE, x[start : start + step], last)))
        while work() and monitor.run_pending():
            pass
    return found


def test_the_engine_says_the_same_however_much_time_it_had():
    chance = np.random.default_rng(5)
    idle, busy = told(10, lambda: True), told(10, lambda: chance.random() < 0.3)
    never = told(10, lambda: False)
    for one in (idle, busy):
        for update, other in zip(one, never, strict=True):
            np.testing.assert_array_equal(update.results.values, other.results.values)
            assert (update.transfer is None) == (other.transfer is None)
            if update.transfer is not None:
                np.testing.assert_array_equal(update.transfer.values, other.transfer.values)
                assert update.transfer.index == other.transfer.index
    transfers = [update.transfer for update in never if update.transfer is not None]
    # a quarter of a hop of two seconds after the sample that they are as of
    places = [number for number, update in enumerate(never) if update.transfer is not None]
    assert len(transfers) > 10
    for transfer, place in zip(transfers[:-1], places, strict=False):
        assert 100 <= 10 * place + 9 - transfer.index < 110
    assert transfers[-1].index == 5999


@pytest.mark.parametrize(("rows", "every"), [(None, 1), (200.0, 1), (150.0, 2), (7.0, 29)])
def test_rows_are_no_more_than_are_wanted(rows, every):
    found = told(100, lambda: False, 1000, rows)
    assert {update.results.stream.every for update in found} == {every}
    assert sum(len(update.results) for update in found) == -(-1000 // every)
    given = Monitor(IndicatorSettings(every=3), max_rows=rows)
    samples = np.zeros((9, 4))
    assert given.update(SignalBlock(Stream("r", 1, RATE, CHANNELS), 0, 0.0, samples)).results.stream.every == 3
