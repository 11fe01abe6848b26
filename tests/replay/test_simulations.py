"""The simulations by name, and what was injected beside what the real engine indicates of them."""

import argparse
import math
from functools import cache

import numpy as np
import pytest

from monitor.commands.options import limits_given
from monitor.config import IndicatorSettings
from monitor.engine.monitor import Monitor
from monitor.messages.blocks import Role
from monitor.recording import RunWriter
from monitor.reliability.ensemble import sort_ensemble
from monitor.reliability.plan import ModelVerdict, ReliabilityEstimate, decide, map_samples
from monitor.reliability.site import SiteReliability
from monitor.reliability.tolerance import Tolerance, TolerancePolicy
from replay.commands.truth_table import compare_with_truth
from replay.formats import RecordingError
from replay.simulations import names, simulation, simulations
from replay.simulations.models import MODELS, ensemble_model, realizations
from sim.cases.tracking_cases import CASES, tracking_case
from sim.laboratory.actuator import amplitude_ratio, equivalent_delay, phase_error
from sim.laboratory.plants import BenchmarkPlant

UNITS = {"command": "m", "measured": "m", "force": "N", "true_ratio": "1", "true_phase": "rad", "true_delay": "s"}


@pytest.mark.parametrize(("name", "actuators", "rate"), [
    ("hybrid", ["north", "south", "roof"], 1024.0),
    ("plant", ["plant"], 4096.0),
])  # fmt: skip
def test_a_simulation_is_a_recording_with_its_truth(name, actuators, rate):
    recording = simulation(name, duration=2.0)
    stream = recording.stream
    assert (stream.rig, stream.sample_rate, recording.n_samples) == (name, rate, 2 * rate)
    assert [pair.actuator for pair in stream.pairs] == actuators
    assert all(pair.force is not None for pair in stream.pairs)
    assert [channel.name for channel in stream.channels] == [f"{a}.{what}" for a in actuators for what in UNITS]
    for channel in stream.channels:
        assert channel.unit == UNITS[channel.name.split(".")[1]]
        assert (channel.role is Role.AUXILIARY) == (".true_" in channel.name) == (channel.actuator == "")
    samples = np.vstack([block.samples for block in recording.blocks(999)])
    assert np.isfinite(samples).all()


