"""What is known before the thermal challenge begins: Table 2, and the solver's own error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitor.messages.blocks import Samples
from sim.models.thermal_population import characterize
from sim.models.thermal_slab import N_CELLS, conduction_temperature, series_temperature
from sim.models.thermal_tables import (
    APPLICATION,
    CHECK,
    CHECK_CONDUCTIVITY,
    CHECK_HEAT_CAPACITY,
    LEVELS,
    check_values,
    configurations,
    material,
)

_CONVERGENCE = (N_CELLS // 4, N_CELLS // 2, N_CELLS, 2 * N_CELLS)


@dataclass(frozen=True, slots=True, eq=False)
class Convergence:
    """Error of the finite volumes at the front at the end of the application, degC.

    Parameters
    ----------
    n_cells : (n,), and as many steps in time.
    constant : (n,), against eq. 2 with enough terms.
    temperature_dependent : (n,), against eight times as many cells and steps as the most.
    """

    n_cells: tuple[int, ...]
    constant: Samples
    temperature_dependent: Samples


def table_2() -> Samples:
    """Return (10, 3): time in s, Table 2, and eq. 2 by us."""
    known = check_values()
    ours = series_temperature(configurations()[CHECK], known.time, CHECK_CONDUCTIVITY, CHECK_HEAT_CAPACITY)
    return np.column_stack([known.time, known.temperature, ours])


def convergence() -> Convergence:
    """Solve the application with ever more cells and steps, for the mean specimen of High."""
    test, time = configurations()[APPLICATION], [100.0, 1000.0]
    known = characterize(material(LEVELS[-1]))
    middle = known.line.at(known.representative_temperature), known.capacity.at(0.0)
    exact = float(series_temperature(test, time, *middle, n_terms=60)[-1, 0])

    def front(conductivity: float, slope: float, n: int) -> float:
        found = conduction_temperature(test, time, conductivity, slope, middle[1], n_cells=n, n_steps=n)
        return float(found[-1, 0, 0])

    sloped = known.line.at(0.0), known.line.slope
    finest = front(*sloped, 8 * _CONVERGENCE[-1])
    errors = [(front(middle[0], 0.0, n) - exact, front(*sloped, n) - finest) for n in _CONVERGENCE]
    return Convergence(_CONVERGENCE, *np.array(errors).T)
