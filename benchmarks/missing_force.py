"""The missing force of Duffing's oscillator: windows by Gramians, and all of it, beside scipy's solve_bvp."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from statistics import median

import numpy as np
from scipy.integrate import solve_bvp

from benchmarks.figures import MS, SECONDS, Figure
from benchmarks.timing import in_turns, median_ratio
from monitor.messages.blocks import Samples
from sim.laboratory.structure import Structure
from sim.missing_force.law_fit import fit_law
from sim.missing_force.recovery import recover_force
from sim.missing_force.smoother import ForceProblem
from sim.missing_force.state_space import Sensor
from sim.missing_force.windows import matched_force
from sim.models.chain import chain_response
from sim.models.nonlinear_chains import DuffingOscillator

SUMMARY = "the force that a model of Duffing's oscillator is missing, from 11 samples, beside scipy's solve_bvp"
AGAINST = "scipy's solve_bvp"
MOST_MS, MOST_RATIO, MOST_SECONDS = 50.0, 1.0 / 3.0, 1.0
# of the boundary values' solution: that of solve_bvp where none is given
_TOLERANCE = 1e-3


def run(quick: bool) -> Iterator[Figure]:
    """Yield ms of the ten windows, and s of a whole identification: force, band and law."""
    oscillator = DuffingOscillator()
    step = oscillator.dt / oscillator.refined
    load = oscillator.force()[:, None]
    time = step * np.arange(len(load))
    motion = chain_response(oscillator.chain, load, step, *oscillator.initial)
    states = np.column_stack([motion.displacement[:, 0], motion.velocity[:, 0]])
    sigma = oscillator.noise * np.sqrt(np.mean(states**2, axis=0))
    observed, at = np.full(states.shape, np.nan), slice(None, None, (len(time) - 1) // 10)
    observed[at] = states[at] + sigma * np.random.default_rng(1).standard_normal(states[at].shape)
    structure = Structure(oscillator.mass, oscillator.damping, oscillator.stiffness)
    place, sensors = np.ones((1, 1)), (Sensor(1), Sensor(1, "velocity"))

    def identify() -> None:
        problem = ForceProblem(structure, place, time, load, sensors, observed)
        fit_law(problem, recover_force(problem, sigma=sigma), [["x^3"]])

    runs = {
        "ours": lambda: matched_force(structure, place, time, load, observed[:, :1], observed[:, 1:]),
        "theirs": lambda: windows_by_scipy(oscillator, time[at], observed[at]),
        "all": identify,
    }
    taken = in_turns(runs, 1 if quick else 9)
    yield Figure(
        "missing_force",
        "ten windows, ends matched",
        1e3 * median(taken["ours"]),
        MS,
        1e3 * min(taken["ours"]),
        AGAINST,
        1e3 * median(taken["theirs"]),
        median_ratio(taken["ours"], taken["theirs"]),
        most=MOST_MS,
        most_ratio=MOST_RATIO,
    )
    whole = taken["all"]
    yield Figure("missing_force", "force, band and law", median(whole), SECONDS, min(whole), most=MOST_SECONDS)


def windows_by_scipy(oscillator: DuffingOscillator, time: Samples, states: Samples) -> list[object]:
    """Return the windows as boundary-value problems of state and co-state, eq. 19 to 23."""
    m, c, k = oscillator.mass, oscillator.damping, oscillator.stiffness

    def equations(t: Samples, y: Samples) -> Samples:
        x, v, costate, rate = y
        load = oscillator.amplitude * np.cos(oscillator.frequency * t)
        return np.array([v, (load - c * v - k * x + 0.5 * costate) / m, rate, (c * rate - k * costate) / m])

    found = []
    for (begin, first), (end, last) in pairwise(zip(time, states, strict=True)):

        def ends(a: Samples, b: Samples, first: Samples = first, last: Samples = last) -> Samples:
            return np.concatenate([a[:2] - first, b[:2] - last])

        # as many increments as in the paper
        mesh = np.linspace(begin, end, 76)
        found.append(solve_bvp(equations, ends, mesh, np.zeros((4, len(mesh))), tol=_TOLERANCE))
    return found
