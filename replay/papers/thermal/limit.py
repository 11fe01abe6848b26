"""The limit state of the application, and the probability of failure by quadrature and by Monte Carlo."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from math import sqrt

import numpy as np
from numpy.polynomial import chebyshev

from monitor.messages.blocks import Samples
from replay import Progress, silent
from sim.models.thermal_population import Population, Specimens
from sim.models.thermal_slab import SlabTest, conduction_temperature, series_temperature
from sim.models.thermal_tables import APPLICATION, LIMIT, LIMIT_TIME, configurations

_AT_ONCE = 512
# of each outcome: so many are added
_ADDED = 2.0
# of a quadrature over the heat capacity: twice as many change the result by less than one realization
_NODES = 64
# where the limit is known: J/(m^3 K), and W/(m K^2). A unit that takes up less is too hot for any conductivity that
# the data allow, one that takes up more too cool; no resampled data have slopes beyond
CAPACITIES, SLOPES = (2.3e5, 6.0e5), (-1.5e-5, 5.5e-5)
# of the specimens: how many may count as too hot or too cool because their capacity lies outside
_MOST_UNRESOLVED = 1e-3
_DEGREE_CAPACITY, _DEGREE_SLOPE = 14, 8
# degC: conductivities there are nearly the limit's for any slope, and within this factor
_MIDDLE, _FACTOR = 500.0, 1.2
_LEAST, _MOST = 0.02, 0.4  # W/(m K), of a constant one
_ROUNDS = 9
_FOUND = 1e-9  # degC
_CELLS = 96


@dataclass(frozen=True, slots=True, eq=False)
class LimitState:
    """The conductivity under which a specimen is too hot: a polynomial in heat capacity and slope.

    Parameters
    ----------
    coefficients : Chebyshev's, of one over the conductivity at 500 degC.
    sloped : whether it knows of slopes.
    """

    coefficients: Samples
    sloped: bool

    def conductivity(self, heat_capacity: Samples, slope: float) -> Samples:
        """Return (n,) in W/(m K), at 0 degC.

        Raises
        ------
        ValueError : a heat capacity or the slope lies where the limit was not sought.
        """
        _refuse_outside("heat capacity", heat_capacity, CAPACITIES, "J/(m^3 K)")
        x = _unit(heat_capacity, CAPACITIES)
        if not self.sloped:
            return np.asarray(1.0 / chebyshev.chebval(x, self.coefficients[:, 0]))
        _refuse_outside("slope", np.array([slope]), SLOPES, "W/(m K^2)")
        y = np.full(len(x), _unit(np.array(slope), SLOPES))
        return np.asarray(1.0 / chebyshev.chebval2d(x, y, self.coefficients) - _MIDDLE * slope)


@cache
def limit_state(*, sloped: bool) -> LimitState:
    """Return the limit of the application, by eq. 2 or, where slopes matter, by finite volumes."""
    capacities, to_capacity = _nodes(CAPACITIES, _DEGREE_CAPACITY)
    test = configurations()[APPLICATION]

    ends = np.full(len(capacities), _LEAST), np.full(len(capacities), _MOST)
    constant = _critical(lambda k: series_temperature(test, LIMIT_TIME, k, capacities)[0], *ends)
    if not sloped:
        return LimitState((to_capacity @ (1.0 / constant))[:, None], sloped)
    slopes, to_slope = _nodes(SLOPES, _DEGREE_SLOPE)
    capacity, slope = (each.ravel() for each in np.meshgrid(capacities, slopes, indexing="ij"))

    def front(middle: Samples) -> Samples:
        k = middle - _MIDDLE * slope
        found = conduction_temperature(test, LIMIT_TIME, k, slope, capacity, n_cells=_CELLS, n_steps=_CELLS)
        return np.asarray(found[0, 0])

    near = np.repeat(constant, len(slopes))
    middle = _critical(front, near / _FACTOR, near * _FACTOR).reshape(len(capacities), len(slopes))
    return LimitState(to_capacity @ (1.0 / middle) @ to_slope.T, sloped)


def by_quadrature(population: Population, nodes: int = _NODES) -> float:
    """Return the share of the specimens that is too hot, integrated over their properties.

    Given the heat capacity, those are too hot whose conductivity is under the limit. A choice of ours: of a capacity
    under 2.3e5 J/(m^3 K) all are too hot, of one over 6.0e5 none. At the ends themselves the limit leaves next to no
    other specimens; how many it leaves, times how many have such a capacity, bounds what the choice can change.

    Raises
    ------
    ValueError : the choice could change the share by more than 0.001, or the slope is out of the limit's range.
    """
    capacities, weights = population.heat_capacity.nodes(nodes)
    known, k = limit_state(sloped=bool(population.slope)), population.conductivity
    low, high = (np.asarray(capacities < CAPACITIES[0]), np.asarray(capacities > CAPACITIES[1]))
    at_low, at_high = k.cdf(known.conductivity(np.array(CAPACITIES), population.slope)).tolist()
    unresolved = float(weights[low].sum() * (1.0 - at_low) + weights[high].sum() * at_high)
    if unresolved > _MOST_UNRESOLVED:
        raise ValueError(
            f"heat capacities from {CAPACITIES[0]:g} to {CAPACITIES[1]:g} J/(m^3 K): up to {100.0 * unresolved:.2g} "
            "% of the specimens lie outside and may be too hot or not; the limit must be sought farther"
        )
    inside = ~(low | high)
    shares = k.cdf(known.conductivity(capacities[inside], population.slope))
    return float(weights[inside] @ shares + weights[low].sum())


def by_monte_carlo(specimens: Specimens, progress: Progress = silent, task: str = "specimens") -> tuple[float, float]:
    """Return the share of these specimens that is too hot, and its standard error: each is computed."""
    test = configurations()[APPLICATION]
    front = temperatures(test, np.array([LIMIT_TIME]), specimens, progress=progress, task=task)[0, 0]
    share = float(np.mean(front > LIMIT))
    return share, standard_error(share, len(specimens))


def temperatures(
    test: SlabTest,
    time: Samples,
    specimens: Specimens,
    depths: Sequence[float] = (0.0,),
    *,
    progress: Progress = silent,
    task: str = "specimens",
) -> Samples:
    """Return (n_times, n_depths, n) in degC; see `Specimens.temperature`.

    The progress is reported under the name of the task.
    """
    found = np.empty((len(time), len(depths), len(specimens)))
    starts = range(0, len(specimens), _AT_ONCE)
    parts = (specimens.between(start, start + _AT_ONCE) for start in starts)
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        made = pool.map(lambda part: part.temperature(test, time, depths), parts)
        for start, temperature in zip(starts, made, strict=True):
            stop = start + temperature.shape[2]
            found[..., start:stop] = temperature
            progress(task, stop, len(specimens))
    return found


def standard_error(share: float, number: int) -> float:
    """Return the standard error of a share of so many realizations, by Agresti and Coull (1998).

    Two of each outcome are added, so that it is not zero where none or all have what is counted: of 20 000 with none
    it is 7e-5. Where many have it, it is that of the binomial distribution.
    """
    total = number + 2.0 * _ADDED
    chance = (share * number + _ADDED) / total
    return sqrt(chance * (1.0 - chance) / total)


def _critical(front: Callable[[Samples], Samples], low: Samples, high: Samples) -> Samples:
    """Return the conductivities at which the front just reaches the limit, near those two.

    By secants in one over k, which the front is nearly straight in.
    """
    last, here = 1.0 / low, 1.0 / high
    was, now = front(low) - LIMIT, front(high) - LIMIT
    for _ in range(_ROUNDS):
        rise = now - was
        # where nothing changes any more it is found
        step = np.divide(now * (here - last), rise, out=np.zeros_like(rise), where=np.abs(rise) > _FOUND)
        last, was, here = here, now, here - step
        now = front(1.0 / here) - LIMIT
    return np.asarray(1.0 / here)


def _refuse_outside(what: str, values: Samples, ends: tuple[float, float], unit: str) -> None:
    outside = values[~((values >= ends[0]) & (values <= ends[1]))]
    if outside.size:
        raise ValueError(f"{what} {outside[0]:g} {unit}: the limit is known from {ends[0]:g} to {ends[1]:g}")


def _unit(value: Samples, ends: tuple[float, float]) -> Samples:
    return np.asarray((2.0 * value - ends[0] - ends[1]) / (ends[1] - ends[0]))


def _nodes(ends: tuple[float, float], degree: int) -> tuple[Samples, Samples]:
    """Return Chebyshev's points between the ends, and what makes coefficients of the values there."""
    points = chebyshev.chebpts1(degree + 1)
    values = chebyshev.chebvander(points, degree)
    return 0.5 * (ends[0] + ends[1] + (ends[1] - ends[0]) * points), np.asarray(
        np.linalg.inv(values), dtype=np.float64
    )
