"""The reliabilities of Ao, Hu and Mahadevan as they write them: every realization, at every instant."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np


class Oracle(NamedTuple):
    """Three arrays a reliability, (n_times,) each: sums over the realizations, means, and standard errors."""

    total: np.ndarray
    value: np.ndarray
    standard_error: np.ndarray


def indicator(response, measured, tolerance):
    """Return (n_times, n_replicates, M): who is within, eq. 4."""
    with np.errstate(over="ignore"):
        return np.abs(response[:, None, :] - measured[:, :, None]) < tolerance[:, :, None]


def survival(within):
    """Return (n_times, n_replicates, M): who has been within at every instant so far, eq. 13."""
    return np.logical_and.accumulate(within, axis=0)


def average(successes, trials):
    """Return the mean over the realizations of the share of their trials that were a success.

    Parameters
    ----------
    successes : (n_times, M), integers.
    trials : (n_times,) or a number.
    """
    m = successes.shape[1]
    shares = successes / np.broadcast_to(np.asarray(trials), len(successes))[:, None]
    error = shares.std(axis=1, ddof=1) / np.sqrt(m) if m > 1 else np.full(len(shares), np.nan)
    return Oracle(successes.sum(axis=1), shares.mean(axis=1), error)


def instantaneous(within):
    """Return eq. 6."""
    return average(within.sum(axis=1), within.shape[1])


def first_passage(within):
    """Return eq. 19."""
    return instantaneous(survival(within))


def accumulated(within):
    """Return eq. 26."""
    n_times, n, _ = within.shape
    return average(np.cumsum(within.sum(axis=1), axis=0), n * np.arange(1, n_times + 1))


def windowed(within, window, instants=None):
    """Return eq. 26 over those of the last `window` instants that were judged; `instants` names these, (n_times,)."""
    instants = np.arange(len(within)) if instants is None else np.asarray(instants)
    seen = [(instants > now - window) & (instants <= now) for now in instants.tolist()]
    sums = [within[late].sum(axis=(0, 1)) for late in seen]
    trials = np.array([within.shape[1] * int(late.sum()) for late in seen], dtype=int)
    return average(np.reshape(sums, (len(within), within.shape[2])), trials)


def over_combinations(sites, reliability):
    """Return (n_times,): eq. 9, 21 or 28, a product for every combination of replicates.

    Parameters
    ----------
    sites : of each, who is within, see `indicator`.
    reliability : (n_times, 1, M) -> (n_times,), of one replicate.
    """
    total, combinations = 0.0, 0
    for chosen in product(*(range(within.shape[1]) for within in sites)):
        alone = [reliability(within[:, [j]]) for within, j in zip(sites, chosen, strict=True)]
        total = total + np.prod(alone, axis=0)
        combinations += 1
    return total / combinations


def joint(sites):
    """Return eq. 8, 20 and 27 over common realizations, an `Oracle` each.

    For every combination of replicates: who is within at all sites; who has been at all instants so far; and of how
    many instants.
    """
    now, ever, often = 0, 0, 0
    combinations = 0
    for chosen in product(*(range(within.shape[1]) for within in sites)):
        everywhere = np.logical_and.reduce([within[:, j] for within, j in zip(sites, chosen, strict=True)])
        now = now + everywhere.astype(int)
        ever = ever + np.logical_and.accumulate(everywhere, axis=0).astype(int)
        often = often + np.cumsum(everywhere, axis=0)
        combinations += 1
    instants = np.arange(1, len(sites[0]) + 1)
    return average(now, combinations), average(ever, combinations), average(often, combinations * instants)
