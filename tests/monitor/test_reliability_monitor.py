"""A model judged live: the rows are the definition's, whatever the blocks, and no indicator notices."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.config import IndicatorSettings
from monitor.engine.monitor import Monitor, warm_up
from monitor.ensembles.files import EnsembleWriter, read_ensemble
from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from monitor.reliability import counts, curves
from monitor.reliability import site as one_site
from monitor.reliability.ensemble import sort_ensemble
from monitor.reliability.plan import ReliabilityPlan, ValidationSite, map_samples
from monitor.reliability.tolerance import Tolerance, TolerancePolicy
from tests.oracles import reliability as oracle

RATE = 100.0
BAND = ("model_low", "model_median", "model_high")
CURVES = [
    f"reliability_{name}{suffix}"
    for name in ("instantaneous", "first_passage", "accumulated", "windowed")
    for suffix in ("", "_se")
]
KERNELS = (
    *(counts.search_ranks, counts.advance_first_passage, one_site.advance_accumulated),
    *(curves.estimate, one_site.sum_overlaps),
)


@pytest.fixture(scope="module", autouse=True)
def warm():
    warm_up(reliability=True)


@dataclass(frozen=True)
class Case:
    """Ensembles of sites, the stream that they judge from sample `first` on, and what of it arrives."""

    time: np.ndarray
    responses: list[np.ndarray]
    tolerance: Tolerance
    window: int  # judged instants
    step: float  # s from one of them to the next
    start: int  # samples
    shift: int
    every: int
    first: int
    samples: np.ndarray
    lost: np.ndarray

    @property
    def stream(self):
        channels = tuple(Channel(f"y{i}", Role.AUXILIARY, "m") for i in range(len(self.responses)))
        return Stream("rig", 1, RATE, channels)

    @property
    def plan(self):
        # the sites in another order than the channels
        sites = tuple(
            ValidationSite(f"y{i}", sort_ensemble(self.time, response, "m", f"site {i}"), self.tolerance)
            for i, response in reversed(list(enumerate(self.responses)))
        )
        return ReliabilityPlan(sites, self.window * self.step, self.start / RATE, self.shift / RATE)

    def blocks(self, edges):
        """Yield what arrives, cut at `edges` and where samples are lost."""
        breaks = np.flatnonzero(np.diff(self.lost, prepend=True)).tolist()
        edges = sorted({0, len(self.samples), *breaks, *(edge for edge in edges if edge <= len(self.samples))})
        for a, b in itertools.pairwise(edges):
            if not self.lost[a]:
                yield SignalBlock(self.stream, self.first + a, (self.first + a) / RATE, self.samples[a:b].copy())

    def expected(self):
        """Return {sample number: row}: the definition, from every realization at every instant."""
        due = {}
        for number in range(-200, self.first + len(self.samples)):
            time = (number - self.start - self.shift) / RATE
            instant = int(np.argmin(np.abs(self.time - time)))
            if abs(self.time[instant] - time) < 1e-6:
                due[number] = instant
        here = {self.first + i: sample for i, sample in enumerate(self.samples) if not self.lost[i]}
        numbers = [number for number in due if number in here]
        made = {number: [] for number in numbers}
        sites = []
        for site in reversed(range(len(self.responses))):
            curves = self._curves(site, [due[n] for n in numbers], np.array([here[n][site] for n in numbers]))
            rising = np.sort(self.responses[site], axis=1)
            m = rising.shape[1]
            for number, row in zip(numbers, curves, strict=True):
                made[number] += [*(rising[due[number], min(m - 1, int(p * m))] for p in (0.05, 0.5, 0.95)), *row]
            sites.append(curves)
        if len(sites) > 1:
            for number, row in zip(numbers, _product(np.array(sites)), strict=True):
                made[number] += [*row]
        width = len(self.responses) * 11 + 8 * (len(self.responses) > 1) + 1
        rows = {}
        for number in here:
            if number % self.every:
                continue
            newest = max((n for n in due if n <= number), default=None)
            over = newest is None or newest not in here or number >= self.end
            rows[number] = np.full(width, np.nan) if over else np.array([*made[newest], np.nan])
        return rows

    @property
    def end(self):
        """The first sample of which the ensemble says nothing."""
        judged = np.arange(0, self.time[-1] - self.time[0] + 1e-6, self.step)
        return round((judged[-1] + self.time[0] + self.step) * RATE) + self.start + self.shift

    def _curves(self, site, instants, measured):
        """Return (n, 8), NaN where nothing was measured."""
        found = np.full((len(instants), 8), np.nan)
        known = np.isfinite(measured)
        if not known.any():
            return found
        y, at = measured[known, None], np.array(instants)[known]
        eps = self.tolerance.value * (
            np.abs(y) if self.tolerance.policy is TolerancePolicy.LITERAL else np.ones_like(y)
        )
        within = oracle.indicator(self.responses[site][at], y, eps)
        dt = (self.time[-1] - self.time[0]) / (len(self.time) - 1)
        window = round(self.window * self.step / dt)
        late = oracle.windowed(within, window, at)
        for values in late[1:]:
            values[at - at[0] < window - 1] = np.nan
        curves = [oracle.instantaneous(within), oracle.first_passage(within), oracle.accumulated(within), late]
        found[known] = np.column_stack([part for curve in curves for part in curve[1:]])
        return found


def _product(sites):
    """Return (n, 8) for (n_sites, n, 8): the mean of a product of independent means, and its deviation."""
    values, errors = sites[:, :, ::2], sites[:, :, 1::2]
    value = values.prod(axis=0)
    # E[X^2] of each is its mean squared and its variance
    error = np.sqrt(np.maximum((values**2 + errors**2).prod(axis=0) - value**2, 0.0))
    return np.stack([value, error], axis=2).reshape(len(value), 8)


@st.composite
def cases(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    samples, steps = draw(st.sampled_from([(1, 1), (1, 1), (2, 1), (7, 1), (1, 3)]))
    n_times, m, n_sites = draw(st.integers(2, 30)), draw(st.sampled_from([1, 2, 40])), draw(st.integers(1, 3))
    n, first = draw(st.integers(1, 150)), draw(st.sampled_from([0, 0, 1, 13, 90]))
    time = (np.arange(n_times) * samples / steps + draw(st.sampled_from([0, 21]))) / RATE
    responses = [np.sin(9.0 * time)[:, None] + 0.3 * rng.normal(size=(n_times, m)) for _ in range(n_sites)]
    record = np.sin(9.0 * (first + np.arange(n)) / RATE)[:, None] + 0.2 * rng.normal(size=(n, n_sites))
    record[rng.random(record.shape) < draw(st.sampled_from([0.0, 0.2]))] = np.nan
    lost = np.repeat(rng.random(n) < draw(st.sampled_from([0.0, 0.3])), draw(st.sampled_from([1, 9])))[:n]
    lost[rng.integers(n)] = False
    return Case(
        time,
        responses,
        Tolerance(
            *draw(
                st.sampled_from(
                    [(TolerancePolicy.ABSOLUTE, 0.4), (TolerancePolicy.LITERAL, 0.7), (TolerancePolicy.ABSOLUTE, 9.0)]
                )
            )
        ),
        draw(st.sampled_from([1, 4, 100])),
        max(samples, samples / steps) / RATE,
        draw(st.integers(-40, 40)),
        draw(st.integers(-2, 2)),
        draw(st.sampled_from([1, 1, 3, 8])),
        first,
        record,
        lost,
    )


def rows(case, blocks, settings=None):
    """Return {sample number: row} of what the engine tells of the model."""
    monitor, found = Monitor(settings or IndicatorSettings(every=case.every), case.plan), {}
    for block in blocks:
        results = monitor.update(block).results
        assert results.values.flags.c_contiguous
        for i, values in enumerate(results.values):
            found[results.index + i * case.every] = values
    return found


def assert_same(found, expected):
    assert list(found) == list(expected)
    for number, row in expected.items():
        np.testing.assert_array_equal(np.isnan(found[number]), np.isnan(row), err_msg=f"sample {number}")
        np.testing.assert_allclose(found[number], row, rtol=1e-12, atol=1e-7, err_msg=f"sample {number}")


@given(case=cases(), edges=st.lists(st.integers(0, 150), max_size=8))
def test_rows_are_the_definition(case, edges):
    assert_same(rows(case, case.blocks(edges)), case.expected())


@given(case=cases(), edges=st.lists(st.integers(0, 150), max_size=8))
def test_no_cut_no_heartbeat_and_no_repetition_changes_a_bit(case, edges):
    whole = rows(case, case.blocks([]))
    troubled = []
    for block in case.blocks(edges):
        nothing = np.empty((0, block.samples.shape[1]))
        troubled += [SignalBlock(block.stream, block.index, block.time, nothing), block, block]
    for blocks in (troubled, case.blocks(range(150))):
        found = {}
        monitor = Monitor(IndicatorSettings(every=case.every), case.plan)
        for block in blocks:
            results = monitor.update(block).results
            if results is not None:
                found |= {results.index + i * case.every: values for i, values in enumerate(results.values)}
        assert list(found) == list(whole)
        np.testing.assert_array_equal(list(found.values()), list(whole.values()))


def plain_case(n=90, n_sites=1, **changes):
    """Return a case in which nothing goes wrong, an instant a sample."""
    rng = np.random.default_rng(3)
    time = np.arange(60) / RATE
    responses = [np.sin(9.0 * time)[:, None] + 0.3 * rng.normal(size=(60, 50)) for _ in range(n_sites)]
    record = np.sin(9.0 * np.arange(n) / RATE)[:, None] + 0.2 * rng.normal(size=(n, n_sites))
    kept = np.zeros(n, dtype=bool)
    case = Case(time, responses, Tolerance(TolerancePolicy.ABSOLUTE, 0.4), 5, 1 / RATE, 0, 0, 1, 0, record, kept)
    return replace(case, **changes)


def test_columns_say_what_they_are():
    case = plain_case(n_sites=2)
    (block,) = case.blocks([])
    columns = Monitor(plan=case.plan).update(block).results.stream.columns
    sites = [(name, site) for site in ("y1", "y0") for name in (*BAND, *CURVES)]
    together = [(name, "all sites") for name in (*CURVES, "reliability_decision")]
    assert [(c.name, c.actuator) for c in columns] == sites + together
    assert {c.unit for c in columns if c.name in BAND} == {"m"}
    assert {c.unit for c in columns if c.name not in BAND} == {"1"}
    case = plain_case()
    (block,) = case.blocks([])
    columns = Monitor(plan=case.plan).update(block).results.stream.columns
    assert [(c.name, c.actuator) for c in columns] == [(n, "y0") for n in (*BAND, *CURVES, "reliability_decision")]


def test_a_restart_is_a_fresh_start_and_a_clock_jump_changes_nothing():
    case = plain_case()
    early, late = case.blocks([40])
    monitor = Monitor(plan=case.plan)
    monitor.update(early)
    jumped = monitor.update(replace(late, time=late.time + 5.0)).results
    np.testing.assert_array_equal(list(rows(case, case.blocks([40])).values())[40:], jumped.values)
    again = monitor.update(replace(early, stream=replace(early.stream, epoch=2)))
    fresh = Monitor(plan=case.plan).update(replace(early, stream=replace(early.stream, epoch=2)))
    np.testing.assert_array_equal(again.results.values, fresh.results.values)


@pytest.mark.parametrize("measures", [("fdb", "nrmse", "transfer"), ("transfer",)])
def test_beside_actuators_nothing_of_either_changes(measures):
    case = plain_case(n=400)
    t = np.arange(400) / RATE
    pair = np.column_stack([np.sin(40.0 * t), 0.9 * np.sin(40.0 * t - 0.3)])
    channels = (Channel("c", Role.COMMAND, "m", "north"), Channel("m", Role.MEASURED, "m", "north"))
    stream = Stream("rig", 1, RATE, (*channels, *case.stream.channels))
    settings = IndicatorSettings(window=0.5, transfer_segment=1.0, measures=measures, bandpass=(0.5, 20.0), every=3)
    both, alone = Monitor(settings, case.plan), Monitor(settings)
    model = rows(replace(case, every=3), case.blocks([]))
    for a, b in itertools.pairwise([0, 100, 101, 103, 250, 400]):
        block = SignalBlock(stream, a, a / RATE, np.column_stack([pair, case.samples])[a:b])
        together, actuators = both.update(block), alone.update(block)
        told = actuators.results
        n_columns = 0 if told is None else len(told.stream.columns)
        if told is not None:
            assert together.results.stream.columns[:n_columns] == told.stream.columns
            np.testing.assert_array_equal(together.results.values[:, :n_columns], told.values)
        expected = [row for number, row in model.items() if a <= number < b]
        np.testing.assert_array_equal(together.results.values[:, n_columns:], np.reshape(expected, (-1, 12)))
        assert (together.transfer is None) == (actuators.transfer is None)
        if together.transfer is not None:
            np.testing.assert_array_equal(together.transfer.values, actuators.transfer.values)


def test_nothing_is_compiled_after_the_warm_up(tmp_path):
    before = [len(kernel.signatures) for kernel in KERNELS]
    assert all(before)
    case = plain_case()
    path = tmp_path / "mapped.h5"
    writer = EnsembleWriter(path, case.time, 500, unit="m", quantity="y0")
    writer.write(np.tile(case.responses[0], 10))
    writer.finish()
    mapped = read_ensemble(path)
    # mapped, not loaded
    assert isinstance(mapped.response.base, np.memmap) and isinstance(mapped.order.base, np.memmap)
    profile = np.full(len(case.time), 0.3)
    for tolerance in (
        Tolerance(TolerancePolicy.ABSOLUTE, 0.3),
        Tolerance(TolerancePolicy.LITERAL, 0.3),
        Tolerance(TolerancePolicy.PEAK, 0.3, np.array([1.0])),
        Tolerance(TolerancePolicy.VARYING, profile=profile),
    ):
        for ensemble in (mapped, case.plan.sites[0].ensemble):
            monitor = Monitor(plan=ReliabilityPlan((ValidationSite("y0", ensemble, tolerance),)))
            case.samples[7] = np.nan
            for block in case.blocks([1, 2, 30]):
                block.samples.flags.writeable = False
                monitor.update(block)
    assert [len(kernel.signatures) for kernel in KERNELS] == before


def an_ensemble(time):
    return sort_ensemble(time, np.zeros((len(time), 1)), name="deflection")


@given(
    ratio=st.sampled_from([(1, 1), (4, 1), (20, 1), (1, 3), (1, 20)]),
    rate=st.sampled_from([50.0, 1000.0, 1024.0, 100.0 / 3.0, 20_000.0]),
    n_times=st.integers(2, 60),
    begins=st.integers(-50, 50),
    start=st.integers(-200, 200),
    shift=st.integers(-3, 3),
    first=st.integers(0, 300),
    n=st.integers(0, 300),
)
def test_a_sample_is_judged_where_an_instant_has_its_time(ratio, rate, n_times, begins, start, shift, first, n):
    dt = ratio[0] / ratio[1] / rate
    time = begins / rate + dt * np.arange(n_times)
    found = map_samples(an_ensemble(time), rate, start / rate, shift / rate)
    numbers, instants = found.select(first, n)
    assert numbers.dtype == instants.dtype == np.int64
    on_time = np.abs(time[:, None] + (start + shift) / rate - np.arange(first, first + n) / rate) < 1e-3 * dt
    expected_instants, columns = np.nonzero(on_time)
    np.testing.assert_array_equal(instants, expected_instants)
    np.testing.assert_array_equal(numbers, columns + first)
    assert abs(found.offset) < 1e-9
    # everything that is judged at all, and no more
    everything, _ = found.select(found.origin, 60 * 20 + 1)
    assert len(everything) == found.n_assessed == len(range(0, n_times, ratio[1]))
    assert found.end == everything[-1] + max(1, ratio[0])


@given(cuts=st.lists(st.integers(0, 400), max_size=8))
def test_no_instant_is_lost_or_doubled_at_a_cut(cuts):
    found = map_samples(an_ensemble(0.02 * np.arange(12)), 1000.0, 0.05, 0.0)
    edges = [0, *sorted(cuts), 400]
    parts = [found.select(a, b - a) for a, b in itertools.pairwise(edges)]
    np.testing.assert_array_equal(np.concatenate([numbers for numbers, _ in parts]), 50 + 20 * np.arange(12))
    np.testing.assert_array_equal(np.concatenate([instants for _, instants in parts]), np.arange(12))


@pytest.mark.parametrize(
    ("start", "origin", "offset"), [(0.0104, 10, 0.0004), (0.0106, 11, -0.0004), (-0.0021, -2, -1e-4)]
)
def test_between_samples_the_nearest_is_taken_and_the_rest_is_told(start, origin, offset):
    found = map_samples(an_ensemble(0.001 * np.arange(9)), 1000.0, start, 0.0)
    assert found.origin == origin
    assert found.offset == pytest.approx(offset, rel=1e-6)


@pytest.mark.parametrize(
    # samples from one instant to the next, and how many of either step the last is off: under half of the smaller
    ("ratio", "drift", "fits"),
    [
        *((1.0, drift, abs(drift) < 0.5) for drift in (0.0, 0.05, -0.4, 0.49, 0.51, -0.6)),
        *((50.0, drift, abs(drift) < 0.5) for drift in (0.05, -0.4, 0.51, 5.0)),
        *((0.02, drift, abs(drift) < 0.01) for drift in (0.005, -0.009, 0.011, 0.1)),
    ],
)
@pytest.mark.parametrize("start", [0.0, 0.0003, 0.0047])
def test_a_drift_of_half_the_smaller_step_fits_and_its_most_is_told(ratio, drift, fits, start):
    rate, n_times = 1000.0, 501
    time = (ratio + drift / (n_times - 1)) / rate * np.arange(n_times)
    ensemble = an_ensemble(time)
    if not fits:
        with pytest.raises(ValueError, match="one must be a multiple of the other"):
            map_samples(ensemble, rate, start, 0.0)
        return
    found = map_samples(ensemble, rate, start, 0.0)
    numbers, instants = found.select(-10, 60 * n_times)
    assert len(numbers) == found.n_assessed
    off = time[instants] + start - numbers / rate
    most = off[np.argmax(np.abs(off))]
    assert abs(found.offset) == pytest.approx(abs(most), abs=1e-9)
    assert abs(most) <= (0.5 + 0.5 * abs(drift) + 1e-6) / rate


@pytest.mark.parametrize(
    ("dt", "rate"),
    [
        (0.02, 1024.0),
        (0.02, 60.0),
        (0.001, 997.0),
        (0.0015, 1000.0),
        (1.0, 1e6),
        (1e-6, 1.0),
        (1e300, 1e300),
        (1e-310, 1.0),
    ],
)
def test_a_rate_that_does_not_fit_is_told_in_one_line(dt, rate):
    with pytest.raises(
        ValueError, match=r"deflection has a time step of .* one must be a multiple of the other"
    ) as problem:
        map_samples(an_ensemble(dt * np.arange(200)), rate, 0.0, 0.0)
    assert "\n" not in str(problem.value)


def test_steps_that_are_not_equal_and_a_start_that_is_nowhere():
    with pytest.raises(ValueError, match="time steps are not equal"):
        map_samples(an_ensemble(np.array([0.0, 0.1, 0.3])), 10.0, 0.0, 0.0)
    with pytest.raises(ValueError, match="a single instant"):
        map_samples(an_ensemble(np.array([0.0])), 10.0, 0.0, 0.0)
    for start in (1e300, -1e17, np.inf, np.nan):
        with pytest.raises(ValueError, match="give a nearer start"):
            map_samples(an_ensemble(0.1 * np.arange(3)), 10.0, start, 0.0)
