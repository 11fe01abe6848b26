"""Realizations: how long the ensembles of the two example models take, and one integration step against numpy."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from statistics import median

import numpy as np

from benchmarks.figures import NS, SECONDS, Figure
from benchmarks.timing import in_turns, median_ratio
from monitor.messages.blocks import Samples
from sim.ensembles import BLOCK, EnsembleModel, realization_block
from sim.models.beam import StochasticBeam
from sim.models.sandia import SandiaStructure

SUMMARY = "ensembles of 1e5 realizations on two threads, and a step of the Sandia structure against numpy"
REALIZATIONS, THREADS, SEED = 100_000, 2, 1
MOST_SANDIA, MOST_RATIO = 10.0, 1.0 / 20.0
AGAINST = "numpy, one thread"


def run(quick: bool) -> Iterator[Figure]:
    """Yield s for the ensembles, and ns for a step of one realization in a block of BLOCK."""
    n_realizations, repeats, numpy_steps = (2 * BLOCK, 1, 4) if quick else (REALIZATIONS, 5, 100)
    sandia, beam = SandiaStructure(), StochasticBeam()
    runs = {model.name: partial(make_ensemble, model, n_realizations) for model in (sandia, beam)}
    taken = in_turns(runs, repeats)
    for model, most in ((sandia, MOST_SANDIA), (beam, None)):
        n_times, times = len(model.time), taken[model.name]
        case = f"{model.name}, {n_realizations:,} x {n_times} instants, {THREADS} threads"
        yield Figure("realizations", case, median(times), SECONDS, min(times), most=most)
    yield _step(sandia, numpy_steps, repeats)


def make_ensemble(model: EnsembleModel, n_realizations: int) -> None:
    """Make every block of the ensemble, two at a time, and let it go."""
    n_blocks = -(-n_realizations // BLOCK)
    with ThreadPoolExecutor(THREADS) as pool:
        for peak in pool.map(partial(_peak, model), range(n_blocks)):
            assert np.isfinite(peak)


def _peak(model: EnsembleModel, block: int) -> float:
    return float(np.max(realization_block(model, SEED, block)))


def _step(model: SandiaStructure, numpy_steps: int, repeats: int) -> Figure:
    """Return the time of one realization's step: the same rule, parameters and block for both."""
    springs, ratios = _parameters(model)
    steps = len(model.time) - 1
    runs = {
        "ours": partial(model.integrate, springs, ratios),
        "theirs": partial(integrate_with_numpy, model, springs, ratios, numpy_steps),
    }
    taken = in_turns(runs, 3 * repeats)
    ours = [1e9 * t / (steps * BLOCK) for t in taken["ours"]]
    theirs = [1e9 * t / (numpy_steps * BLOCK) for t in taken["theirs"]]
    ratio = median_ratio(ours, theirs)
    case = f"sandia, a step in a block of {BLOCK}, 1 thread"
    return Figure(
        "realizations", case, median(ours), NS, min(ours), AGAINST, median(theirs), ratio, most_ratio=MOST_RATIO
    )


def _parameters(model: SandiaStructure) -> tuple[Samples, Samples]:
    rng = np.random.default_rng(SEED)
    springs, ratios = (
        np.array([v.sample(rng, BLOCK) for v in chain]) for chain in (model.springs, model.damping_ratios)
    )
    return springs, ratios


def integrate_with_numpy(model: SandiaStructure, springs: Samples, ratios: Samples, steps: int) -> Samples:
    """Return (steps, n) accelerations of the third mass: the same rule, written as a user of numpy would."""
    dt, masses, dampers = model.dt, np.array(model.masses)[:, None], np.empty_like(springs)
    np.multiply(2.0 * ratios, np.sqrt(springs * masses), out=dampers)
    natural = model.beam.natural_frequencies[:, None]
    driven, held = (model.beam.shapes(x)[:, None] for x in (model.load_position, model.attachment))
    force = model.load * np.sin(model.load_frequency * 0.5 * dt * np.arange(2 * steps + 1))

    def acceleration(push: float, y: Samples, v: Samples) -> Samples:
        modes, masses_at, modes_v, masses_v = y[:3], y[3:], v[:3], v[3:]
        stretch = np.diff(masses_at, axis=0, prepend=held.T @ modes)
        pull = springs * stretch + dampers * np.diff(masses_v, axis=0, prepend=held.T @ modes_v)
        pull[0] += model.hardening * springs[0] * stretch[0] ** 2 * stretch[0]
        free = natural**2 * modes + 2.0 * model.modal_damping_ratio * natural * modes_v
        return np.concatenate([driven * push + held * pull[0] - free, np.diff(pull, axis=0, append=0.0) / masses])

    y, v = np.zeros((6, springs.shape[1])), np.zeros((6, springs.shape[1]))
    out = np.empty((steps, springs.shape[1]))
    for step in range(steps):
        before, middle, after = force[2 * step : 2 * step + 3]
        a1 = acceleration(before, y, v)
        v2 = v + 0.5 * dt * a1
        a2 = acceleration(middle, y + 0.5 * dt * v, v2)
        v3 = v + 0.5 * dt * a2
        a3 = acceleration(middle, y + 0.5 * dt * v2, v3)
        v4 = v + dt * a3
        a4 = acceleration(after, y + dt * v3, v4)
        y = y + dt / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4)
        v = v + dt / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
        out[step] = a1[5]
    return out
