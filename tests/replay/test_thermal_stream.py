"""The thermal experiment as a stream: time-scaled, and judged by its ensemble while it runs."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.config import IndicatorSettings, ReliabilityLimits, ReliabilitySettings
from monitor.engine.monitor import Monitor
from monitor.ensembles.plan_files import open_plan
from replay.simulations import simulation
from replay.simulations.models import ensemble_model, simulate_ensemble
from sim.ensembles import replicates
from sim.models.thermal_tables import accreditation_runs


@pytest.fixture(scope="module")
def ensemble(warm_kernels, tmp_path_factory):
    path = tmp_path_factory.mktemp("ensemble") / "thermal.h5"
    simulate_ensemble(ensemble_model("thermal"), 1024, 1, path)
    return path


def test_the_stream_is_the_experiment_fifty_times_as_fast():
    good, bad = (simulation(name, seed=4) for name in ("thermal", "thermal-bad"))
    model = ensemble_model("thermal")
    assert (good.stream.rig, good.stream.sample_rate, good.duration) == ("thermal", 10.0, pytest.approx(20.1))
    (channel,) = good.stream.channels
    assert (channel.name, channel.unit) == ("temperature", "degC")
    np.testing.assert_array_equal(good.samples, replicates(model, 1, 4))
    np.testing.assert_array_equal(bad.samples, replicates(model, 1, 4, bad=True))


def test_what_the_paper_measured_is_streamed_as_it_is_printed():
    recording = simulation("thermal-paper")
    assert recording.stream.sample_rate == 1.0  # 50 s apart, 50 times as fast
    np.testing.assert_array_equal(recording.samples, accreditation_runs()["front"].temperature[:, :1])
    assert simulation("thermal-paper", duration=5.0).n_samples == 6
    with pytest.raises(ValueError, match=r"the thermal experiment lasts 20 s$"):
        simulation("thermal-paper", duration=21.0)


@pytest.mark.parametrize(
    ("name", "step", "verdict"), [("thermal", 1, 1.0), ("thermal-bad", 1, -1.0), ("thermal-paper", 10, 1.0)]
)
def test_reliabilities_come_while_it_runs(ensemble, name, step, verdict):
    limits = ReliabilityLimits(accumulated=(0.7, 0.85), first_passage=(0.05, 0.3))
    settings = ReliabilitySettings(channel="temperature", ensemble=str(ensemble), tolerance="15%", limits=limits)
    monitor, recording = Monitor(IndicatorSettings(), open_plan(settings)), simulation(name)
    results = [monitor.update(block).results for block in recording.blocks(7)]
    values = np.concatenate([each.values for each in results])
    column = [each.name for each in results[0].stream.columns].index
    # the definition, at every instant that has a sample
    response = np.hstack([ensemble_model("thermal").realize(_generator(), 1024)])[::step]
    measured = recording.samples
    within = np.abs(response - measured) < 0.15 * np.abs(measured)
    alive = np.logical_and.accumulate(within)
    for metric, expected in (
        ("instantaneous", within.mean(axis=1)),
        ("first_passage", alive.mean(axis=1)),
        ("accumulated", np.cumsum(within.mean(axis=1)) / np.arange(1, len(within) + 1)),
    ):
        np.testing.assert_allclose(values[:, column(f"reliability_{metric}")], expected, atol=1e-12)
    assert values[-1, column("reliability_decision")] == verdict


def _generator():
    """Of the first block of realizations of seed 1."""
    return np.random.default_rng(np.random.SeedSequence(1, spawn_key=(0,)))
