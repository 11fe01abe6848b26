"""The heat equation with k(T): specimens of the application side by side, beside scipy's stiff solver for each."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

import numpy as np
from scipy.integrate import solve_ivp

from benchmarks.figures import MS, Figure
from benchmarks.timing import in_turns, median_ratio
from monitor.messages.blocks import Samples
from sim.models.thermal_population import Conductivity, Specimens, characterize
from sim.models.thermal_slab import N_CELLS, SlabTest, conduction_temperature
from sim.models.thermal_tables import APPLICATION, LEVELS, LIMIT_TIME, configurations, material

SUMMARY = "temperatures of slabs whose conductivity depends on temperature, beside solve_ivp of as many cells"
AGAINST = "scipy, LSODA, banded"
SPECIMENS = 2000
MOST_RATIO = 1.0 / 20.0
# scipy's steps then leave as much as ours: about 0.04 degC
_TOLERANCE = 1e-4


def run(quick: bool) -> Iterator[Figure]:
    """Yield ms of a specimen, and its ratio to scipy's."""
    number, n_theirs, repeats = (8, 1, 1) if quick else (SPECIMENS, 5, 5)
    test = configurations()[APPLICATION]
    population = characterize(material(LEVELS[-1])).population(Conductivity.TEMPERATURE_DEPENDENT)
    specimens = population.sample(np.random.default_rng(1), number)
    runs = {
        "ours": lambda: fronts(test, specimens),
        "theirs": lambda: fronts_with_scipy(test, specimens, n_theirs),
    }
    np.testing.assert_allclose(fronts(test, specimens)[:n_theirs], runs["theirs"](), atol=0.5)
    taken = in_turns(runs, repeats)
    ours, theirs = [1e3 * t / number for t in taken["ours"]], [1e3 * t / n_theirs for t in taken["theirs"]]
    case = f"a specimen of {number:,}, {N_CELLS} cells, 1 thread"
    ratio = median_ratio(ours, theirs)
    yield Figure(
        "conduction", case, median(ours), MS, min(ours), AGAINST, median(theirs), ratio, most_ratio=MOST_RATIO
    )


def fronts(test: SlabTest, specimens: Specimens) -> Samples:
    """Return (n,) degC, of the fronts at the end."""
    found = conduction_temperature(test, LIMIT_TIME, specimens.conductivity, specimens.slope, specimens.heat_capacity)
    return np.asarray(found[0, 0])


def fronts_with_scipy(test: SlabTest, specimens: Specimens, number: int) -> Samples:
    """Return (number,) degC: the first specimens, as a user of scipy would compute them."""
    cell = test.thickness / N_CELLS
    weights = np.full(N_CELLS + 1, cell)
    weights[[0, -1]] *= 0.5

    def front(k: float, capacity: float) -> float:
        def rate(_: float, temperature: Samples) -> Samples:
            middle = 0.5 * (temperature[1:] + temperature[:-1])
            flux = -(k + specimens.slope * middle) * np.diff(temperature) / cell
            return -np.diff(flux, prepend=test.flux, append=0.0) / (capacity * weights)

        start = np.full(N_CELLS + 1, test.initial_temperature)
        solution = solve_ivp(rate, (0.0, LIMIT_TIME), start, "LSODA", rtol=_TOLERANCE, atol=1e-2, lband=1, uband=1)
        return float(solution.y[0, -1])

    pairs = zip(specimens.conductivity[:number].tolist(), specimens.heat_capacity[:number].tolist(), strict=True)
    return np.array([front(*pair) for pair in pairs])
