"""Model updating: a chain of four masses from many starts, beside scipy's least squares of one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares

from benchmarks.figures import SECONDS, Figure
from benchmarks.timing import in_turns, median_ratio
from monitor.messages.blocks import Samples
from sim.fitting.chain_response import ChainResponse
from sim.fitting.fit import fit
from sim.fitting.least_squares import spread_starts
from sim.models.chain import Chain

SUMMARY = "four stiffnesses and a cubic spring of a chain from many starts, beside scipy's least_squares"
STARTS, N, DT = 8, 501, 0.02
# ours takes central differences where scipy takes one-sided ones: twice the simulations
MOST_RATIO, MOST_RATIO_ODE = 1.5, 1.0 / 15.0
_FREE = ("k1", "k2", "k3", "k4", "alpha1")
_TRUTH = np.array([100.0, 100.0, 85.0, 100.0, 200.0])


def run(quick: bool) -> Iterator[Figure]:
    """Yield s of all fits, beside scipy with the same simulation, and with an ODE solver of its own."""
    n_starts, n, repeats = (2, 101, 1) if quick else (STARTS, N, 3)
    generator = np.random.default_rng(1)
    load = np.zeros((n, 4))
    load[:, 3] = 20.0 * generator.standard_normal(n)
    nominal = Chain(np.ones(4), np.full(4, 100.0), 0.2, cubic=[200.0, 0.0, 0.0, 0.0])
    model = ChainResponse(nominal, load, DT, _FREE, (1, 3, 4), lower=0.7 * _TRUTH, upper=1.5 * _TRUTH)
    exact = model.histories(_TRUTH)
    record = exact + 0.01 * exact.std(axis=0) * generator.standard_normal(exact.shape)
    observed = record.ravel()
    starts = spread_starts(0.9 * _TRUTH, 1.2 * _TRUTH, n_starts)
    bounds = np.asarray(model.lower), np.asarray(model.upper)

    def simulated(parameters: Samples) -> Samples:
        return model.histories(parameters).ravel() - observed

    def integrated(parameters: Samples) -> Samples:
        return with_scipy(parameters, load)[:, [0, 2, 3]].ravel() - observed

    runs = {
        "ours": lambda: fit(model, observed, starts),
        "theirs": lambda: [least_squares(simulated, each, bounds=bounds, x_scale=_TRUTH) for each in starts],
        "ode": lambda: least_squares(integrated, starts[0], bounds=bounds, x_scale=_TRUTH),
    }
    taken = in_turns(runs, repeats)
    ode = [n_starts * seconds for seconds in taken["ode"]]
    ours = f"{n_starts} starts, 5 parameters, {n} samples"
    for other, times, most in (
        ("least_squares, its differences of our simulation", taken["theirs"], MOST_RATIO),
        ("least_squares over solve_ivp, its time a start", ode, MOST_RATIO_ODE),
    ):
        yield Figure(
            "updating",
            ours,
            median(taken["ours"]),
            SECONDS,
            min(taken["ours"]),
            other,
            median(times),
            median_ratio(taken["ours"], times),
            most_ratio=most,
        )


def with_scipy(parameters: Samples, load: Samples) -> Samples:
    """Return accelerations of the chain, (n, 4), as a user of scipy would find them."""
    k, cubic = parameters[:4], parameters[4]
    time = DT * np.arange(len(load))

    def acceleration(t: float, state: Samples) -> Samples:
        stretch, rate = np.diff(state[:4], prepend=0.0), np.diff(state[4:], prepend=0.0)
        force = k * stretch + 0.2 * rate
        force[0] += cubic * stretch[0] ** 3
        force[:3] -= force[1:]
        force[3] -= np.interp(t, time, load[:, 3])
        return np.asarray(-force)

    def derivative(t: float, state: Samples) -> Samples:
        return np.concatenate([state[4:], acceleration(t, state)])

    solution = solve_ivp(derivative, (0.0, time[-1]), np.zeros(8), t_eval=time, rtol=1e-6, atol=1e-8, max_step=DT)
    return np.array([acceleration(t, state) for t, state in zip(time, solution.y.T, strict=True)])
