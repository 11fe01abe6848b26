"""Reliability: a new sample against an ensemble, beside a scan of all realizations by numpy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median

import numpy as np

from benchmarks.figures import US, Figure
from benchmarks.timing import in_turns, median_ratio
from monitor.messages.blocks import Samples
from monitor.reliability.counts import FirstPassageCounter, rank_intervals
from monitor.reliability.ensemble import Ensemble, sort_ensemble
from monitor.reliability.site import SiteReliability
from monitor.reliability.tolerance import Tolerance, TolerancePolicy
from replay.simulations.models import realizations
from sim.ensembles import replicates
from sim.models.beam import StochasticBeam

SUMMARY = "a new sample against 100,000 realizations of the beam, beside numpy.mean(abs(Y - y) < eps)"
AGAINST = "numpy scan"
# most realizations are within the first one, and half of them within the second, which is the worst case
MOST, HALF = 0.30, 0.05
BLOCKS = (1, 64)
WINDOW = 50

Run = Callable[[], object]


def run(quick: bool) -> Iterator[Figure]:
    """Yield the cost of a sample, for blocks of one and of 64, and its ratio to the scan's."""
    n_realizations, repeats = (2000, 2) if quick else (100_000, 7)
    beam = StochasticBeam()
    response = np.hstack(list(realizations(beam, n_realizations, 1)))
    ensemble = sort_ensemble(beam.time, response)
    measured = replicates(beam, 1, 1)
    for share, words in ((MOST, "most within"), (HALF, "half within")):
        tolerance = share * np.abs(measured)
        runs: dict[str, Run] = {
            "instantaneous, numpy": lambda eps=tolerance: _scan(response, measured, eps),
            "first-passage, numpy": lambda eps=tolerance: _scan_survivors(response, measured, eps),
        }
        for size in BLOCKS:
            runs |= _ours(ensemble, measured, tolerance, share, size)
        taken = in_turns(runs, repeats)
        per_sample = {name: [1e6 * t / len(measured) for t in seconds] for name, seconds in taken.items()}
        for size in BLOCKS:
            for name, scan, target in (
                ("instantaneous", "instantaneous", 1.0 / 50.0),
                ("first-passage", "first-passage", 1.0 / 20.0 if share == MOST else None),
                ("everything, with errors", "first-passage", None),
            ):
                ours, theirs = per_sample[f"{name}, {size}"], per_sample[f"{scan}, numpy"]
                case = f"{name}, blocks of {size}, {words}"
                ratio, best = median_ratio(ours, theirs), min(ours)
                yield Figure(
                    "reliability", case, median(ours), US, best, AGAINST, median(theirs), ratio, most_ratio=target
                )


def _ours(ensemble: Ensemble, measured: Samples, tolerance: Samples, share: float, size: int) -> dict[str, Run]:
    starts = range(0, len(measured), size)
    # cut before, as a stream is
    parts = [(np.arange(i, min(i + size, len(measured))), measured[i : i + size].copy()) for i in starts]
    bands = [tolerance[i : i + size].copy() for i in starts]

    def instantaneous() -> None:
        for (instants, samples), eps in zip(parts, bands, strict=True):
            rank_intervals(ensemble, instants, samples, eps)

    def first_passage() -> None:
        survivors = FirstPassageCounter(ensemble.n_realizations)
        for (instants, samples), eps in zip(parts, bands, strict=True):
            low, high = rank_intervals(ensemble, instants, samples, eps)
            survivors.advance(ensemble, instants, samples, eps, low, high)

    site = SiteReliability(ensemble, Tolerance(TolerancePolicy.LITERAL, share), 1, WINDOW)

    def everything() -> None:
        site.reset()
        for instants, samples in parts:
            site.update(instants, samples)

    named = {"instantaneous": instantaneous, "first-passage": first_passage, "everything, with errors": everything}
    return {f"{name}, {size}": each for name, each in named.items()}


def _scan(response: Samples, measured: Samples, tolerance: Samples) -> None:
    for row, y, eps in zip(response, measured[:, 0].tolist(), tolerance[:, 0].tolist(), strict=True):
        np.mean(np.abs(row - y) < eps)


def _scan_survivors(response: Samples, measured: Samples, tolerance: Samples) -> None:
    alive = np.ones(response.shape[1], dtype=np.bool_)
    for row, y, eps in zip(response, measured[:, 0].tolist(), tolerance[:, 0].tolist(), strict=True):
        alive &= np.abs(row - y) < eps
        np.mean(alive)
