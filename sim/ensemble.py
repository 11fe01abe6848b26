"""Ensembles: many realizations of a random response, in blocks that can each be reproduced alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from sim.arrays import Samples

BLOCK = 1024
# an experiment's key has two words where a block's has one, so that they never draw the same numbers
_EXPERIMENT = 1
_MOST_BLOCKS = 2**32


class EnsembleModel(Protocol):
    """A model with random parameters or loads, whose response is a random function of time."""

    @property
    def name(self) -> str:
        """What the model is called."""

    @property
    def quantity(self) -> str:
        """What its response is, such as "deflection at midspan"."""

    @property
    def unit(self) -> str:
        """Of the response."""

    @property
    def time(self) -> Samples:
        """(n_times,) in s, the instants of the response."""

    def realize(self, generator: np.random.Generator, number: int) -> Samples:
        """Return (n_times, number) responses, each with random parameters of its own."""


class Experiment(EnsembleModel, Protocol):
    """A model that also has the discrepancy of its synthetic measurements."""

    @property
    def observation_noise(self) -> Samples:
        """(n_times,): standard deviation of what a measurement adds, white and Gaussian."""

    @property
    def discrepancy(self) -> Samples:
        """(n_times,): what is added to a measurement for a bad model."""


class EqualSteps:
    """Instants and noise of an experiment with `horizon` and `dt`, in s, and `noise`, in the response's unit."""

    horizon: float
    dt: float
    noise: float

    @property
    def time(self) -> Samples:
        """(n_times,) in s, from zero to the step nearest the horizon."""
        return self.dt * np.arange(round(self.horizon / self.dt) + 1.0)

    @property
    def observation_noise(self) -> Samples:
        """(n_times,) in the response's unit, the standard deviation of a synthetic measurement."""
        return np.full(len(self.time), self.noise)


def realization_block(model: EnsembleModel, seed: int, block: int) -> Samples:
    """Return block number `block` of the ensemble of a seed, (n_times, BLOCK).

    A block depends on nothing but the model, the seed and its number: blocks can be made in any order, on
    several threads, and again after an interruption.

    Raises
    ------
    ValueError : a negative seed, or a block's number out of range.
    """
    if not 0 <= block < _MOST_BLOCKS:
        raise ValueError(f"ensemble block {block}: must be from 0 to under {_MOST_BLOCKS}")
    return model.realize(_generator(seed, block), BLOCK)


def realization_blocks(
    model: EnsembleModel, n_realizations: int, seed: int, first_block: int = 0
) -> Iterator[tuple[int, Samples]]:
    """Yield (number of the first realization, response (n_times, up to BLOCK)) until there are `n_realizations`.

    The last response is cut. One block is in memory at a time. `first_block` skips those that are there already.

    Raises
    ------
    ValueError : no realization is requested, or see `realization_block`.
    """
    if n_realizations < 1:
        raise ValueError(f"ensemble n_realizations {n_realizations}: must be one or more")
    for block in range(first_block, -(-n_realizations // BLOCK)):
        first = block * BLOCK
        yield first, np.ascontiguousarray(realization_block(model, seed, block)[:, : n_realizations - first])


def replicates(model: Experiment, number: int, seed: int, *, bad: bool = False) -> Samples:
    """Return `number` synthetic measurements, (n_times, number): response, noise and, where bad, discrepancy.

    Each draws parameters and noise of its own, none of them the ensemble's of the same seed. One more replicate
    leaves the others as they are, and the bad ones are the good ones plus the discrepancy.

    Raises
    ------
    ValueError : no replicate is requested, or a negative seed.
    """
    if number < 1:
        raise ValueError(f"ensemble replicates {number}: must be one or more")
    measured = np.empty((len(model.time), number))
    for replicate in range(number):
        generator = _generator(seed, _EXPERIMENT, replicate)
        response = model.realize(generator, 1)[:, 0]
        measured[:, replicate] = response + model.observation_noise * generator.standard_normal(len(response))
    if bad:
        measured += model.discrepancy[:, None]
    return measured


def _generator(seed: int, *key: int) -> np.random.Generator:
    if seed < 0:
        raise ValueError(f"ensemble seed {seed}: must be zero or more")
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
