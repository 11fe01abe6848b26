"""The engine: the same rows for any blocks, windows that a break makes invalid, and units that say what they are."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.catalogue import outputs_by_name
from monitor.config import IndicatorSettings
from monitor.engine.monitor import Monitor
from monitor.indicators import band_pass, broadband_delay, frequency_evaluation, hopped, tracking_pass
from monitor.indicators.parts import cross_correlation, cross_spectra, deviation
from monitor.indicators.tracking_pass import create_indicators
from monitor.messages.blocks import Channel, EventKind, Role, SignalBlock, Stream
from monitor.messages.reasons import Reason
from tests.contract.entries import noisy

pytestmark = pytest.mark.usefixtures("warm_kernels")
RATE, WINDOW, N = 100.0, 0.5, 50
KERNELS = (
    tracking_pass.advance_pass,
    band_pass._advance_band_pass,
    broadband_delay._advance_gate,
    hopped._first_waiting,
    broadband_delay._compare,
    cross_correlation.find_peak,
    cross_spectra.centred,
    frequency_evaluation._segment,
    deviation.add_chance_agreement,
)


def a_stream(epoch=1, rig="rig", units=("m", "m"), n_pairs=1):
    """Return a stream whose channels are mixed: auxiliary first, measured before command."""
    channels = [Channel("load", Role.AUXILIARY, "N")]
    for p in range(n_pairs):
        channels.append(Channel(f"m{p}", Role.MEASURED, units[1], f"actuator {p}"))
        channels.append(Channel(f"c{p}", Role.COMMAND, units[0], f"actuator {p}"))
    return Stream(rig, epoch, RATE, tuple(channels))


def record(n, n_pairs=1, seed=0):
    """Return the samples of `a_stream` and its command and measured signals."""
    x_c, x_m = noisy(n, n_pairs, seed)
    samples = np.empty((n, 1 + 2 * n_pairs))
    samples[:, 0] = np.nan
    samples[:, 1::2], samples[:, 2::2] = x_m, x_c
    return samples, x_c, x_m


def cut(stream, samples, edges, first=0):
    for a, b in itertools.pairwise(edges):
        block = samples[a:b].copy()
        block.flags.writeable = False
        yield SignalBlock(stream, first + a, (first + a) / RATE, block)


def rows(monitor, blocks):
    """Return {sample index: values} of all the results."""
    found = {}
    for block in blocks:
        results = monitor.update(block).results
        if results is not None:
            assert results.values.shape == (len(results), len(results.stream.columns))
            for i, values in enumerate(results.values):
                index = results.index + i * results.stream.every
                assert index not in found
                found[index] = values
                np.testing.assert_allclose(results.time, results.index / RATE, atol=1e-9)
    return found


def settings(**changes):
    return IndicatorSettings(**{"window": WINDOW, **changes})


def stacked(found):
    return np.array([found[i] for i in sorted(found)])


@given(
    cuts=st.lists(st.integers(0, 300), max_size=10),
    every=st.integers(1, 40),
    first=st.integers(0, 1000),
    n_pairs=st.sampled_from([1, 2]),
)
def test_rows_stand_at_the_multiples_of_every_for_any_blocks(cuts, every, first, n_pairs):
    stream, (samples, x_c, x_m) = a_stream(n_pairs=n_pairs), record(300, n_pairs)
    found = rows(Monitor(settings(every=every)), cut(stream, samples, [0, *sorted(cuts), 300], first))
    assert sorted(found) == [i for i in range(first, first + 300) if i % every == 0]
    # the engine gives what the indicators give, actuator by actuator
    indicators = create_indicators(settings(every=every), RATE, n_pairs)
    values = [i.update_block(x_c, x_m, first=first).reshape(len(found), n_pairs, -1) for i in indicators]
    np.testing.assert_array_equal(
        stacked(found).reshape(len(found), -1), np.concatenate(values, axis=2).reshape(len(found), -1)
    )


def test_columns_say_what_they_are():
    stream, (samples, _, _) = a_stream(n_pairs=2), record(60, 2)
    results = Monitor(settings(every=7)).update(SignalBlock(stream, 0, 0.0, samples)).results
    outputs = [o for i in create_indicators(settings(), RATE, 2) for o in i.outputs]
    columns = results.stream.columns
    assert [c.name for c in columns] == 2 * [o.name for o in outputs]
    assert [c.actuator for c in columns] == ["actuator 0"] * len(outputs) + ["actuator 1"] * len(outputs)
    units = {c.name: c.unit for c in columns}
    assert units["fdb_phase"] == "rad"
    assert units["fdb_ratio"] == "1"
    assert units["fdb_amplitude"] == units["peak_error"] == units["paei_amplitude_error"] == "m"
    assert units["ti"] == "m^2"
    assert (results.stream.rig, results.stream.epoch, results.stream.every) == ("rig", 1, 7)


def test_different_units_are_not_compared():
    stream, (samples, _, _) = a_stream(units=("V", "mm")), record(120)
    same = Monitor(settings()).update(SignalBlock(a_stream(), 0, 0.0, samples)).results
    results = Monitor(settings()).update(SignalBlock(stream, 0, 0.0, samples)).results
    for j, column in enumerate(results.stream.columns):
        output = outputs_by_name()[column.name]
        if output.same_unit:
            nothing = Reason.UNITS if output.is_code else np.nan
            np.testing.assert_array_equal(results.values[:, j], nothing, err_msg=column.name)
        else:
            np.testing.assert_array_equal(results.values[:, j], same.values[:, j])
            assert np.isfinite(results.values[-1, j])
    units = {c.name: c.unit for c in results.stream.columns}
    assert units["fdb_ratio"] == units["paei_ratio"] == "V/mm"
    assert units["fdb_amplitude"] == "V"
    # an area of command against measured
    assert units["ti"] == units["ti_total"] == "V*mm"


def test_a_unit_that_is_not_said_is_no_other_unit():
    stream, (samples, _, _) = a_stream(units=("m", "")), record(120)
    results = Monitor(settings()).update(SignalBlock(stream, 0, 0.0, samples)).results
    assert np.isfinite(results.values[-1]).all()


@pytest.mark.parametrize("every", [1, 4])
@pytest.mark.parametrize("missing", [1, 37, 400])
def test_a_gap_is_one_sample_that_is_not_a_number(every, missing):
    stream, (samples, x_c, x_m) = a_stream(), record(700)
    start, stop = 200, 200 + missing
    blocks = [*cut(stream, samples, [0, 90, start]), *cut(stream, samples, [stop, stop + 3, 700])]
    found = rows(Monitor(settings(every=every)), blocks)
    assert not any(start <= index < stop for index in found)
    kept = np.r_[0:start, stop - 1 : 700]
    x_c[stop - 1] = np.nan
    for position, indicator in enumerate(create_indicators(settings(), RATE, 1)):
        before = indicator.update_block(x_c[:start, 0], x_m[:start, 0])
        after = indicator.update_block(x_c[stop - 1 :, 0], x_m[stop - 1 :, 0], first=stop - 1)
        expected = np.concatenate([before, after])
        at = sum(len(i.outputs) for i in create_indicators(settings(), RATE, 1)[:position])
        for row, index in zip(expected, kept, strict=True):
            if index in found and index != stop - 1:
                np.testing.assert_array_equal(found[index][at : at + len(row)], row)
    for index, values in found.items():
        assert np.isnan(values[0]) == (index < N - 1 or stop <= index < stop + N - 1)


def test_a_clock_jump_makes_one_window_invalid_too():
    stream, (samples, _, _) = a_stream(), record(300)
    before, after = cut(stream, samples, [0, 150, 300])
    monitor = Monitor(settings())
    monitor.update(before)
    jumped = monitor.update(SignalBlock(stream, after.index, after.time + 5.0, after.samples))
    assert [e.kind for e in jumped.events] == [EventKind.CLOCK_JUMP]
    valid = np.isfinite(jumped.results.values[:, 0])
    assert not valid[: N - 1].any()
    assert valid[N - 1 :].all()
    assert jumped.results.time == pytest.approx(after.time + 5.0)


def test_a_restart_is_a_fresh_start():
    samples, other = record(400, seed=1)[0], record(300, seed=2)[0]
    monitor = Monitor(settings())
    rows(monitor, cut(a_stream(1), samples, [0, 211, 400]))
    again = monitor.update(SignalBlock(a_stream(2), 0, 0.0, other))
    fresh = Monitor(settings()).update(SignalBlock(a_stream(2), 0, 0.0, other))
    assert [e.kind for e in again.events] == [EventKind.RESTART]
    np.testing.assert_array_equal(again.results.values, fresh.results.values)
    assert again.results.stream == fresh.results.stream


def test_another_rig_or_other_channels_start_anew():
    samples, x = record(300)[0], record(300, 2)[0]
    monitor = Monitor(settings())
    rows(monitor, cut(a_stream(), samples, [0, 300]))
    for stream, data in ((a_stream(rig="other"), samples), (a_stream(n_pairs=2, rig="other"), x)):
        update = monitor.update(SignalBlock(stream, 300, 3.0, data))
        fresh = Monitor(settings()).update(SignalBlock(stream, 300, 3.0, data))
        np.testing.assert_array_equal(update.results.values, fresh.results.values)
        assert update.results.stream.rig == "other"
        assert len(update.results.stream.columns) == update.results.values.shape[1]


def test_duplicates_and_late_blocks_change_nothing():
    stream, (samples, _, _) = a_stream(), record(300)
    blocks = list(cut(stream, samples, [0, 50, 100, 160, 300]))
    expected = rows(Monitor(settings()), blocks)
    monitor = Monitor(settings())
    found, told = {}, []
    for i, block in enumerate(blocks):
        found |= rows(monitor, [block])
        for old in blocks[: i + 1]:
            update = monitor.update(old)
            assert (update.signals, update.results) == (None, None)
            told += [event.kind for event in update.events]
        late = monitor.update(SignalBlock(a_stream(0), 0, 0.0, samples[:20]))
        assert (late.signals, late.results) == (None, None)
    assert EventKind.DUPLICATE in told
    overlap = monitor.update(SignalBlock(stream, 250, 2.5, np.vstack([samples[250:], samples[:10]])))
    assert len(overlap.signals) == len(overlap.results) == 10
    assert overlap.results.index == 300
    np.testing.assert_array_equal(stacked(found), stacked(expected))


def test_a_heartbeat_changes_nothing_and_tells_of_a_gap():
    stream, (samples, _, _) = a_stream(), record(300)
    blocks = list(cut(stream, samples, [0, 120, 300]))
    expected = rows(Monitor(settings()), blocks)
    monitor = Monitor(settings())
    nothing = np.empty((0, samples.shape[1]))
    found = rows(monitor, [SignalBlock(stream, 0, 0.0, nothing), blocks[0]])
    beat = monitor.update(SignalBlock(stream, 120, 1.2, nothing))
    assert len(beat.results) == 0
    assert beat.events == ()
    found |= rows(monitor, [blocks[1]])
    np.testing.assert_array_equal(stacked(found), stacked(expected))
    beat = monitor.update(SignalBlock(stream, 340, 3.4, nothing))
    assert [(e.kind, e.count) for e in beat.events] == [(EventKind.GAP, 40)]
    update = monitor.update(SignalBlock(stream, 340, 3.4, samples[:100]))
    assert update.events == ()
    assert np.isnan(update.results.values[: N - 1, 0]).all()
    assert np.isfinite(update.results.values[N - 1 :, 0]).all()


def test_the_end_is_passed_on():
    stream, (samples, _, _) = a_stream(), record(10)
    update = Monitor(settings()).update(SignalBlock(stream, 0, 0.0, samples, last=True))
    assert update.results.last
    assert [e.kind for e in update.events] == [EventKind.STARTED, EventKind.ENDED]


def test_a_stream_without_actuators_has_signals_but_no_results():
    stream = Stream("rig", 1, RATE, (Channel("load", Role.AUXILIARY),))
    monitor = Monitor(settings())
    for start in (0, 5, 20):
        update = monitor.update(SignalBlock(stream, start, start / RATE, np.zeros((5, 1))))
        assert len(update.signals) == 5
        assert update.results is None


def test_settings_that_do_not_fit_the_stream_are_refused_by_name():
    samples = record(10)[0]
    for wrong, name in ((settings(window=0.05), "window"), (settings(band=(0.1, 60.0)), "band")):
        with pytest.raises(ValueError, match=name):
            Monitor(wrong).update(SignalBlock(a_stream(), 0, 0.0, samples))


def test_blocks_are_not_written_to_nor_kept():
    stream, (samples, _, _) = a_stream(), record(200)
    expected = rows(Monitor(settings()), cut(stream, samples, [0, 80, 200]))
    monitor, copy = Monitor(settings()), samples.copy()
    found = rows(monitor, [SignalBlock(stream, 0, 0.0, copy[:80])])
    np.testing.assert_array_equal(copy, samples)
    copy[:80] = 1e9
    found |= rows(monitor, [SignalBlock(stream, 80, 0.8, copy[80:])])
    np.testing.assert_array_equal(stacked(found), stacked(expected))


def test_nothing_is_compiled_after_the_warm_up():
    before = [len(kernel.signatures) for kernel in KERNELS]
    assert all(before)
    for n_pairs in (1, 5):
        for every, noise_correction, peak in ((1, True, "command"), (7, False, "own")):
            chosen = settings(every=every, noise_correction=noise_correction, peak=peak, band=(1.0, 20.0))
            samples = record(300, n_pairs)[0]
            samples[150] = np.nan
            stream = a_stream(n_pairs=n_pairs)
            blocks = list(cut(stream, samples, [0, 1, 1, 80, 81, 200, 290]))
            blocks += cut(stream, np.asfortranarray(samples), [295, 300])
            rows(Monitor(chosen), blocks)
        for indicator in create_indicators(settings(), RATE, n_pairs):
            x_c, x_m = noisy(100, n_pairs)
            x_c.flags.writeable = x_m.flags.writeable = False
            indicator.update_block(x_c, x_m)
            indicator.update_block((100 * x_c).astype(np.int32), x_m.astype(np.float32), first=np.int64(7))
            indicator.update(x_c[0], x_m[0])
            indicator.restore(indicator.snapshot())
            indicator.update_block(x_c, x_m)
    assert [len(kernel.signatures) for kernel in KERNELS] == before
