"""Many specimens in a test, on all cores; and the specimen that a record shows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy.optimize import least_squares

from monitor.blocks import Samples
from replay.ensembles import Progress, silent
from sim.models.thermal_population import Specimens
from sim.models.thermal_slab import SlabTest

_AT_ONCE = 512
# of a property: the step of a difference quotient
_STEP = 1e-4


def temperatures(
    test: SlabTest,
    time: Samples,
    specimens: Specimens,
    depths: Sequence[float] = (0.0,),
    *,
    progress: Progress = silent,
    what: str = "specimens",
) -> Samples:
    """Return (n_times, n_depths, n) in degC; see `Specimens.temperature`.

    The progress is told under the name `what`.
    """
    found = np.empty((len(time), len(depths), len(specimens)))
    starts = range(0, len(specimens), _AT_ONCE)
    parts = (specimens.between(start, start + _AT_ONCE) for start in starts)
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        made = pool.map(lambda part: part.temperature(test, time, depths), parts)
        for start, temperature in zip(starts, made, strict=True):
            stop = start + temperature.shape[2]
            found[..., start:stop] = temperature
            progress(what, stop, len(specimens))
    return found


@dataclass(frozen=True, slots=True)
class FittedRun:
    """The specimen that a record fits best.

    Parameters
    ----------
    conductivity : W/(m K), at 0 degC.
    slope : W/(m K^2), which was given.
    heat_capacity : J/(m^3 K).
    rms : degC, what is left of the record after time zero.
    """

    conductivity: float
    slope: float
    heat_capacity: float
    rms: float


def fit_run(test: SlabTest, time: Samples, temperature: Samples, start: Specimens) -> FittedRun:
    """Find the specimen of a record of its front by least squares.

    Parameters
    ----------
    test : what was done to it.
    time, temperature : (n_times,), s and degC; the first instant, time zero, tells nothing and is left out.
    start : one specimen, to begin with; its slope is kept.
    """
    time, measured = time[1:], temperature[1:]
    first = np.log([start.conductivity[0], start.heat_capacity[0]])

    def model(logarithms: Samples) -> Samples:
        conductivity, capacity = np.exp(logarithms).reshape(-1, 2).T
        return Specimens(conductivity, start.slope, capacity).temperature(test, time)[:, 0]

    def slopes(logarithms: Samples) -> Samples:
        there = model(logarithms + _STEP * np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]))
        return np.asarray((there[:, :2] - there[:, 2:]) / (2.0 * _STEP))

    def residuals(logarithms: Samples) -> Samples:
        return np.asarray(model(logarithms)[:, 0] - measured)

    found = least_squares(residuals, first, slopes, xtol=1e-10, ftol=1e-10)
    conductivity, capacity = np.exp(found.x).tolist()
    return FittedRun(conductivity, start.slope, capacity, sqrt(float(np.mean(found.fun**2))))