def test_the_seed_decides():
    one, same, other = (simulation("hybrid", duration=1.0, seed=seed).samples for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


def test_an_unknown_name_is_answered_with_those_there_are():
    experiments = "beam", "beam-bad", "sandia", "sandia-bad", "thermal", "thermal-bad"
    chains = [f"{chain}{how}" for chain in ("duffing", "four-dof", "eight-dof", "impact") for how in ("", "-damaged")]
    assert names() == ("hybrid", "plant", *experiments, *chains, "thermal-paper", *(f"case-{case}" for case in CASES))
    with pytest.raises(
        RecordingError, match=r"^there is no simulation 'hydrib': choose beam or .* or thermal-paper$"
    ):
        simulation("hydrib")


@pytest.mark.parametrize("duration", [0.0, -1.0, 1e-9, math.nan, math.inf])
@pytest.mark.parametrize("name", ["hybrid", "plant"])
def test_a_duration_must_be_one(name, duration):
    with pytest.raises(ValueError, match=r"^simulation duration [^\n]*$"):
        simulation(name, duration=duration)


@pytest.mark.parametrize("name", CASES)
def test_a_case_of_the_paper_is_streamed_with_its_truth(name):
    case, recording = tracking_case(name, seed=3), simulation(f"case-{name}", seed=3)
    assert recording.n_samples == len(case.time)
    assert recording.stream.sample_rate == case.sample_rate
    channels = [channel.name for channel in recording.stream.channels]
    for column, values in (("command", case.command), ("measured", case.measured), ("true_delay", case.true_delay)):
        np.testing.assert_array_equal(recording.samples[:, channels.index(f"actuator.{column}")], values)
    assert ("actuator.force" in channels) == (case.force is not None)
    assert simulation(f"case-{name}", duration=2.0).n_samples == 2.0 * case.sample_rate
    with pytest.raises(ValueError, match=rf"^simulation duration 99 s: case \({name}\) lasts "):
        simulation(f"case-{name}", duration=99.0)


def test_the_truth_of_the_plant_is_its_response_at_the_frequency_of_the_sweep():
    recording = simulation("plant", duration=7.0)
    dt = 1.0 / 4096.0
    for time in (0.0, 1.0, 3.3, 6.9):
        frequency = 1.0 + time  # 1 to 8 Hz in 7 s
        row = recording.samples[round(time / dt)]
        response = BenchmarkPlant().response(frequency, dt)
        expected = amplitude_ratio(response), phase_error(response), equivalent_delay(response, frequency)
        np.testing.assert_allclose(row[3:], expected, rtol=2e-4)


def recorded(tmp_path, name, duration, window, every=16):
    path = tmp_path / "run.h5"
    monitor = Monitor(IndicatorSettings(window=window, every=every))
    writer = RunWriter(path, {"indicators": {"window": window}})
    for block in simulation(name, duration=duration).blocks(500):
        update = monitor.update(block)
        writer.signals(update.signals)
        writer.results(update.results)
    writer.close()
    return path


def test_what_is_indicated_is_what_was_injected(tmp_path, warm_kernels):
    intervals = compare_with_truth(recorded(tmp_path, "hybrid", 24.0, 2.0), ramp=2.0)
    assert [(s.actuator, s.start, s.stop, s.slides) for s in intervals] == [
        ("north", 0.0, pytest.approx(8.0, abs=0.01), False),
        ("north", pytest.approx(8.5, abs=0.01), pytest.approx(16.0, abs=0.01), False),
        ("north", pytest.approx(16.5, abs=0.01), 24.0, False),
        ("south", 0.0, pytest.approx(12.0, abs=0.01), False),
        ("south", pytest.approx(12.5, abs=0.01), 24.0, False),
        ("roof", 0.0, pytest.approx(8.0, abs=0.01), False),
        ("roof", pytest.approx(8.0, abs=0.01), pytest.approx(16.0, abs=0.01), True),
        ("roof", pytest.approx(16.0, abs=0.01), 24.0, False),
    ]
    injected = [0.012, 0.025, -0.002, 0.0, 0.00798, 0.005, 0.0175, 0.030]
    for interval, delay in zip(intervals, injected, strict=True):
        assert interval.injected.delay == pytest.approx(delay, abs=5e-5)
        assert list(interval.indicated) == ["broadband", "fdb", "paei"]
        for name, indicated in interval.indicated.items():
            # where the delay slides, broadband is as old as its last evaluation
            least = {"broadband": 1e-3}.get(name, 5e-4) if interval.slides else 5e-4
            assert indicated.delay == pytest.approx(interval.injected.delay, abs=least)
            assert indicated.ratio == pytest.approx(interval.injected.ratio, rel=1e-2)


def test_a_part_too_short_for_a_window_has_no_value(tmp_path, warm_kernels):
    intervals = compare_with_truth(recorded(tmp_path, "hybrid", 9.0, 1.9), ramp=1.5)
    north = [interval for interval in intervals if interval.actuator == "north"]
    assert [math.isnan(interval.indicated["broadband"].delay) for interval in north] == [True, True, True]
    assert math.isnan(north[0].injected.ratio)
    assert not math.isnan(next(s for s in intervals if s.actuator == "south" and s.start > 0).indicated["paei"].ratio)


def test_a_run_without_truth_is_refused(tmp_path):
    from monitor.messages.blocks import Channel, SignalBlock, Stream

    channels = (Channel("c", Role.COMMAND, "m", "a"), Channel("m", Role.MEASURED, "m", "a"))
    writer = RunWriter(tmp_path / "run.h5", {})
    writer.signals(SignalBlock(Stream("rig", 1, 100.0, channels), 0, 0.0, np.ones((9, 2))))
    writer.close()
    with pytest.raises(RecordingError, match="no injected truth to compare with"):
        compare_with_truth(tmp_path / "run.h5")


@pytest.mark.parametrize(
    ("name", "instant", "large"),
    [
        ("i", 3.0, True),
        ("ii-a", 5.0, True),
        ("ii-b", 5.0, True),
        ("iii", 4.0, True),
        ("iii", 6.0, True),
        ("iv", 15.0, False),
        ("v", 10.0, True),
        ("vi", 5.0, True),
    ],
)
def test_the_line_about_a_case_tells_its_truth(name, instant, large):
    said = next(each.summary for each in simulations() if each.name == f"case-{name}")
    case = tracking_case(name)
    at = int(instant * case.sample_rate)
    delay, excess = 1e3 * case.true_delay[at], 100.0 * (1.0 / case.true_ratio[at] - 1.0)
    assert (f"{delay:.0f} ms late" if delay > 0.0 else f"leads by {-delay:.0f} ms") in said
    if large:
        assert f"{abs(excess):.0f} % too {'large' if excess > 0.0 else 'small'}" in said


def test_the_line_about_case_vii_tells_when_it_lags():
    said = next(each.summary for each in simulations() if each.name == "case-vii")
    case = tracking_case("vii")
    late = case.time[case.true_delay > 0.0]
    assert f"leads, is late from {late[0]:.0f} to {late[-1]:.0f} s, leads again" in said


def test_a_menu_of_simulations_has_groups_and_what_judges_them():
    found = simulations()
    assert tuple(each.name for each in found) == names()
    groups = [each.group for each in found]
    assert groups == sorted(groups, key=groups.index)  # those of a group stand together
    assert set(groups) == {"Hybrid tests", "Model validation", "Cases of the paper on tracking indicators"}
    judged = {each.name: each.model for each in found if each.model is not None}
    described_badly = {name for name in judged if name.endswith(("-bad", "-damaged"))}
    assert set(judged) == {*MODELS, "thermal-paper"} | described_badly
    assert {name.rpartition("-")[0] for name in described_badly} == set(MODELS)
    for name, how in judged.items():
        recording = simulation(name)
        assert how.model in MODELS
        assert how.response in [channel.name for channel in recording.stream.channels]
        assert how.policy in {policy.value for policy in TolerancePolicy}
        assert set(limits_given(argparse.Namespace(limit=how.limits))) == {"accumulated", "first_passage"}


@cache
def ensemble_of(name):
    model = ensemble_model(name)
    # of a model that takes long fewer do
    number = model.block if model.block < 1024 else 2000
    return sort_ensemble(model.time, np.hstack(list(realizations(model, number, 7))))


@pytest.mark.parametrize(
    ("name", "decision"),
    [
        ("beam", ModelVerdict.ACCEPT),
        ("beam-bad", ModelVerdict.REJECT),
        ("sandia", ModelVerdict.ACCEPT),
        ("sandia-bad", ModelVerdict.REJECT),
        ("thermal", ModelVerdict.ACCEPT),
        ("thermal-bad", ModelVerdict.REJECT),
        ("thermal-paper", ModelVerdict.ACCEPT),
        ("duffing", ModelVerdict.ACCEPT),
        ("duffing-damaged", ModelVerdict.REJECT),
        ("four-dof", ModelVerdict.ACCEPT),
        ("four-dof-damaged", ModelVerdict.REJECT),
        ("eight-dof", ModelVerdict.ACCEPT),
        ("eight-dof-damaged", ModelVerdict.REJECT),
        ("impact", ModelVerdict.ACCEPT),
        ("impact-damaged", ModelVerdict.REJECT),
    ],
)
def test_a_model_that_is_judged_as_offered_is_judged_rightly(name, decision):
    how = next(each.model for each in simulations() if each.name == name)
    recording = simulation(name)
    column = [channel.name for channel in recording.stream.channels].index(how.response)
    ensemble = ensemble_of(how.model)
    numbers, instants = map_samples(ensemble, recording.stream.sample_rate, 0.0, 0.0).select(0, recording.n_samples)
    measured = recording.samples[numbers][:, [column]]
    tolerance = Tolerance.from_records(
        TolerancePolicy(how.policy), float(how.tolerance.rstrip("%")) / 100.0, measured
    )
    found = SiteReliability(ensemble, tolerance).update(instants, measured).reliability
    last = {each: getattr(found, each) for each in ("accumulated", "first_passage")}
    estimates = {each: ReliabilityEstimate(curve.value[-1], curve.standard_error[-1]) for each, curve in last.items()}
    assert decide(estimates, limits_given(argparse.Namespace(limit=how.limits))).verdict is decision


@pytest.mark.parametrize(
    ("name", "duration", "first"),
    [
        ("hybrid", 1e5, 512),
        ("plant", 1e5, 1024),
        ("case-iv", 30.0, 512),
        ("case-vii", 30.0, 512),
        ("duffing", 600.0, 151),
        ("eight-dof-damaged", 60.0, 8192),
    ],
)
def test_no_more_of_a_long_simulation_is_computed_than_is_read(name, duration, first, warm_kernels):
    recording = simulation(name, duration=duration)
    blocks = recording.blocks(10)
    next(blocks)
    computed = recording.computed
    assert 0 < computed <= first < recording.n_samples
    for _ in range(first // 10 + 1):
        next(blocks)
    assert first < recording.computed <= first + 1024


def test_a_beam_of_a_minute_factors_no_matrix(monkeypatch):
    monkeypatch.setattr(np.linalg, "eigh", None)
    samples = simulation("beam", duration=60.0).samples
    assert samples.shape == (3001, 1) and np.isfinite(samples).all()
