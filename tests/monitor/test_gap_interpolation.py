"""Short gaps are interpolated: against numpy's interpolation, for any chopping, with bands that hold."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.config import IndicatorSettings
from monitor.engine.gap_interpolation import GapInterpolation
from monitor.engine.monitor import Monitor
from monitor.messages.blocks import Channel, EventKind, Role, SignalBlock, Stream
from monitor.messages.reasons import Reason

RATE = 100.0
CHANNELS = tuple(
    Channel(f"{name}.{role.value}", role, "mm", name)
    for name in ("north", "south")
    for role in (Role.COMMAND, Role.MEASURED)
)
STREAM = Stream("rig", 0, RATE, (*CHANNELS, Channel("oil", Role.AUXILIARY)))


def blocks_of(samples, numbers, cuts):
    """Return blocks that end at gaps in the numbers and at the cuts, with whether samples before are missing."""
    edges = sorted({0, len(numbers), *cuts, *(np.flatnonzero(np.diff(numbers) > 1) + 1)})
    for begin, end in pairwise(edges):
        first = int(numbers[begin])
        broken = begin > 0 and first != numbers[begin - 1] + 1
        yield SignalBlock(STREAM, first, first / RATE, samples[begin:end], last=end == len(numbers)), broken


def interpolated(samples, numbers, longest):
    """Return what should come out, NaN where nothing does: channel by channel, by numpy."""
    whole = np.full((numbers[-1] + 1, samples.shape[1]), np.nan)
    whole[numbers] = samples
    for column in range(4):
        good = np.flatnonzero(np.isfinite(whole[:, column]))
        for before, after in pairwise(good):
            if 1 < after - before <= longest + 1:
                inside = np.arange(before + 1, after)
                whole[inside, column] = np.interp(inside, good, whole[good, column])
    return whole


@st.composite
def records(draw):
    n = draw(st.integers(2, 60))
    samples = np.random.default_rng(draw(st.integers(0, 1000))).standard_normal((n, 5))
    for begin, length, column in draw(st.lists(st.tuples(*[st.integers(0, k) for k in (59, 5, 4)]), max_size=6)):
        samples[begin : begin + length, column] = np.nan
    steps = np.ones(n, dtype=np.int64)
    for place, missing in draw(st.lists(st.tuples(st.integers(1, 59), st.integers(1, 6)), max_size=2)):
        steps[place : place + 1] += missing
    return samples, np.cumsum(steps) - 1, draw(st.sets(st.integers(1, 59), max_size=20))


@given(records(), st.integers(1, 4))
def test_what_is_released_is_what_numpy_interpolates_however_it_is_cut(record, longest):
    samples, numbers, cuts = record
    gaps = GapInterpolation(STREAM, longest / RATE, 1.0)
    expected = interpolated(samples, numbers, longest)
    seen = np.full(expected.shape, np.nan)
    at = 0
    for block, broken in blocks_of(samples, numbers, {cut for cut in cuts if cut < len(numbers)}):
        for part, missing in gaps.push(block, broken=broken):
            assert (part.index == at) is not missing
            at = part.index + len(part)
            assert part.time == pytest.approx(part.index / RATE)
            seen[part.index : at] = part.samples
    assert at == len(expected)
    np.testing.assert_allclose(seen, expected, rtol=1e-12, atol=1e-12)
    counts = []
    for columns in ([0, 1], [2, 3]):
        counts.append(np.sum((np.isfinite(seen[:, columns]) & ~np.isin(np.arange(at), numbers)[:, None]).any(axis=1)))
        known = np.isfinite(samples[:, columns])
        counts[-1] += np.sum((np.isfinite(seen[numbers][:, columns]) & ~known).any(axis=1))
    assert gaps.count == max(counts)


def signals(seed, n=1200, delay=0.013):
    rng = np.random.default_rng(seed)
    t, tones = np.arange(n) / RATE, [(f, rng.uniform(0.0, 6.0)) for f in (0.9, 1.7, 2.6)]
    move = lambda at: sum(np.sin(2.0 * np.pi * f * at + p) for f, p in tones)  # noqa: E731 - a command of three tones
    pairs = [move(t), 0.9 * move(t - delay) + 0.02 * rng.standard_normal(n)]
    return np.column_stack([*pairs, *pairs, t])


def run(samples, bridge, sizes, numbers=None):
    monitor = Monitor(IndicatorSettings(window=2.0, bridge=bridge, measures=("broadband", "fdb", "paei", "ti")))
    numbers = np.arange(len(samples)) if numbers is None else numbers
    found, events, interpolated_samples = [], [], 0
    cuts = set(np.cumsum(sizes)) & set(range(1, len(numbers)))
    for block, _ in blocks_of(samples, numbers, cuts):
        update = monitor.update(block)
        found.append((update.results.index + np.arange(len(update.results)), update.results.values))
        events += [event.detail for event in update.events if event.kind is EventKind.NOTE]
        interpolated_samples += update.interpolated
    names = [(column.actuator, column.name) for column in update.results.stream.columns]
    rows, values = (np.concatenate(each) for each in zip(*found, strict=True))
    return names, rows, values, events, interpolated_samples


@pytest.mark.usefixtures("warm_kernels")
def test_a_lone_bad_sample_costs_a_window_only_where_it_is_not_interpolated():
    samples = signals(1)
    places = np.array([300, 420, 421, 650, 900])
    samples[places, 1] = np.nan
    numbers = np.delete(np.arange(len(samples)), [500, 501])
    outcomes = {}
    for name, sizes in (("one by one", [1] * 1200), ("sevens", [7] * 200), ("whole", [1200])):
        outcomes[name] = run(samples[numbers], 0.02, sizes, numbers)
    names, rows, values, events, count = outcomes["whole"]
    for other in outcomes.values():
        np.testing.assert_array_equal(other[1], rows)
        assert other[2].tobytes() == values.tobytes()
        assert other[4] == count == 5 + 2
    assert events == ["samples interpolated so far in gaps of up to 0.02 s: 3"]
    np.testing.assert_array_equal(rows, np.arange(1200))
    delay = names.index(("north", "broadband_delay"))
    assert np.isfinite(values[300:, delay]).all()
    assert values[300:, delay] == pytest.approx(0.013, abs=5e-4)
    _, rows, without, *_ = run(samples[numbers], 0.0, [1200], numbers)
    assert np.isfinite(without[:, delay]).mean() < 0.3
    # the other actuator, whose signals are good, has the values that it would have alone but for the lost samples
    south = [i for i, (actuator, _) in enumerate(names) if actuator == "south"]
    good = samples.copy()
    good[places, 1] = good[places, 3]
    _, _, alone, *_ = run(good[numbers], 0.02, [1200], numbers)
    assert values[:, south].tobytes() == alone[:, south].tobytes()


@pytest.mark.usefixtures("warm_kernels")
def test_bands_hold_and_widen_by_what_is_interpolated():
    errors, n_window = [], round(2.0 * RATE)
    for seed in range(30):
        samples = signals(seed)
        rng = np.random.default_rng(seed)
        bad = np.sort(rng.choice(np.arange(1, 1199), 60, replace=False))
        samples[bad, 1] = np.nan
        names, rows, values, *_ = run(samples, 0.03, [1200])
        delay, sd = (names.index(("north", f"broadband_delay{end}")) for end in ("", "_sd"))
        at = np.arange(399, 1200, 200)
        errors += list((values[at, delay] - 0.013) / values[at, sd])
    errors = np.abs(errors)
    assert np.isfinite(errors).mean() > 0.95
    assert 0.6 < np.mean(errors < 1.0) < 0.85 and np.mean(errors < 2.0) > 0.9
    gaps = GapInterpolation(STREAM, 0.05, 2.0)
    samples = signals(0)[:400]
    samples[100:104, 0] = np.nan
    gaps.push(SignalBlock(STREAM, 0, 0.0, samples), broken=False)
    columns = tuple(type("C", (), {"actuator": a, "name": n}) for a in ("north", "south") for n in ("x", "x_sd"))
    rows = np.ones((400, 4))
    gaps.widen(rows, 0, 1, columns)
    assert rows[103 + n_window - 1, 1] == pytest.approx(1.0 / np.sqrt(1.0 - 4 / n_window))
    assert (rows[:99] == 1.0).all() and (rows[:, [0, 2, 3]] == 1.0).all()


@pytest.mark.usefixtures("warm_kernels")
def test_a_window_that_is_mostly_interpolated_has_a_reason_and_no_value():
    samples = signals(1)
    samples[np.arange(1200) % 4 != 0, 1] = np.nan
    names, _, values, *_ = run(samples, 0.03, [1200])
    north = {name: values[600:, i] for i, (actuator, name) in enumerate(names) if actuator == "north"}
    for name, column in north.items():
        if name.endswith("_reason"):
            assert np.isfinite(column).all() and (column != Reason.VALID).all(), name
        else:
            assert np.isnan(column).all(), name
