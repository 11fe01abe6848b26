"""Pairs whose delay is known: the measured signal is the command's own closed form, later and of another size."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.known_pairs import CLASSES, DELAYS, RATIOS, UNRELATED, known_pair, known_pairs

RATE = 1024.0
QUIET = (1e-12, 1.1e-12)
every_class = pytest.mark.parametrize("name", [*CLASSES, *UNRELATED])
every_related = pytest.mark.parametrize("name", CLASSES)
# as late as their samples, too
LATE = ("held samples", "repeated samples")
every_steady = pytest.mark.parametrize("name", [name for name in CLASSES if name not in LATE])
# what disturbs neither the command nor the measured signal
UNDISTURBED = [name for name, recipe in CLASSES.items() if recipe == replace(CLASSES["tone"], motion=recipe.motion)]


@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 5), marks=pytest.mark.slow)], ids=["two", "three"])
@pytest.mark.parametrize("name", UNDISTURBED)
def test_measured_is_the_commands_own_closed_form_delayed(name, seeds):
    """Drawn again by hand: the motion first, then the delay and the ratio."""
    for seed in seeds:
        pair = known_pair(name, np.random.default_rng(seed), RATE, noise=QUIET)
        motion = CLASSES[name].motion(np.random.default_rng(seed))
        t = np.arange(len(pair.command)) / RATE
        np.testing.assert_array_equal(pair.command, motion(t))
        np.testing.assert_allclose(pair.clean, motion(t - pair.delay) / pair.ratio, atol=1e-14)
        np.testing.assert_allclose(pair.measured, pair.clean, atol=1e-10)


@every_steady
def test_delays_and_ratios_are_spread_over_their_ranges(name):
    pairs = known_pairs(name, 40, seed=1, sample_rate=64.0)
    delays, ratios = np.array([p.delay for p in pairs]), np.array([p.ratio for p in pairs])
    for found, (low, high) in ((delays, DELAYS), (ratios, RATIOS)):
        assert low <= found.min() < low + 0.2 * (high - low)
        assert high - 0.2 * (high - low) < found.max() <= high


@pytest.mark.parametrize("name", LATE)
def test_what_comes_late_is_told(name):
    """Of a signal that rises by one a second, what is missing is the delay."""
    t = np.arange(60000) / RATE
    for seed in range(5):
        found = CLASSES[name].fault(t, t, t.copy(), np.random.default_rng(seed))
        np.testing.assert_allclose(np.mean(t - found.measured), found.delay, rtol=0.1)


@pytest.mark.parametrize("hertz", [1.0, 4.0, 8.0])
def test_low_pass_is_two_equal_poles(hertz):
    turn, t = 2.0 * np.pi * hertz, np.linspace(0.0, 2.0, 400)
    rng = np.random.default_rng(4)
    follows = CLASSES["low-pass"].follow(lambda t: np.cos(turn * t), rng)
    pole = 2.0 * np.pi * 10.0 ** np.random.default_rng(4).uniform(1.3, 2.0)
    transfer = 1.0 / (1.0 + 1j * turn / pole) ** 2
    np.testing.assert_allclose(follows(t), (transfer * np.exp(1j * turn * t)).real, atol=1e-6)


@pytest.mark.parametrize("level", [1e-3, 0.1])
def test_noise_is_of_the_size_that_is_asked_for(level):
    (pair,) = known_pairs("tone", 1, noise=(level, level * 1.0001))
    np.testing.assert_allclose(np.std(pair.measured - pair.clean) / pair.clean.std(), level, rtol=0.05)


@every_class
def test_a_pair_is_the_same_whatever_the_number(name):
    few, many = (known_pairs(name, n, 3, 128.0) for n in (2, 5))
    for one, other in zip(few, many, strict=False):
        np.testing.assert_array_equal(one.command, other.command)
        np.testing.assert_array_equal(one.measured, other.measured)
        np.testing.assert_array_equal([one.delay, one.ratio], [other.delay, other.ratio])
    assert not np.array_equal(many[0].command, many[1].command)
    assert not np.array_equal(few[0].command, known_pairs(name, 1, 4, 128.0)[0].command)


@pytest.mark.parametrize("name", UNRELATED)
def test_unrelated_pairs_have_no_truth(name):
    for pair in known_pairs(name, 8):
        assert np.isnan(pair.delay) and np.isnan(pair.ratio)
        # two narrow motions are alike by chance for a while: what the class is for
        limit = 0.999 if name == "one mode, independent noises" else 0.6
        assert np.abs(np.corrcoef(pair.command, pair.measured)[0, 1]) < limit


@every_class
@pytest.mark.parametrize("rate", [100.0, 333.3, 2048.0])
def test_every_class_is_finite_at_other_rates(name, rate):
    pair = known_pair(name, np.random.default_rng(2), rate)
    assert len(pair.command) == len(pair.measured) == len(pair.clean) == round(6.0 * rate)
    assert np.isfinite([pair.command, pair.measured, pair.clean]).all()
    assert pair.command.std() > 0.01


@every_steady
def test_the_same_pair_at_another_rate_has_the_same_truth(name):
    slow, fast = (known_pair(name, np.random.default_rng(7), rate, noise=QUIET) for rate in (256.0, 1024.0))
    assert (slow.delay, slow.ratio) == (fast.delay, fast.ratio)
    np.testing.assert_allclose(slow.clean, fast.clean[::4], atol=1e-12)


def test_an_unknown_class_is_refused():
    with pytest.raises(KeyError, match="no such motion"):
        known_pair("no such motion", np.random.default_rng(0))
