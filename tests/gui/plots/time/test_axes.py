"""Axes of a stack: scale and ticks in the rig's time, units and limits of the rows."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QPoint
from PySide6.QtGui import QColor, QFont
from PySide6.QtWidgets import QApplication

from gui.model.timeline import ClockSegment
from gui.plots.time.axis import ShownUnit, TimeScale, axis_unit, breaks, segment_at, tick_text, time_ticks
from gui.plots.time.cache import TextMetrics
from gui.plots.time.curves import ValueScale
from gui.plots.time.decoration import DIGIT_HEIGHT, OVERHANG, limit_labels, value_marks
from gui.plots.time.rows import CurveStyle, Frame, LimitLine, PlotRow, RowData, Trace
from gui.plots.time.stack import TimeStack
from gui.plots.view import View
from gui.widgets.theme import LIGHT

SPAN = 10.0


DELAY = PlotRow("delay", "", "delay", "ms", (CurveStyle("delay", "command"),))


@pytest.fixture
def stack(qtbot):
    view = View()
    view.span = SPAN
    made = TimeStack(view, LIGHT)
    qtbot.addWidget(made)
    made.resize(600, 400)
    made.show()
    return made


def draw(stack, right, value, *, dense=False):
    """Draw a live picture of all rows, with `value` of the instants."""
    stack._view.extend(0.0, right)
    x = np.linspace(right - SPAN, right, 2001)[:-1] if dense else np.arange(right - SPAN, right, 0.05)
    y = np.asarray(value(x), dtype=float) * np.ones(len(x))
    trace = Trace(np.append(x, right), x, y, y.copy() if dense else y, exact=not dense)
    rows = tuple(RowData((trace,)) for _ in stack.rows)
    stack.draw(Frame(right - SPAN, right, rows, (ClockSegment(0.0, right, 0.0, 1),)))


def columns_of(stack, colour, row=0):
    """Return in how many columns of a row's plot a colour is seen."""
    image, places = stack.viewport().grab().toImage(), stack.places
    place, wanted = places.rows[row], QColor(colour).name()
    return sum(
        any(
            image.pixelColor(x, y).name() == wanted
            for y in range(place.plot_top, min(place.bottom, stack.viewport().height()))
        )
        for x in range(places.plot_left, places.plot_left + places.plot_width)
    )


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("end", [8.0, 10.0, 12.0, 30.0, 50.0, 75.0, -30.0])
def test_a_curve_that_rises_slowly_and_settles_is_not_under_the_frame(stack, end, dense):
    # a row as low as rows can be
    stack.set_rows([DELAY, *(PlotRow(f"other{i}", "", "", "", DELAY.curves) for i in range(9))])
    for right in np.arange(10.0, 40.0, 0.25).tolist():
        draw(stack, right, lambda x: end * np.clip(x / 25.0, 0.0, 1.0), dense=dense)
    # all of the picture is at the end value
    assert columns_of(stack, LIGHT.command) > 0.97 * stack.places.plot_width
    low, high = stack.limits("delay")
    assert low + 0.02 * (high - low) <= end <= high - 0.02 * (high - low)


@pytest.mark.parametrize("end", [0.0, 1.0])
def test_nor_is_one_at_a_fixed_limit(stack, end):
    stack.set_rows([PlotRow("reliability", "", "reliability", "1", DELAY.curves, fixed=(0.0, 1.0))])
    draw(stack, 20.0, lambda x: end)
    assert columns_of(stack, LIGHT.command) > 0.97 * stack.places.plot_width


@given(
    low=st.floats(-1e3, 1e3),
    span=st.floats(1e-3, 1e4),
    height=st.integers(44, 400),
    line=st.sampled_from([14.0, 17.0]),
)
def test_tick_labels_do_not_overlap_whatever_the_height(low, span, height, line):
    _, labels = value_marks(low, low + span, 1.0, float(height), 2.0, line)
    tops = sorted(top for top, _ in labels)
    assert len(tops) >= 2
    assert all(below - above >= DIGIT_HEIGHT * line - 1e-9 for above, below in pairwise(tops))
    assert tops[0] >= -OVERHANG
    assert tops[-1] + line <= height + OVERHANG


def test_a_low_row_has_fewer_labels_with_zero_among_them():
    grid, labels = value_marks(-4.6, 4.6, 1.0, 44.0, 2.0, 17.0)
    assert [text for _, text in labels] == ["−4", "0", "4"]
    assert len(grid) == 5


