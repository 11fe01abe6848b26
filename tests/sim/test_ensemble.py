"""Blocks of realizations that depend on nothing but seed and number, and synthetic measurements beside them."""

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.simulations.models import realizations
from sim.ensembles import BLOCK, AddedDiscrepancy, realization_block, replicates


@dataclass
class Toy(AddedDiscrepancy):
    """A straight line through a random point, in the open: a response shows the number that was drawn."""

    name = "toy"
    quantity = "height"
    unit = "m"
    block = BLOCK
    horizon = dt = 1.0  # s; its instants are its own
    n_times: int = 4
    noise: float = 0.0

    @property
    def time(self):
        return np.arange(float(self.n_times))

    @property
    def discrepancy(self):
        return np.where(self.time >= 1.0, 0.3 * self.time, 0.0)

    def realize(self, generator, number):
        return generator.standard_normal(number) + self.time[:, None]


@given(st.integers(1, 4 * BLOCK), st.integers(0, 5 * BLOCK), st.integers(0, 2**64))
@settings(max_examples=40, deadline=None)
def test_an_ensemble_is_its_blocks_cut_at_both_ends(n_realizations, first, seed):
    parts = list(realizations(Toy(), n_realizations, seed, first))
    alone = [realization_block(Toy(), seed, block) for block in range(-(-n_realizations // BLOCK))]
    found = np.hstack([np.empty((4, 0)), *parts])
    np.testing.assert_array_equal(found, np.hstack(alone)[:, first:n_realizations])
    for response in parts:
        assert response.flags.c_contiguous and response.dtype == np.float64 and response.shape[1] <= BLOCK


def test_blocks_made_on_threads_in_any_order_are_the_same():
    model = Toy()
    with ThreadPoolExecutor(2) as pool:
        backwards = list(pool.map(partial(realization_block, model, 7), range(5, -1, -1)))
    for block, response in enumerate(realizations(model, 6 * BLOCK, 7)):
        np.testing.assert_array_equal(backwards[5 - block], response)


def test_blocks_seeds_and_experiments_share_no_number():
    model = Toy(noise=0.0)
    drawn = [realization_block(model, seed, block)[0] for seed in (0, 1, 2**70) for block in (0, 1, 2, 1000)]
    drawn += [replicates(model, 50, seed)[0] for seed in (0, 1, 2**70)]
    every = np.concatenate(drawn)
    assert len(np.unique(every)) == len(every)
    # and are not correlated
    table = np.corrcoef([block for block in drawn if len(block) == BLOCK]) - np.eye(12)
    assert np.max(np.abs(table)) < 4.5 / math.sqrt(BLOCK)


def test_pooled_blocks_have_the_moments_within_four_standard_errors():
    every = np.concatenate([response[0] for response in realizations(Toy(), 50 * BLOCK, 3)])
    assert abs(np.mean(every)) < 4.0 / math.sqrt(len(every))
    assert abs(np.var(every) - 1.0) < 4.0 * math.sqrt(2.0 / len(every))


def test_a_replicate_is_the_same_whatever_their_number():
    model = Toy(noise=0.5)
    most = replicates(model, 7, 4)
    assert most.shape == (4, 7) and most.flags.c_contiguous
    for number in range(1, 7):
        np.testing.assert_array_equal(replicates(model, number, 4), most[:, :number])
    assert np.max(np.abs(replicates(model, 7, 5) - most)) > 0.1


def test_noise_and_discrepancy_are_where_they_belong():
    quiet, noisy = (replicates(Toy(500, noise), 400, 4) for noise in (0.0, 0.5))
    # the toy's response, and nothing else
    np.testing.assert_allclose(np.diff(quiet, axis=0), 1.0, atol=1e-12)
    noise = noisy - quiet
    assert abs(np.mean(noise)) < 4.0 * 0.5 / math.sqrt(noise.size)
    assert abs(np.std(noise) - 0.5) < 4.0 * 0.5 / math.sqrt(2.0 * noise.size)
    # white in time, and from one replicate to the next
    for lagged in (noise[1:] * noise[:-1], noise[:, 1:] * noise[:, :-1]):
        assert abs(np.mean(lagged)) < 4.0 * 0.25 / math.sqrt(lagged.size)
    bad = replicates(Toy(500, 0.5), 400, 4, bad=True)
    discrepancy = 0.3 * np.arange(500.0)
    discrepancy[0] = 0.0
    np.testing.assert_array_equal(bad, noisy + discrepancy[:, None])


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: realization_block(Toy(), 1, -1), "block -1: must be from 0 to under 4294967296"),
        (lambda: realization_block(Toy(), 1, 2**32), "block 4294967296: must be from 0 to under 4294967296"),
        (lambda: realization_block(Toy(), -1, 0), "seed -1: must be zero or more"),
        (lambda: replicates(Toy(), 0, 1), "replicates 0: must be one or more"),
        (lambda: replicates(Toy(), 1, -3), "seed -3: must be zero or more"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(wrong, words):
    with pytest.raises(ValueError, match=f"^ensemble {words}$"):
        wrong()
