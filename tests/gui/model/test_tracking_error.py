"""Tracking error: command minus measured at every resolution, and its rms, also over spans of hours."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gui.model.history import History
from gui.model.receiver import ReceivedMessages
from gui.model.tracking_error import MeanSquares
from gui.panels.histories import HistoriesPanel
from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from tests.gui.shown import show_panel

RATE = 100.0


def channels(n=2, unit="m"):
    return tuple(
        Channel(f"a{i}.{role.value}", role, of, f"a{i}")
        for i in range(n)
        for role, of in ((Role.COMMAND, unit), (Role.MEASURED, "m"))
    )


def motion(n):
    t = np.arange(n) / RATE
    return np.column_stack([wave * np.sin(3.0 * t + 0.1 * wave) for wave in (10.0, 9.0, 5.0, 5.5)]) * 1e-3


def history_of(samples, named=None, memory=16 << 20, size=4000):
    history, stream = History(memory=memory), Stream("rig", 1, RATE, named or channels())
    for first in range(0, len(samples), size):
        block = SignalBlock(stream, first, first / RATE, np.ascontiguousarray(samples[first : first + size]))
        history.update(ReceivedMessages(signals=(block,)))
    return history


def shown(qtbot, history, keys, span=10.0):
    panel = show_panel(qtbot, HistoriesPanel, history, (900, 400), span=span)
    panel.show_rows(keys)
    return panel


@pytest.mark.parametrize("span", [2.0, 100.0])
def test_the_row_is_command_minus_measured(qtbot, span):
    samples = motion(12_000)
    panel = shown(qtbot, history_of(samples), ["error:a0", "error:a1"], span)
    assert [(row.name, row.quantity, row.unit) for row in panel.stack.rows] == [
        ("a0", "tracking error", "m"), ("a1", "tracking error", "m"),
    ]  # fmt: skip
    for k, data in enumerate(panel.stack.frame.rows):
        trace, error = data.curves[0], samples[:, 2 * k] - samples[:, 2 * k + 1]
        assert trace.exact == (span == 2.0)
        for i in range(2, len(trace.low) - 1, 7):
            first, last = round(trace.edges[i] * RATE), round(trace.edges[i + 1] * RATE)
            assert trace.low[i] == error[first:last].min()
            assert trace.high[i] == error[first:last].max()


def test_peak_and_rms_of_the_span_in_view_are_in_the_header(qtbot):
    samples = motion(12_000)
    panel = shown(qtbot, history_of(samples), ["error:a0"], 5.0)
    panel.view.pause()
    panel.view.set_right(60.0)
    panel.refresh(panel._history)
    error = (samples[:, 0] - samples[:, 1])[5500:6001]
    facts = dict(panel.stack.frame.rows[0].facts)
    assert facts["peak"] == pytest.approx(np.abs(error).max())
    assert facts["rms"] == pytest.approx(np.sqrt(np.mean(error**2)))
    peak, rms = 1e3 * facts["peak"], 1e3 * facts["rms"]
    assert f"peak {peak:.3f} mm\nrms {rms:.3f} mm" in panel.stack.tip_of_header(0)


def test_there_is_none_between_different_units(qtbot):
    history = history_of(motion(400), channels(unit="V"))
    panel = shown(qtbot, history, [])
    assert not [choice for choice in panel.choices() if choice.key.startswith("error")]


def test_the_samples_of_the_channels_remain_alone():
    samples = motion(500)
    signals = history_of(samples).signals
    np.testing.assert_array_equal(signals.samples(0.0, 10.0)[1], samples)
    assert signals.at(1.0).shape == (4,)


def test_old_errors_come_from_the_run_file_too(qtbot, tmp_path):
    samples = motion(60_000)
    history = history_of(samples, memory=1 << 18)
    panel = shown(qtbot, history, ["error:a1"], 5.0)
    asked = []

    def detail(epoch, start, stop, n_columns, columns):
        asked.append(columns)

    panel.detail = detail
    panel.view.set_right(20.0)
    panel.refresh(history)
    # as the difference of two channels of the file
    assert asked == [((2, 3),)]


def test_a_run_file_gives_differences(tmp_path):
    from gui.model.run_detail import _envelope
    from monitor.recording.reader import SignalSpan

    samples = motion(400)
    span = SignalSpan(RATE, np.arange(100, 500), samples)
    found = _envelope(span, 150.0, 250.0, 1000, [0, (0, 1)])
    np.testing.assert_array_equal(found.low[:, 1], (samples[:, 0] - samples[:, 1])[49:152])
    np.testing.assert_array_equal(found.low[:, 0], samples[49:152, 0])


@given(sizes=st.lists(st.integers(1, 700), min_size=1, max_size=30), gap=st.integers(0, 2000), seed=st.integers(0, 9))
def test_the_rms_of_bins_is_that_of_their_rows(sizes, gap, seed):
    random = np.random.default_rng(seed)
    made, rows, first = MeanSquares(2, 100.0), {}, 1000
    for i, size in enumerate(sizes):
        block = random.normal(size=(size, 2)) * [1.0, 3.0]
        block[random.random(block.shape) < 0.05] = np.nan
        made.append(first, block)
        rows |= dict(enumerate(block, first))
        first += size + (gap if i == 0 else 0)
    # the bins that lie within the span
    numbers = [n for n in rows if n >= 1024 and n < (first // 128) * 128]
    found = made.root_mean_square(1024, (first // 128) * 128, [0, 1])
    if not numbers:
        return
    expected = np.sqrt(np.nanmean(np.array([rows[n] for n in numbers]) ** 2, axis=0))
    np.testing.assert_allclose(found, expected)


def test_after_an_hour_the_rms_is_that_of_minutes():
    made, rate = MeanSquares(1, 10.0), 10.0
    rows = np.concatenate([np.full(72_000, 1.0), np.full(36_000, 3.0)])[:, np.newaxis]
    for first in range(0, len(rows), 1000):
        made.append(first, rows[first : first + 1000])
    assert made.root_mean_square(0.0, 3600 * rate, [0])[0] == pytest.approx(1.0)
    assert made.root_mean_square(90_000.0, 100_000.0, [0])[0] == pytest.approx(3.0)
    assert made.nbytes < 200_000