@pytest.mark.parametrize("value", [-12_345.678, -1_234_567.0, -0.0201])
def test_long_labels_of_values_are_whole(stack, value):
    """Values that differ in their last digits only, as a tracking indicator that has settled."""
    stack.set_rows((PlotRow("ti", "tracking indicator", "", "m2", (CurveStyle("TI", "command"),), prefixed=True),))
    draw(stack, 20.0, lambda x: value * (1.0 + 1e-7 * np.sin(x)))
    image, place = stack.viewport().grab().toImage(), stack.places.rows[0]
    rows = range(place.plot_top, place.bottom)
    ground = QColor(LIGHT.window).name()
    inked = [
        x for x in range(stack.places.plot_left - 3) if any(image.pixelColor(x, y).name() != ground for y in rows)
    ]
    # one pixel may be the frame of the focus
    assert min(x for x in inked if x > 1) >= 3
    (low, high) = stack.limits("ti")
    shown = stack.scene.unit(0)
    labels = [text for _, text in value_marks(low, high, shown.factor, place.plot_height, 0.0, 12.0)[1]]
    assert 4 <= max(map(len, labels)) <= 11


def test_a_unit_does_not_change_back_and_forth(stack):
    stack.set_rows([PlotRow("ti", "", "TI", "m^2", (CurveStyle("TI", "command"),), prefixed=True)])
    seen = []
    for right, size in zip(np.arange(10.0, 60.0, 10.0).tolist(), (9e-5, 1.1e-4, 8e-5, 2e-3, 3e-6), strict=True):
        for _ in range(60):
            draw(stack, right, lambda x, size=size: size * np.sin(x))
        seen.append(stack.scene.unit(0).unit)
    assert seen == ["mm²"] * 5
    # of displacements a larger unit replaces a smaller one, not the reverse
    stack.set_rows([PlotRow("motion", "", "displacement", "m", DELAY.curves, prefixed=True)])
    seen = []
    for right, size in zip(np.arange(10.0, 60.0, 10.0).tolist(), (0.05, 0.8, 1.3, 0.8, 0.05), strict=True):
        for _ in range(60):
            draw(stack, right, lambda x, size=size: size * np.sin(x))
        seen.append(stack.scene.unit(0).unit)
    assert seen == ["mm", "mm", "m", "m", "m"]
    # until its scale is fitted again
    stack.enable_auto_range(0)
    assert stack.scene.unit(0).unit == "mm"


def test_labels_of_limits_are_in_the_margin_and_not_over_the_newest_values(stack):
    limits = tuple(
        LimitLine(side * value, word, colour, word == "trip")
        for word, colour, value in (("warn", "warn", 5.0), ("trip", "bad", 8.0))
        for side in (1.0, -1.0)
    )
    stack.set_rows([PlotRow("delay", "", "delay", "ms", DELAY.curves, limits=limits)])
    draw(stack, 20.0, lambda x: 9.0 * np.sin(x))
    image, places = stack.viewport().grab().toImage(), stack.places
    end, place = places.plot_left + places.plot_width, places.rows[0]

    def rows_with(colour, columns):
        wanted = QColor(colour).name()
        return [
            y
            for y in range(place.plot_top, place.bottom)
            if any(image.pixelColor(x, y).name() == wanted for x in columns)
        ]

    for colour in (LIGHT.warn, LIGHT.bad):
        # two lines of one pixel, and two labels
        assert len(rows_with(colour, range(end - 80, end))) == 2
        assert len(rows_with(colour, range(end + 1, end + places.margin))) >= 4
    assert stack.tip(QPoint(end + 20, place.plot_top + 10)) == "trip 8 ms\nwarn 5 ms\nwarn −5 ms\ntrip −8 ms"
    assert stack.tip(QPoint(end - 20, place.plot_top + 10)) == ""


@given(
    values=st.lists(st.floats(-20.0, 20.0), max_size=6),
    height=st.integers(44, 200),
    owner=st.sampled_from(["", "FDB"]),
)
def test_labels_of_limits_do_not_overlap(qapp, values, height, owner):
    metrics = TextMetrics(QFont(QApplication.font()))
    limits = [
        LimitLine(value, "trip" if i % 2 else "warn", solid=bool(i % 2), owner=owner)
        for i, value in enumerate(values)
    ]
    found = limit_labels(limits, ValueScale(-10.0, 10.0, 0.0, height), ShownUnit(1.0, "ms", 0), 60.0, metrics)
    tops = sorted(label.top for label in found)
    assert all(below - above >= metrics.height - 1.0 for above, below in pairwise(tops))
    if values:
        assert found


def test_of_few_places_trip_limits_have_the_first(qapp):
    metrics = TextMetrics(QFont(QApplication.font()))
    limits = [
        LimitLine(side * value, word, solid=word == "trip")
        for word, value in (("warn", 5.0), ("trip", 8.0))
        for side in (1, -1)
    ]
    found = limit_labels(limits, ValueScale(-10.0, 10.0, 0.0, 44.0), ShownUnit(1.0, "ms", 0), 60.0, metrics)
    assert {"trip 8", "trip −8"} <= {label.text for label in found}
    # a limit outside the scale is at that end, with an arrow
    found = limit_labels(limits[2:3], ValueScale(-2.0, 2.0, 0.0, 44.0), ShownUnit(1.0, "ms", 0), 60.0, metrics)
    assert [label.text for label in found] == ["trip 8 ↑"]


