"""Fits of the delay equation: 500 runs side by side, beside scipy's least squares of one run after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from statistics import median

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares

from benchmarks.figures import SECONDS, Figure
from benchmarks.timing import in_turns, median_ratio
from monitor.messages.blocks import Samples
from replay.papers.delays.examples import NEAR_UNSTABLE, TIME, Example
from sim.fitting.fit import fit_many
from sim.models.delay_equation import DelayEquation

SUMMARY = "500 fits of a delay equation's rates and disturbance, beside scipy's least_squares over solve_ivp"
AGAINST = "scipy, its time a fit"
RUNS, SIGMA = 500, 0.1
MOST, MOST_RATIO = 5.0, 1.0 / 20.0
# of the solution by scipy: as exact as the noise asks for, and its differences for the derivatives bear
_TOLERANCE = 1e-7
# s, where fits of the delay begin; it is 1
_DELAY = 0.9


def run(quick: bool) -> Iterator[Figure]:
    """Yield s for all fits, of the paper's third example, with the delay known and not."""
    n_runs, n_theirs, repeats = (20, 1, 1) if quick else (RUNS, 5, 3)
    noise = np.random.default_rng(1).standard_normal((n_runs, len(TIME)))
    observed = NEAR_UNSTABLE.truth.response(TIME) + SIGMA * noise
    response, start = NEAR_UNSTABLE.disturbed, NEAR_UNSTABLE.start(2)
    delayed = replace(response, free=(*response.free, "delay"))
    runs = {
        "ours": lambda: fit_many(response, observed, start),
        "delay free": lambda: fit_many(delayed, observed, np.append(start, _DELAY)),
        "theirs": lambda: [fit_with_scipy(NEAR_UNSTABLE, each, start) for each in observed[:n_theirs]],
    }
    taken = in_turns(runs, repeats)
    theirs = [seconds * n_runs / n_theirs for seconds in taken["theirs"]]
    yield Figure(
        "delay_fits",
        f"{n_runs} fits of q0, q1, omega, 1 thread",
        median(taken["ours"]),
        SECONDS,
        min(taken["ours"]),
        AGAINST,
        median(theirs),
        median_ratio(taken["ours"], theirs),
        most=MOST,
        most_ratio=MOST_RATIO,
    )
    free = taken["delay free"]
    yield Figure("delay_fits", f"{n_runs} fits with the delay, too", median(free), SECONDS, min(free), most=MOST)


def fit_with_scipy(example: Example, observed: Samples, start: Samples) -> Samples:
    """Return (3,) q0, q1 and omega of one run, as a user of scipy would find them."""
    return np.asarray(least_squares(partial(_misfit, example.truth, observed), start).x)


def _misfit(known: DelayEquation, observed: Samples, parameters: Samples) -> Samples:
    return solve_with_scipy(known, *parameters.tolist()) - observed


def solve_with_scipy(known: DelayEquation, q0: float, q1: float, omega: float) -> Samples:
    """Return x at `TIME`: the method of steps, each interval integrated with the one before it as its past."""
    past, state, found = (lambda _: known.history), known.initial, np.empty(len(TIME))
    for k in range(int(np.ceil(TIME[-1] / known.delay))):
        begin = k * known.delay
        solution = solve_ivp(
            lambda t, x, past=past: q0 * x + q1 * past(t - known.delay) + omega,
            (begin, begin + known.delay),
            [state],
            rtol=_TOLERANCE,
            atol=_TOLERANCE,
            dense_output=True,
        )
        inside = (begin <= TIME) & (begin + known.delay >= TIME)
        found[inside] = solution.sol(TIME[inside])[0]
        past, state = (lambda t, sol=solution.sol: sol(t)[0]), solution.y[0, -1]
    return found
