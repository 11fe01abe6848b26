"""Change points of a windowed value, against courses whose windows are averaged here."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.config import IndicatorSettings
from monitor.messages.blocks import Channel, Role, Stream
from replay.assessment import assess
from replay.assessment.change_points import segment_series
from replay.formats import ArrayRecording
from sim.excitation import Earthquake

WINDOW, DT = 2.0, 0.02
TIME = np.arange(0.0, 60.0, DT)
SD, LEAST = 3e-4, 1e-3
INSIDE = round(WINDOW / DT)


def windowed(true, seed, sd=SD):
    """Return the means over the windows of a course and of white noise: neighbours share most of their samples."""
    white = np.random.default_rng(seed).standard_normal(len(true)) * sd * np.sqrt(INSIDE)
    sums = np.concatenate([[0.0], np.cumsum(true + white)])
    means = np.full(len(true), np.nan)
    means[INSIDE - 1 :] = (sums[INSIDE:] - sums[:-INSIDE]) / INSIDE
    return means


def course(true, seed, sd=SD):
    return segment_series(TIME, windowed(true, seed, sd), np.full(len(TIME), sd), WINDOW, LEAST)


def test_nothing_is_found_where_nothing_changes():
    # noise of the size of what is of interest; the levels' own errors are those of the windows that are separate
    alarms = [course(np.full(len(TIME), 0.02), seed, sd) for seed in range(150) for sd in (3e-4, 1e-3)]
    assert sum(found.changes for found in alarms) <= 3
    errors = [(found.segments[0].first - 0.02) / found.segments[0].sd for found in alarms if not found.changes]
    assert np.std(errors) == pytest.approx(1.0, abs=0.25)


# of a small one a level of one or two windows does not tell enough
@pytest.mark.parametrize(
    ("step", "when"),
    [
        *((step, when) for step in (-0.019, -0.002, 0.002, 0.019) for when in (15.0, 33.0)),
        *((step, when) for step in (-0.019, 0.019) for when in (4.0, 56.0)),
    ],
)
def test_a_step_is_found_with_its_levels_and_its_time(step, when):
    for seed in range(10):
        found = course(np.where(when > TIME, 0.031, 0.031 + step), seed)
        (change,) = found.steps
        assert not found.drifts
        assert abs(change.time - when) <= change.time_uncertainty
        assert abs(change.before - 0.031) < 4.0 * change.before_sd
        assert abs(change.after - 0.031 - step) < 4.0 * change.after_sd


def test_a_slow_drift_is_one_drift_and_no_staircase():
    for seed in range(10):
        found = course(np.linspace(0.01, 0.02, len(TIME)), seed)
        assert not found.steps
        (drift,) = found.drifts
        # between the middles of the first and the last window: nothing beyond them is known
        assert (drift.start, drift.stop) == pytest.approx((0.5 * WINDOW, TIME[-1] - 0.5 * WINDOW), abs=0.5)
        expected = np.interp([drift.start, drift.stop], TIME, np.linspace(0.01, 0.02, len(TIME)))
        assert (drift.first, drift.last) == pytest.approx(expected, abs=5.0 * drift.sd)


def test_a_drift_that_begins_in_mid_record_and_one_that_ends_in_a_step():
    found = course(np.interp(TIME, [0.0, 25.0, 60.0], [0.01, 0.01, 0.025]), 1)
    (drift,) = found.drifts
    assert not found.steps
    assert (drift.start, drift.stop) == pytest.approx((25.0, 60.0), abs=2.0)
    assert (drift.first, drift.last) == pytest.approx((0.01, 0.025), abs=1e-3)
    found = course(np.where(TIME < 40.0, np.interp(TIME, [0.0, 40.0], [0.01, 0.02]), 0.005), 2)
    (step,) = found.steps
    assert len(found.drifts) == 1
    assert step.time == pytest.approx(40.0, abs=1.0)
    assert (step.before, step.after) == pytest.approx((0.02, 0.005), abs=1e-3)


@st.composite
def courses(draw):
    """Return times and delays of a course of levels and lines: each change a step, or a ramp between two levels."""
    at, value, nodes = 0.0, draw(st.floats(0.005, 0.02)), []
    for _ in range(draw(st.integers(1, 3))):
        at += draw(st.floats(10.0, 14.0))
        lasts, size = (
            draw(st.sampled_from([1e-9, 5.0, 8.0])),
            draw(st.sampled_from([-1, 1])) * draw(st.floats(1.2e-3, 6e-3)),
        )
        nodes += [(at, value), (at + lasts, value + size)]
        at, value = at + lasts, value + size
        if at > 40.0:
            break
    return np.array(nodes).T


@settings(max_examples=30)
@given(courses(), st.integers(0, 1000), st.sampled_from([1e-4, 2e-4]))
def test_what_is_told_has_the_direction_and_the_size_of_what_happened(nodes, seed, sd):
    true = lambda times: np.interp(times, *nodes)  # noqa: E731
    found = course(true(TIME), seed, sd)
    close = 6.0 * sd
    for segment in found.segments:
        # a knot is known to half a window, and a line's value there to what it changes in that time
        slope = abs(segment.last - segment.first) / (segment.stop - segment.start)
        told, happened = segment.last - segment.first, np.diff(true([segment.start, segment.stop]))[0]
        if segment.drifts:
            assert told == pytest.approx(happened, abs=close + WINDOW * slope)
            assert told * happened > 0.0
        middle = 0.5 * (segment.start + segment.stop)
        assert 0.5 * (segment.first + segment.last) == pytest.approx(true(middle), abs=close + 0.5 * WINDOW * slope)
    for step in found.steps:
        assert step.after - step.before == pytest.approx(
            np.diff(true([step.time - WINDOW, step.time + WINDOW]))[0], abs=close
        )
    told = found.segments[-1].last - found.segments[0].first
    assert told == pytest.approx(nodes[1][-1] - nodes[1][0], abs=2.0 * close)


@pytest.mark.parametrize("ends", [(5.09e-3, 7.98e-3), (7.98e-3, 5.09e-3)])
def test_a_level_does_not_turn_the_line_beside_it(ends):
    """A line that meets a level at almost its value: they are one course, and the line keeps its direction."""
    for seed in range(8):
        true = np.interp(TIME, [0.0, 30.0], ends) + np.where(TIME > 30.0, 0.4e-3 * np.sign(ends[1] - ends[0]), 0.0)
        drift, level = course(true, seed, 1.5e-4).segments
        assert (drift.last - drift.first) / (ends[1] - ends[0]) == pytest.approx(1.0, abs=0.2)
        assert level.first == pytest.approx(true[-1], abs=5.0 * level.sd)


@given(st.lists(st.tuples(st.floats(0.02, 25.0), st.floats(0.02, 2.0)), min_size=1, max_size=8), st.integers(0, 3))
def test_motions_with_pauses_have_segments_only_where_four_windows_hold_values(lengths, seed):
    # pause and motion in turn
    edges = np.cumsum(lengths)
    moves = np.searchsorted(edges, TIME, "right") % 2 == 1
    values = np.where(moves, windowed(np.where(TIME < 20.0, 0.02, 0.03), seed), np.nan)
    found = segment_series(TIME, values, np.full(len(TIME), SD), WINDOW, LEAST)
    there = TIME[np.isfinite(values)]
    # four values a window are looked at, and one of each motion at least
    if np.count_nonzero(np.isfinite(values)) * DT + len(lengths) * WINDOW / 4.0 < 3.0 * WINDOW:
        assert not found.segments
    ends = [end for segment in found.segments for end in (segment.start, segment.stop)]
    assert ends == sorted(ends) and all(0.0 <= end <= there[-1] for end in ends)
    assert all(np.isfinite((segment.first, segment.last, segment.sd)).all() for segment in found.segments)


@pytest.mark.parametrize("stop", [2.6, 4.0, 9.0])
@pytest.mark.parametrize("pause", [0.0, 1.0, 7.0])
def test_a_short_record_that_begins_with_another_delay_has_a_step(stop, pause):
    time, seen = np.arange(0.0, 8.0, DT), round(stop / DT)
    before, after = windowed(np.full(seen, 0.012), 1), windowed(np.full(len(time), 0.035), 2)
    if pause:
        times, values = np.concatenate([DT * np.arange(seen), stop + pause + time]), np.concatenate([before, after])
    else:
        times, values = DT * np.arange(seen + len(time)), windowed(np.repeat([0.012, 0.035], [seen, len(time)]), 1)
    found = segment_series(times, values, np.full(len(times), SD), WINDOW, LEAST)
    (change,) = found.steps
    assert not found.drifts
    assert (change.before, change.after) == pytest.approx((0.012, 0.035), abs=5.0 * SD)
    assert stop - change.time_uncertainty <= change.time <= stop + pause + change.time_uncertainty


def test_an_outlier_a_gap_and_a_short_record():
    values = windowed(np.full(len(TIME), 0.02), 3)
    values[1000:1030] += 0.1
    values[2000:2200] = np.nan
    assert not segment_series(TIME, values, np.full(len(TIME), SD), WINDOW, LEAST).changes
    assert segment_series(TIME[:300], values[:300], np.full(300, SD), WINDOW, LEAST).segments == ()
    assert segment_series(TIME, np.full(len(TIME), np.nan), values, WINDOW, LEAST).segments == ()


def record(motion, delay, gain, noise, seed):
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, 40.0, 1.0 / 256.0)
    size = noise * np.std(motion(t))
    command, measured = (x + size * rng.standard_normal(len(t)) for x in (motion(t), gain(t) * motion(t - delay(t))))
    channels = Channel("c", Role.COMMAND, "mm", "a"), Channel("m", Role.MEASURED, "mm", "a")
    return ArrayRecording(Stream("rig", 0, 256.0, channels), np.column_stack([command, measured]))


def quake(seed):
    return Earthquake(rms=1.0, seed=seed, ground_frequency=1.5, strong=12.0).sample


def sine(seed):
    frequency = np.random.default_rng(seed).uniform(0.8, 4.0)
    return lambda t: np.sin(2.0 * np.pi * frequency * t)


def headline(motion, seed, delay=lambda t: np.full(len(t), 0.012), gain=lambda t: np.full(len(t), 0.95)):
    settings = IndicatorSettings(measures=("broadband", "fdb"), window=WINDOW, every=8)
    return assess(record(motion(seed), delay, gain, 0.01, seed), settings).pairs[0].headline


@pytest.mark.usefixtures("warm_kernels")
@pytest.mark.parametrize("motion", [quake, sine])
def test_records_of_known_delays(motion):
    for seed in range(6):
        steady = headline(motion, seed)
        assert not steady.delay_segments.changes and not steady.ratio_segments.changes
        assert steady.delay_range is None
        found = headline(
            motion, seed, lambda t: np.where(t < 17.0, 0.012, 0.014), lambda t: np.where(t < 23.0, 1, 0.9)
        )
        for (step,), when, values, close in (
            (found.delay_segments.steps, 17.0, (0.012, 0.014), 3e-4),
            (found.ratio_segments.steps, 23.0, (1.0, 1.0 / 0.9), 8e-3),
        ):
            assert abs(step.time - when) <= step.time_uncertainty
            assert (step.before, step.after) == pytest.approx(values, abs=close)
        assert found.delay_range == pytest.approx((0.012, 0.014), abs=3e-4)
        (drift,) = headline(motion, seed, lambda t: 0.01 + 2.5e-4 * t).delay_segments.drifts
        expected = [0.01 + 2.5e-4 * time for time in (drift.start, drift.stop)]
        assert (drift.first, drift.last) == pytest.approx(expected, abs=6e-4)
