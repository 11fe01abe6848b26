"""Blocks of realizations that depend on nothing but seed and number, and synthetic measurements beside them."""

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.ensembles.ensemble import BLOCK, AddedDiscrepancy, realization_block, realization_blocks, replicates


@dataclass
class Toy(AddedDiscrepancy):
    """A straight line through a random point, in the open: a response shows the number that was drawn."""

    name = "toy"
    quantity = "height"
    unit = "m"
    block = BLOCK
    n_times: int = 4
    noise: float = 0.0
    asked: list = field(default_factory=list)

    @property
    def time(self):
        return np.arange(float(self.n_times))

    @property
    def observation_noise(self):
        return np.where(self.time >= 2.0, self.noise, 0.0)

    @property
    def discrepancy(self):
        return np.where(self.time >= 1.0, 0.3 * self.time, 0.0)

    def realize(self, generator, number):
        self.asked.append(number)
        return generator.standard_normal(number) + self.time[:, None]


@given(st.integers(1, 4 * BLOCK), st.integers(0, 5), st.integers(0, 2**64))
@settings(max_examples=40, deadline=None)
def test_an_ensemble_is_its_blocks_cut_at_the_end(n_realizations, first_block, seed):
    model = Toy()
    parts = list(realization_blocks(model, n_realizations, seed, first_block))
    assert [first for first, _ in parts] == list(range(first_block * BLOCK, n_realizations, BLOCK))
    for first, response in parts:
        alone = realization_block(model, seed, first // BLOCK)
        assert alone.shape == (4, BLOCK)
        np.testing.assert_array_equal(response, alone[:, : n_realizations - first])
        assert response.flags.c_contiguous and response.dtype == np.float64
    assert sum(response.shape[1] for _, response in parts) == max(0, n_realizations - first_block * BLOCK)


def test_more_realizations_leave_the_first_as_they_are():
    def together(n):
        return np.concatenate([response for _, response in realization_blocks(Toy(), n, 7)], axis=1)

    most = together(3 * BLOCK + 5)
    for n in (1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK):
        np.testing.assert_array_equal(together(n), most[:, :n])


def test_blocks_made_on_threads_in_any_order_are_the_same():
    model = Toy()
    with ThreadPoolExecutor(2) as pool:
        backwards = list(pool.map(partial(realization_block, model, 7), range(5, -1, -1)))
    for block, (_, response) in enumerate(realization_blocks(model, 6 * BLOCK, 7)):
        np.testing.assert_array_equal(backwards[5 - block], response)


def test_one_block_is_made_at_a_time():
    model = Toy()
    blocks = realization_blocks(model, 100 * BLOCK, 1)
    assert model.asked == []
    next(blocks)
    assert model.asked == [BLOCK]


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
    every = np.concatenate([response[0] for _, response in realization_blocks(Toy(), 50 * BLOCK, 3)])
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
    np.testing.assert_array_equal(noisy[:2], quiet[:2])
    noise = (noisy - quiet)[2:]
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
        (lambda: next(realization_blocks(Toy(), 0, 1)), "n_realizations 0: must be one or more"),
        (lambda: next(realization_blocks(Toy(), 5, 1, -1)), "block -1: must be from 0 to under 4294967296"),
        (lambda: replicates(Toy(), 0, 1), "replicates 0: must be one or more"),
        (lambda: replicates(Toy(), 1, -3), "seed -3: must be zero or more"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(wrong, words):
    with pytest.raises(ValueError, match=f"^ensemble {words}$"):
        wrong()
