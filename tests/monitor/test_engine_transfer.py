"""The engine's other outputs: transfer functions when there is a new one, filtered signals, chosen measures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from monitor.config import IndicatorSettings
from monitor.engine.monitor import Monitor, UnfitSettingsError
from monitor.indicators.transfer_function import TransferFunction
from monitor.messages.blocks import QUANTITIES, Channel, EventKind, Role, SignalBlock, Stream
from monitor.transport.zeromq.results import ResultPublisher, ResultSubscriber

pytestmark = pytest.mark.usefixtures("warm_kernels")
RATE, SEGMENT, N = 200.0, 2.0, 2400
GAINS, DELAYS = (0.9, 1.2), (0.01, 0.025)


def stream(forces=(False, False)):
    channels = []
    for name, force in zip("ab", forces, strict=True):
        channels += [Channel(f"{name}.c", Role.COMMAND, "m", name), Channel(f"{name}.m", Role.MEASURED, "m", name)]
        channels += [Channel(f"{name}.f", Role.FORCE, "N", name)] if force else []
    return Stream("rig", 1, RATE, tuple(channels))


def motion(t):
    """Return a sum of ten tones from 0.7 to 9.7 Hz."""
    return sum(np.sin(2.0 * np.pi * f * t + f * f) for f in np.arange(0.7, 10.0))


@pytest.fixture(scope="module")
def samples():
    t = np.arange(N) / RATE
    pairs = [(motion(t), gain * motion(t - delay)) for gain, delay in zip(GAINS, DELAYS, strict=True)]
    return np.column_stack([signal for pair in pairs for signal in pair])


def updates(settings, samples, step=37, rig=None):
    monitor, rig = Monitor(settings), rig or stream()
    for start in range(0, len(samples), step):
        yield monitor.update(SignalBlock(rig, start, start / RATE, samples[start : start + step]))


def settings(**changes):
    return IndicatorSettings(
        **{"window": 1.0, "transfer_segment": SEGMENT, "measures": ("ti", "transfer"), **changes}
    )


def test_a_transfer_function_comes_with_every_segment_and_tells_which_frequency_is_late(samples):
    told = [update.transfer for update in updates(settings(), samples) if update.transfer is not None]
    # half of a segment overlaps the next; the first needs its history too
    assert len(told) == pytest.approx(N / (SEGMENT * RATE / 2) - 1, abs=2)
    last = told[-1]
    assert last.stream.actuators == ("a", "b")
    assert last.index < N and last.time == pytest.approx(last.index / RATE)
    frequency = last.frequency
    driven = (frequency > 1.0) & (frequency < 9.0)
    for name, gain, delay in zip("ab", GAINS, DELAYS, strict=True):
        good = driven & (last.curve(name, "coherence") > 0.999)
        assert good.sum() > 10
        np.testing.assert_allclose(last.curve(name, "ratio")[good], 1.0 / gain, rtol=0.01)
        np.testing.assert_allclose(last.curve(name, "delay")[good], delay, rtol=0.02)
    with pytest.raises(KeyError, match="no speed of 'a'"):
        last.curve("a", "speed")


def test_it_is_that_of_the_indicator(samples):
    whole = [update.transfer for update in updates(settings(transfer_memory=1e9), samples) if update.transfer][-1]
    function = TransferFunction(RATE, SEGMENT, memory=1e9, n_pairs=2)
    end = whole.index + 1
    function.update_block(samples[:end, [0, 2]], samples[:end, [1, 3]], first=0)
    found = function.estimate
    for pair, name in enumerate("ab"):
        for quantity, _ in QUANTITIES:
            np.testing.assert_array_equal(whole.curve(name, quantity), getattr(found, quantity)[:, pair])


def test_a_dead_actuator_does_not_silence_the_other(samples):
    broken = samples.copy()
    broken[:, 3] = np.nan
    last = [update.transfer for update in updates(settings(), broken) if update.transfer is not None][-1]
    assert np.isfinite(last.curve("a", "delay")).any()
    assert np.isnan(last.curve("b", "delay")).all()


def test_it_travels_over_the_wire(samples, gather):
    told = next(update.transfer for update in updates(settings(), samples) if update.transfer is not None)
    sink = ResultPublisher("tcp://127.0.0.1:*")
    subscriber = ResultSubscriber(sink.endpoint, kinds=("transfer",))
    try:
        (first, *_) = gather(subscriber, bool, meanwhile=lambda: sink.transfer(told))
    finally:
        subscriber.close()
        sink.close()
    assert first.stream == told.stream
    assert (first.index, first.time) == (told.index, told.time)
    np.testing.assert_array_equal(first.values, told.values)


def test_only_what_is_asked_for_is_computed(samples):
    (first, *_) = updates(settings(measures=("nrmse", "ti")), samples)
    assert [column.name for column in first.results.stream.columns[:3]] == ["ti", "ti_total", "ti_normalized"]
    assert {c.name.split("_")[0] for c in first.results.stream.columns} == {"ti", "nrmse"}
    found = list(updates(settings(measures=("transfer",)), samples))
    assert all(update.results is None for update in found)
    assert any(update.transfer is not None for update in found)


def test_energies_are_there_for_the_actuators_that_have_a_force(samples):
    rig = stream((False, True))
    with_force = np.column_stack([samples, 1e4 * samples[:, 3]])
    results = list(updates(settings(measures=("hsem",)), with_force, rig=rig))[-1].results
    columns = {(c.actuator, c.name): i for i, c in enumerate(results.stream.columns)}
    assert np.isnan(results.values[:, columns["a", "hsem_energy"]]).all()
    assert (results.values[:, columns["b", "hsem_energy"]] > 0.0).all()
    assert results.stream.columns[columns["b", "hsem_energy"]].unit == "J"


def test_the_same_filter_on_both_takes_a_drift_out_and_leaves_the_tracking(samples):
    t = np.arange(N) / RATE
    drift = np.column_stack([30.0 * t, -20.0 * t, t * t, t])
    chosen = settings(measures=("broadband",), band=(0.5, 10.0))
    clean, wet, filtered = (
        list(updates(s, x))[-1].results
        for s, x in (
            (chosen, samples),
            (chosen, samples + drift),
            (chosen.model_copy(update={"bandpass": (0.5, 20.0)}), samples + drift),
        )
    )
    column = [c.name for c in clean.stream.columns].index("broadband_ratio")
    np.testing.assert_allclose(clean.values[-1, column], 1.0 / GAINS[0], rtol=1e-3)
    np.testing.assert_allclose(filtered.values[-1, column], 1.0 / GAINS[0], rtol=5e-3)
    # the drifts go opposite ways: that of measured against the command is taken out, or nothing is told
    assert np.isnan(wet.values[-1, column]) or np.isclose(wet.values[-1, column], 1.0 / GAINS[0], rtol=5e-3)


@pytest.mark.parametrize("step", [1, 7, 500])
def test_filtered_rows_do_not_depend_on_the_blocks(samples, step):
    chosen = settings(measures=("fdb", "broadband"), bandpass=(0.5, 20.0))
    whole = next(updates(chosen, samples[:800], 800)).results.values
    pieces = np.concatenate([update.results.values for update in updates(chosen, samples[:800], step)])
    np.testing.assert_array_equal(pieces, whole)


def test_a_gap_starts_the_filter_anew(samples):
    chosen, rig = settings(measures=("fdb",), bandpass=(0.5, 20.0)), stream()
    monitor = Monitor(chosen)
    monitor.update(SignalBlock(rig, 0, 0.0, 1e3 + samples[:600]))
    after = monitor.update(SignalBlock(rig, 700, 3.5, samples[700:1500])).results.values
    fresh = Monitor(chosen).update(SignalBlock(rig, 700, 3.5, samples[700:1500])).results.values
    np.testing.assert_allclose(after[400:], fresh[400:], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("dead", range(4))
def test_a_bad_sample_starts_the_filters_of_its_actuator_anew_and_of_no_other(samples, dead):
    chosen, other = settings(measures=("fdb",), bandpass=(0.5, 20.0)), 1 - dead // 2
    broken = samples.copy()
    broken[700, dead] = np.nan
    # the second actuator alone has a force
    rig = stream((False, True))
    runs = [
        np.concatenate([update.results.values for update in updates(chosen, np.column_stack([x, x[:, 3]]), rig=rig)])
        for x in (samples, broken)
    ]
    columns = np.array([c.actuator for c in next(updates(chosen, samples)).results.stream.columns])
    whole, holed = (run[:, columns == "ab"[other]] for run in runs)
    np.testing.assert_array_equal(holed, whole)
    spoilt = runs[1][:, columns == "ab"[1 - other]]
    codes = np.array([c.name.endswith("_reason") for c in next(updates(chosen, samples)).results.stream.columns])
    codes = codes[columns == "ab"[1 - other]]
    assert np.isnan(spoilt[700:890][:, ~codes]).all() and (spoilt[700:890][:, codes] > 0.0).all()
    delay = [c.name for c in next(updates(chosen, samples)).results.stream.columns].index("fdb_delay")
    # alike in both channels, the transient of the filters does not disturb the comparison for long
    np.testing.assert_allclose(spoilt[-1, delay], DELAYS[1 - other], atol=1e-3)


def test_a_dead_load_cell_blanks_the_energies_and_nothing_else(samples):
    chosen, rig = settings(measures=("fdb", "nrmse", "hsem"), bandpass=(0.5, 20.0)), stream((True, True))
    order = [0, 1, 1, 2, 3, 3]
    broken = samples[:, order].copy()
    broken[1000:, 2] = np.nan
    whole, holed = (
        np.concatenate([update.results.values for update in updates(chosen, x, rig=rig)])
        for x in (samples[:, order], broken)
    )
    columns = next(updates(chosen, samples[:, order], rig=rig)).results.stream.columns
    gone = np.array([c.actuator == "a" and c.name in ("hsem_energy", "hsem", "hsem_added_damping") for c in columns])
    assert np.isnan(holed[1000:, gone]).all() and np.isfinite(whole[-1, gone]).all()
    others = ("hsem_energy_total", "hsem_reason")
    rest = ~gone & np.array([not (c.actuator == "a" and c.name in others) for c in columns])
    np.testing.assert_array_equal(holed[:, rest], whole[:, rest])


def test_a_segment_that_does_not_fit_is_refused_when_asked_for_and_noted_when_not(samples):
    with pytest.raises(UnfitSettingsError, match="transfer_segment: "):
        next(updates(IndicatorSettings(transfer_segment=0.01), samples))
    # four seconds, of which nobody spoke, are too few samples at 2 Hz
    slow = replace(stream(), sample_rate=2.0)
    update = next(updates(IndicatorSettings(window=20.0), samples, rig=slow))
    assert update.results is not None and update.transfer is None
    assert [event.kind for event in update.events][-1] is EventKind.NOTE
    assert "no transfer function" in update.events[-1].detail
