"""How far chance moves the compared figures: runs of one rig that differ by noise alone, and parts of runs."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.signal import lfilter

from monitor.config import IndicatorSettings
from monitor.messages.blocks import Channel, Role, Stream
from replay.assessment import assess
from replay.comparison import AssessedRun, Quantity, assess_run, compare_runs
from replay.comparison.quantities import TrackedPart, compare_parts
from replay.formats import ArrayRecording
from replay.formats.parts import RecordingPart

RATE, DELAY, GAIN, NOISE = 64.0, 0.012, 0.97, 0.05
SETTINGS = IndicatorSettings(window=1.0, every=4, measures=("fdb", "broadband"))
QUICK = SETTINGS.model_copy(update={"measures": ("fdb",)})
KINDS = "sine", "noise", "earthquake"

pytestmark = pytest.mark.usefixtures("warm_kernels")


def motion(kind: str, rng: np.random.Generator, seconds: float):
    """Return a motion as a function of how late it is, s; that of an earthquake grows and decays."""
    t = np.arange(round(seconds * RATE)) / RATE
    if kind == "sine":
        return lambda late: np.sin(2.0 * np.pi * 1.3 * (t - late))
    n = 4 * t.size
    f = np.fft.rfftfreq(n, 1.0 / RATE)
    spectrum = (rng.normal(size=f.size) + 1j * rng.normal(size=f.size)) * ((f > 0.3) & (f < 5.0))
    if kind == "earthquake":
        # the ground of Kanai and Tajimi, 1.8 Hz
        ratio = (f / 1.8) ** 2
        spectrum *= np.sqrt((1.0 + 1.44 * ratio) / ((1.0 - ratio) ** 2 + 1.44 * ratio))
    size = float(np.std(np.fft.irfft(spectrum, n)))

    def late(by: float) -> np.ndarray:
        x = np.fft.irfft(spectrum * np.exp(-2j * np.pi * f * by), n)[: t.size] / size
        grown = np.clip((t - by) / (0.1 * seconds), 0.0, 1.0)
        decayed = np.exp(-np.clip(t - by - 0.3 * seconds, 0.0, None) / (0.2 * seconds))
        return x * grown * decayed if kind == "earthquake" else x

    return late


def coloured(rng: np.random.Generator, n: int, memory: float) -> np.ndarray:
    white = rng.normal(0.0, math.sqrt(1.0 - memory**2), n + 400)
    return lfilter([1.0], [1.0, -memory], white)[400:]


def run(
    rng: np.random.Generator,
    late,
    actuators: int,
    delay: float | np.ndarray = DELAY,
    settings: IndicatorSettings = SETTINGS,
    noise: float = NOISE,
    memory: float = 0.0,
) -> AssessedRun:
    """A run of several actuators with one motion, each with noise of its own on measured, white or AR(1)."""
    command, measured = late(0.0), GAIN * late(delay)
    columns = [
        Channel(f"{i}.{role}", role, "mm", str(i)) for i in range(actuators) for role in (Role.COMMAND, Role.MEASURED)
    ]
    samples = [
        each for _ in range(actuators) for each in (command, measured + noise * coloured(rng, measured.size, memory))
    ]
    recording = ArrayRecording(Stream("rig", 1, RATE, tuple(columns)), np.column_stack(samples))
    return assess_run(Path("run.csv"), recording, settings)


def check_noise_alone(kind: str, settings: IndicatorSettings, keys: tuple[str, ...], memory: float = 0.0) -> None:
    """80 pairs of runs: at 5 %, 4 are expected, and 11 or more have a probability of 0.2 %."""
    found: dict[str, list[Quantity]] = {}
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        late = motion(kind, rng, 30.0)
        compared = compare_runs(*(run(rng, late, 40, settings=settings, memory=memory) for _ in range(2)), lag=0.0)
        for quantity in (each for actuator in compared.actuators for each in actuator.quantities):
            found.setdefault(quantity.key, []).append(quantity)
    for key in keys:
        assert len(found[key]) == 80
        assert all(each.estimate.paired for each in found[key])
        assert sum(each.probability < 0.05 for each in found[key]) <= 10, key
        # and not for being too wide: 40 are expected, and the standard deviation is known to 8 %
        assert sum(each.probability < 0.5 for each in found[key]) >= 28, key
        told = np.sqrt(np.mean([each.estimate.difference_sd**2 for each in found[key]]))
        assert 0.75 < told / np.std([each.difference for each in found[key]]) < 1.35, key
    assert all(math.isnan(each.probability) for each in found["peak_error_percent"])


@pytest.mark.parametrize(("kind", "memory"), [*((kind, 0.0) for kind in KINDS), ("noise", 0.98)])
def test_noise_alone_is_significant_in_one_of_twenty_runs(kind, memory) -> None:
    check_noise_alone(kind, QUICK, ("fdb_delay_ms", "fdb_ratio", "rms_error_percent"), memory)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "memory"), [*((kind, 0.0) for kind in KINDS), ("noise", 0.98)])
def test_noise_alone_is_significant_in_one_of_twenty_headlines(kind, memory) -> None:
    check_noise_alone(kind, SETTINGS, ("delay_ms", "ratio"), memory)


def test_two_runs_that_drift_alike_differ_by_what_they_differ_at_each_instant() -> None:
    """Between 7 and 13 ms in both, one 1 ms later: the medians say 1 ± 2 ms."""
    rng = np.random.default_rng(4)
    t, f, starts = np.arange(round(40.0 * RATE)) / RATE, rng.uniform(0.3, 5.0, 80), rng.uniform(0.0, 6.28, 80)
    late = lambda by: np.cos(2.0 * np.pi * np.outer(t - by, f) + starts).sum(axis=1) / math.sqrt(40.0)  # noqa: E731
    drift = 0.010 + 0.003 * np.sign(np.sin(2.0 * np.pi * t / 20.0))
    one, two = (run(rng, late, 2, delay, noise=0.005) for delay in (drift, drift + 0.001))
    for actuator in compare_runs(one, two, lag=0.0).actuators:
        delay = actuator.quantity("delay_ms")
        assert delay.estimate.sd > 0.5
        assert delay.difference == pytest.approx(1.0, abs=4.0 * delay.estimate.difference_sd)
        assert delay.estimate.difference_sd < 0.05
        assert delay.probability < 1e-3
        assert actuator.pairing == f"{actuator.actuator}: differences are those at the same instants of one motion"


def test_runs_of_two_motions_are_not_paired_and_that_is_said() -> None:
    rng = np.random.default_rng(7)
    one, two = (run(rng, motion("noise", rng, 30.0), 1) for _ in range(2))
    (actuator,) = compare_runs(one, two, lag=0.0).actuators
    delay = actuator.quantity("delay_ms")
    assert actuator.pairing == "0: differences are those of the values of two independent runs: not one motion"
    assert delay.difference == delay.value - delay.reference
    assert delay.estimate.difference_sd == pytest.approx(math.hypot(delay.estimate.sd, delay.estimate.reference_sd))


@pytest.mark.parametrize("kind", KINDS)
def test_a_small_change_of_the_delay_is_found(kind) -> None:
    """By 2 ms: several of the standard deviations that noise gives."""
    rng = np.random.default_rng(3)
    late = motion(kind, rng, 30.0)
    found = compare_runs(run(rng, late, 4), run(rng, late, 4, DELAY + 0.002), lag=0.0)
    delays = [{each.key: each for each in actuator.quantities}["delay_ms"] for actuator in found.actuators]
    assert np.median([each.difference for each in delays]) == pytest.approx(2.0, abs=0.4)
    assert sum(each.probability < 0.05 for each in delays) >= 3


def test_the_rms_error_of_a_random_motion_is_within_its_standard_deviation() -> None:
    """Of the error of a delay of a flat spectrum from a to b: 1 + g² - 2 g sinc, in the mean over the frequencies."""
    w = 2.0 * np.pi * DELAY
    mean = (np.sin(w * 5.0) - np.sin(w * 0.3)) / (w * 4.7)
    expected = 100.0 * math.sqrt(1.0 + GAIN**2 - 2.0 * GAIN * mean + NOISE**2)
    outside = []
    for seed in range(60):
        rng = np.random.default_rng(100 + seed)
        late = motion("noise", rng, 60.0)
        command, measured = late(0.0), GAIN * late(DELAY)
        measured = measured + rng.normal(0.0, NOISE, measured.size)
        time = np.arange(command.size) / RATE
        part = TrackedPart(time, {}, 0.1, time, command, measured)
        found = compare_parts(part, part, 60.0, 1.0, paired=True)["rms_error_percent"]
        outside.append(abs(found.reference - expected) > 2.0 * found.reference_sd)
        assert found.difference_sd == 0.0
    # 3 expected of 60; 9 or more have a probability of 0.3 %
    assert sum(outside) <= 8


def test_a_part_has_the_figures_that_assess_finds_in_it() -> None:
    rng = np.random.default_rng(5)
    late = motion("noise", rng, 30.0)
    one = run(rng, late, 2)
    samples = one.signals.samples
    settings = SETTINGS.model_copy(update={"every": 1})
    recording = ArrayRecording(one.assessment.stream, samples)
    whole = assess_run(Path("a.csv"), recording, settings)
    found = compare_runs(whole, whole, start=5.0, stop=20.0)
    assert (found.alignment.start, found.alignment.stop, found.alignment.overlap) == (5.0, 20.0, 15.0)
    part = assess(RecordingPart(recording, 5.0, 20.0), settings)
    for actuator, expected in zip(found.actuators, part.pairs, strict=True):
        known = {each.key: each for each in actuator.quantities}
        # the headline is computed once in an eighth of a window, here at other instants
        assert known["delay_ms"].value == pytest.approx(1e3 * expected.headline.delay, abs=0.05)
        assert known["fdb_ratio"].value == pytest.approx(expected.spreads["fdb_ratio"].median, rel=1e-6)
        assert known["rms_error_percent"].value == pytest.approx(expected.whole.criteria.j2)
        assert known["peak_error_percent"].value == pytest.approx(expected.whole.criteria.j3)


def test_a_stretch_of_few_windows_has_no_standard_deviations_and_says_so() -> None:
    rng = np.random.default_rng(6)
    one = run(rng, motion("noise", rng, 30.0), 1)
    found = compare_runs(one, one, stop=5.0)
    assert found.notes == ("5 s are too short for standard deviations: 7 s are needed",)
    assert all(math.isnan(each.probability) for each in found.all_quantities())
