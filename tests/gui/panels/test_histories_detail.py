"""What memory has forgotten is drawn from the run file beside what it still has, whatever the rig's clock does."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gui.model.history import History
from gui.model.receiver import ReceivedMessages
from gui.model.run_detail import DetailLoader, RunDetail
from gui.panels.histories import HistoriesPanel
from gui.plots.figure import TWO_COLUMNS, Page
from gui.window.export_files import svg_bytes
from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from monitor.recording import RunWriter
from tests.gui.shown import show_panel

RATE, BEGIN, FIRST, N, STEP = 200.0, 1000.25, 37, 24_000, 100
STREAM = Stream(
    "rig", 1, RATE, (Channel("a.command", Role.COMMAND, "m", "a"), Channel("a.measured", Role.MEASURED, "m", "a"))
)
# every sample is another, and greater than the one before
RAMP = 1e-5 * np.arange(N)
SAMPLES = np.column_stack([RAMP, -RAMP])


def recorded(path, clock):
    """Return a history of a rig by whose `clock` its samples were taken, and the run file of the same blocks."""
    history, writer = History(memory=16 << 20, minutes=1.0), RunWriter(path, {}, flush_interval=0.001)
    for i in range(0, N, STEP):
        block = SignalBlock(STREAM, FIRST + i, BEGIN + clock(i), SAMPLES[i : i + STEP])
        history.update(ReceivedMessages(signals=(block,)))
        writer.signals(block)
    writer.close()
    assert not writer.failed and history.signals.exact_begin_x > 30.0
    return history, RunDetail(path)


def shown(qtbot, history, detail, span, right):
    panel = show_panel(qtbot, HistoriesPanel, history, (900, 500), span=span)
    panel.detail = detail.envelope
    panel.view.set_right(right)
    panel.refresh(history)
    return panel, panel.view


@pytest.fixture(scope="module", params=[0.98, 0.999, 1.0, 1.001, 1.02])
def drifting(request, tmp_path_factory):
    """A rig whose clock goes faster or slower than its rate says."""
    path = tmp_path_factory.mktemp("drift") / "run.h5"
    history, detail = recorded(path, lambda i: request.param * i / RATE)
    assert all(segment.follows for segment in history.timeline.segments[1:])
    assert (len(history.timeline.segments) > 1) == (request.param != 1.0)
    return history, detail


def join(history):
    """Return where memory begins to have every sample, and where a view ends that shows both sides of it."""
    kept = history.signals.exact_begin_x
    segment = next(s for s in history.timeline.segments if s.x_begin <= kept <= s.x_end)
    return kept, max(segment.x_begin, kept - 1.0)


def test_the_curve_from_the_file_goes_on_in_memory_without_a_jump(qtbot, drifting):
    history, detail = drifting
    kept, begin = join(history)
    panel, view = shown(qtbot, history, detail, 2.0, kept + 1.0)
    trace = panel.stack.frame.rows[0].curves[0]
    # sample i stands i steps after the first
    numbers = (trace.centers - BEGIN % 1.0) * RATE
    seen = (trace.centers >= begin) & (trace.centers <= view.right)
    np.testing.assert_allclose(numbers[seen], np.rint(numbers[seen]), atol=1e-6)
    places = np.rint(numbers[seen]).astype(int)
    assert (np.diff(places) == 1).all()
    assert places[0] < (kept - BEGIN % 1.0) * RATE - 50 < places[-1] - 50
    np.testing.assert_array_equal(trace.low[seen], RAMP[places])
    np.testing.assert_array_equal(trace.high[seen], RAMP[places])


def test_the_cursor_reads_the_sample_that_is_there(qtbot, drifting):
    history, detail = drifting
    kept, begin = join(history)
    panel, view = shown(qtbot, history, detail, 2.0, kept + 1.0)
    read = panel.reader(history)
    first, last = (round((x - BEGIN % 1.0) * RATE) for x in (begin, view.right))
    for i in range(first + 1, last, 7):
        # nearer to it than to those beside it
        x = BEGIN % 1.0 + (i + 0.4 * (-1) ** i) / RATE
        assert read(x)[0] == [(value, value) for value in SAMPLES[i].tolist()]
        view.set_cursor(x)
        assert panel.stack.legend(0)[0] == f"command {1e3 * RAMP[i]:.2f} mm"


@pytest.mark.parametrize("right", [-0.5, 0.0, 0.5, 1.0, 1.5])
@pytest.mark.parametrize("span", [2.0, 20.0])
@pytest.mark.parametrize("jump", [60.0, -60.0])
def test_where_the_clock_jumps_no_sample_stands_in_the_break(qtbot, tmp_path, jump, span, right):
    at = 4010 // STEP * STEP
    history, detail = recorded(tmp_path / "run.h5", lambda i: i / RATE + jump * (i >= at))
    before, after = history.timeline.segments
    panel, _ = shown(qtbot, history, detail, span, before.x_end + right)
    trace = panel.stack.frame.rows[0].curves[0]
    known = ~np.isnan(trace.low)
    ends = trace.edges[1:]
    # memory has buckets of 16 samples there
    early = known & (ends <= after.x_begin - 16 / RATE)
    assert trace.high[early].max() <= RAMP[at - 1]
    # all that is in sight of the end of the segment is drawn, and nothing after it
    width = trace.edges[1] - trace.edges[0]
    last = min(before.x_end, before.x_end + right)
    assert last - width <= ends[early].max() <= before.x_end + 16 / RATE
    late = known & (trace.edges[:-1] >= after.x_begin)
    assert not late.any() or trace.low[late].min() >= RAMP[at]


def test_of_an_epoch_that_was_taken_up_again_no_other_samples_are_drawn(qtbot, tmp_path):
    """Sample n of the first start is not drawn where sample n of the third stands."""
    history, writer = History(memory=16 << 20, minutes=1.0), RunWriter(tmp_path / "run.h5", {}, flush_interval=0.001)
    n = 8000
    for start, epoch in enumerate((1, 2, 1, 3, 4)):
        stream = Stream("rig", epoch, RATE, STREAM.channels)
        for i in range(0, n, STEP):
            samples = np.full((STEP, 2), float(start)) + SAMPLES[:STEP]
            block = SignalBlock(stream, i, 1000.0 * start + i / RATE, samples, i + STEP == n)
            history.update(ReceivedMessages(signals=(block,)))
            writer.signals(block)
    writer.close()
    detail = RunDetail(tmp_path / "run.h5")
    segments = history.timeline.segments
    assert segments[2].x_begin + 16.0 < history.signals.exact_begin_x
    for start, segment in enumerate(segments):
        panel, view = shown(qtbot, history, detail, 2.0, segment.x_begin + 15.0)
        trace = panel.stack.frame.rows[0].curves[0]
        seen = (trace.centers >= view.left) & (trace.centers <= view.right)
        assert np.all(np.floor(trace.low[seen]) == start) and np.all(np.floor(trace.high[seen]) == start)


def test_a_figure_waits_for_the_file_and_leaves_the_screen_to_its_own_detail(qtbot, tmp_path):
    """A figure has every sample of the file at once; the screen draws what has been read so far."""
    history, detail = recorded(tmp_path / "run.h5", lambda i: i / RATE)
    loader = DetailLoader()
    try:
        loader.set_path(str(detail.path))
        panel, view = shown(qtbot, history, detail, 2.0, 10.0)
        panel.detail = loader
        panel.refresh(history)
        with panel.stack.whole(2000):
            waiting = panel.rows_data(history, view.left, view.right)[0].curves[0]
        assert not waiting.exact
        page = Page(TWO_COLUMNS, 96.0)
        svg = svg_bytes(panel.figure(page, history), page).decode()
        lines = re.findall(r'<polyline[^>]*points="([^"]*)"', svg)
        # two s at 200 Hz, and a sample on either side
        assert [len(line.split()) for line in lines if line.count(" ") > 5] == [
            pytest.approx(2.0 * RATE + 2, abs=2)
        ] * 2
        assert panel.detail is loader
    finally:
        loader.close()