def test_rows_of_one_quantity_have_one_unit(stack):
    rows = [PlotRow(key, "", "displacement", "m", DELAY.curves, prefixed=True) for key in ("large", "small", "tiny")]
    stack.set_rows([*rows, PlotRow("time", "", "delay", "s", DELAY.curves, prefixed=True)])
    stack._view.extend(0.0, 20.0)
    x = np.arange(10.0, 20.0, 0.05)

    def data(size):
        return RowData((Trace(np.append(x, 20.0), x, size * np.sin(x), size * np.sin(x), exact=True),))

    stack.draw(Frame(10.0, 20.0, tuple(map(data, (8e-3, 3e-5, 4e-8, 12e-3))), (ClockSegment(0.0, 20.0, 0.0, 1),)))
    # of the smallest the numbers would be unreadable
    assert [stack.scene.unit(i).unit for i in range(4)] == ["mm", "mm", "nm", "ms"]


TWO = (ClockSegment(0.0, 8.0, 100.0, 1), ClockSegment(9.0, 20.0, -9.0, 2))


@given(st.floats(0.0, 1e5), st.floats(0.02, 9e4), st.floats(0.0, 1.0))
def test_pixels_and_instants_are_each_others_inverse(left, span, share):
    scale = TimeScale(left, left + span, 60.0, 1000.0)
    x = left + share * span
    assert scale.x(scale.pixel(x)) == pytest.approx(x, abs=1e-7 * span)
    assert scale.pixels(np.array([x]))[0] == pytest.approx(scale.pixel(x))


def test_labels_are_of_the_rigs_clock_in_each_segment():
    found = time_ticks(TimeScale(0.0, 16.0, 0.0, 800.0), TWO, 90.0)
    assert [(tick.x, tick.text) for tick in found] == [
        *[(x, f"{x + 100:.0f}") for x in (0.0, 2.0, 4.0, 6.0, 8.0)],
        *[(x, f"{x - 9:.0f}") for x in (9.0, 11.0, 13.0, 15.0)],
    ]


def test_there_is_no_label_in_a_break():
    assert [tick for tick in time_ticks(TimeScale(8.1, 8.9, 0.0, 800.0), TWO, 90.0) if tick.x < 9.0] == []
    assert list(breaks(TWO, 0.0, 16.0)) == [(8.0, 9.0)]
    assert list(breaks(TWO, 9.5, 16.0)) == []


def test_a_clock_in_nanoseconds_has_labels_only_where_its_floats_tell_them_apart():
    # floats are 256 apart at 1.7e18
    segments = (ClockSegment(0.0, 1e5, 1.7e18, 1),)
    assert time_ticks(TimeScale(0.0, 30.0, 0.0, 800.0), segments, 90.0) == []
    found = [tick.x for tick in time_ticks(TimeScale(0.0, 1e5, 0.0, 800.0), segments, 90.0)]
    assert len(found) >= 3
    assert len(set(found)) == len(found)


@pytest.mark.parametrize(("x", "epoch"), [(-1.0, None), (0.0, 1), (8.0, 1), (8.5, None), (9.0, 2), (25.0, 2)])
def test_which_segment_an_instant_is_in(x, epoch):
    found = segment_at(TWO, x)
    assert (None if found is None else found.epoch) == epoch


def test_a_clock_that_counts_from_1970_is_shown_as_time_of_day():
    begin = datetime(2026, 3, 1, 14, 3, 20).timestamp()
    segments = (ClockSegment(0.0, 60.0, begin, 1),)
    found = time_ticks(TimeScale(0.0, 60.0, 0.0, 600.0), segments, 90.0)
    assert [tick.text for tick in found] == [
        "14:03:20",
        "14:03:30",
        "14:03:40",
        "14:03:50",
        "14:04:00",
        "14:04:10",
        "14:04:20",
    ]
    assert axis_unit(segments) == "h:min:s"
    assert axis_unit(TWO) == "time [s]"
    finer = time_ticks(TimeScale(0.0, 0.6, 0.0, 600.0), segments, 90.0)
    assert finer[1].text == "14:03:20.1"


@given(st.floats(0.02, 9e4), st.floats(0.0, 1e4), st.integers(200, 3000))
def test_labels_are_few_and_lie_in_the_span(span, left, width):
    segments = (ClockSegment(0.0, left + span, 3.0, 1),)
    found = time_ticks(TimeScale(left, left + span, 0.0, width), segments, 100.0)
    assert len(found) <= width / 100.0 + 1.0
    assert all(left - 1e-5 * span <= tick.x <= left + span * (1.0 + 1e-5) for tick in found)


def test_a_label_has_as_many_digits_as_it_needs():
    assert tick_text(12345.678, 3) == "12345.678"
    assert tick_text(-0.5, 1) == "−0.5"
