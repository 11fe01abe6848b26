"""Temperatures of a slab heated on its front: Fourier's series for constant properties, finite volumes for others.

The compiled inner loops run over specimens, whose numbers lie next to each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sim.arrays import Integers, Samples
from sim.kernels import inlined, kernel

# of finite volumes: with as many the error is some hundredths of a degree
N_CELLS, N_STEPS = 48, 48
# specimens at a time
_LANES = 32
# of the two stages: the second is the step's end
_GAMMA = 1.0 - sqrt(0.5)
_AGAIN = (1.0 - _GAMMA) / _GAMMA
# degC: the next correction is as small as its square times slope over conductivity
_CONVERGED = 1e-4
_MOST_CORRECTIONS = 25


@dataclass(frozen=True, slots=True)
class SlabTest:
    """What is done to a specimen (Dowding, Pilch and Hills 2006, Fig. 1).

    Parameters
    ----------
    flux : W/m^2, into the front from time zero on.
    thickness : m.
    initial_temperature : degC, of all of it.
    """

    flux: float
    thickness: float
    initial_temperature: float = 25.0


def series_temperature(
    test: SlabTest,
    time: ArrayLike,
    conductivity: ArrayLike,
    heat_capacity: ArrayLike,
    depth: float = 0.0,
    n_terms: int = 6,
) -> Samples:
    """Return the temperature of specimens whose properties do not change with it.

    Dowding, Pilch and Hills (2006), eq. 2.

    Six terms are the challenge's. They leave less than 1e-6 flux * thickness / k of the whole series from
    0.02 L^2/alpha on, where alpha is k/(rho C_p); earlier, 1.2 L/sqrt(alpha t) of them are needed. Where t = 0 the
    temperature is the initial one, which no number of terms would give.

    Parameters
    ----------
    test : what is done to them.
    time : (n_times,), s.
    conductivity : (n,), W/(m K).
    heat_capacity : (n,), volumetric, J/(m^3 K).
    depth : share of the thickness from the front.
    n_terms : of the series.

    Returns
    -------
    temperature : (n_times, n), degC.
    """
    time, k, capacity = (np.atleast_1d(np.asarray(a, dtype=np.float64)) for a in (time, conductivity, heat_capacity))
    # Fourier number: time in units of what heat takes to cross the slab
    fourier = time[:, None] * (k / capacity / test.thickness**2)
    shape = fourier + (1.0 / 3.0 - depth + 0.5 * depth * depth)
    for n in range(1, n_terms + 1):
        wave = n * np.pi
        shape -= 2.0 / wave**2 * np.cos(wave * depth) * np.exp(-(wave**2) * fourier)
    shape[time == 0.0] = 0.0
    return np.asarray(test.initial_temperature + test.flux * test.thickness / k * shape)


def conduction_temperature(
    test: SlabTest,
    time: ArrayLike,
    conductivity: ArrayLike,
    slope: ArrayLike,
    heat_capacity: ArrayLike,
    depths: Sequence[float] = (0.0,),
    *,
    n_cells: int = N_CELLS,
    n_steps: int = N_STEPS,
) -> Samples:
    """Return the temperature of specimens with k(T) = conductivity + slope T.

    rho C_p dT/dt = d/dx(k(T) dT/dx), with the flux at the front and none at the back. There are nodes on both faces.
    Between two nodes the flux is the difference of the integral of k over T, which is exact for a line. In time it is
    a diagonally implicit Runge-Kutta rule of order two that damps every mode (Alexander 1977); Newton's method solves
    its stages. The steps grow from time zero on, because the temperature begins as the root of the time. The error
    falls by four for twice as many cells and steps: with the defaults it is about 0.2 degC at the first instants of
    the challenge, and at the end of the application 0.03 degC with a slope of zero and 0.02 with that of its data.

    Parameters
    ----------
    test : what is done to the specimens.
    time : (n_times,), s, rising.
    conductivity : (n,), W/(m K), at 0 degC.
    slope : (n,) or one number, W/(m K^2); 0: constant properties.
    heat_capacity : (n,), J/(m^3 K).
    depths : shares of the thickness from the front; between nodes along a straight line.
    n_cells : of the slab.
    n_steps : in time, besides the requested instants.

    Returns
    -------
    temperature : (n_times, n_depths, n), degC.

    Raises
    ------
    ValueError : the steps find no solution, as where k falls to zero in the heat.
    """
    instants = np.atleast_1d(np.asarray(time, dtype=np.float64))
    given = (np.asarray(each, dtype=np.float64) for each in (conductivity, slope, heat_capacity))
    k, rise, capacity = (np.array(each, order="C") for each in np.broadcast_arrays(*map(np.atleast_1d, given)))
    places = np.array(depths) * n_cells
    grid, rows = _time_grid(instants, n_steps)
    nodes = np.minimum(places.astype(np.int64), n_cells - 1)
    found = np.empty((len(instants), len(nodes), len(k)))
    numbers = test.flux, test.thickness / n_cells, test.initial_temperature
    if not _advance(k, rise, capacity, *numbers, n_cells + 1, grid, rows, nodes, places - nodes, found):
        raise ValueError("slab conductivity: the heat equation has no solution; is it positive at all temperatures?")
    return found


def _time_grid(instants: Samples, n_steps: int) -> tuple[Samples, NDArray[np.int64]]:
    """Return all instants of the integration, from zero, and the places of those asked for among them."""
    end = float(instants[-1]) if len(instants) else 0.0
    graded = end * (np.arange(n_steps + 1) / n_steps) ** 2
    # one that nearly is an instant asked for would only make a step of no length
    distance = np.abs(graded[:, None] - instants).min(axis=1, initial=np.inf)
    grid = np.union1d(graded[distance > 1e-9 * end], np.append(instants, 0.0))
    return grid, np.searchsorted(grid, instants)


@kernel
def _advance(
    conductivity: Samples,
    slope: Samples,
    heat_capacity: Samples,
    flux: float,
    width: float,
    initial: float,
    n_nodes: int,
    grid: Samples,
    rows: Integers,
    nodes: Integers,
    shares: Samples,
    out: Samples,
) -> bool:
    """Fill `out` with the temperatures, and return whether Newton's method converged everywhere.

    Parameters
    ----------
    conductivity, slope, heat_capacity : (n,): k(T) = conductivity + slope T, and what a volume takes up.
    flux, width, initial : into the front, of a cell, and the temperature at the start.
    n_nodes : on the faces of the cells; the two at the ends have half a volume.
    grid : (n_steps + 1,), the instants of the integration, from zero.
    rows : (n_times,), those of them that are asked for.
    nodes, shares : (n_depths,), the node before each depth, and the share of the cell beyond it.
    out : (n_times, n_depths, n).
    """
    n = len(conductivity)
    now = np.empty((n_nodes, _LANES))  # at the start of a step
    change = np.empty((n_nodes, _LANES))  # in the last step
    base = np.empty((n_nodes, _LANES))  # what a stage counts its change from
    stage = np.empty((n_nodes, _LANES))
    # into each node from the one before, times the width; nothing leaves the last
    flow = np.zeros((n_nodes + 1, _LANES))
    work = np.empty((3, n_nodes, _LANES)), np.empty((2, _LANES))
    k0, k1, capacity, volume = np.empty(_LANES), np.empty(_LANES), np.empty(_LANES), np.empty(_LANES)
    for first in range(0, n, _LANES):
        lanes = min(_LANES, n - first)
        for i in range(lanes):
            k0[i] = conductivity[first + i]
            k1[i] = slope[first + i]
            capacity[i] = heat_capacity[first + i] * width * width
            for node in range(n_nodes):
                now[node, i] = initial
                change[node, i] = 0.0
        asked = 0
        for step in range(len(grid)):
            if step > 0:
                dt = grid[step] - grid[step - 1]
                # Newton starts from an extrapolation of the last step
                ahead = _GAMMA * dt / (grid[step - 1] - grid[step - 2]) if step > 1 else 0.0
                for i in range(lanes):
                    volume[i] = capacity[i] / (_GAMMA * dt)
                for node in range(n_nodes):
                    for i in range(lanes):
                        base[node, i] = now[node, i]
                        stage[node, i] = now[node, i] + ahead * change[node, i]
                for which in range(2):
                    if which == 1:
                        for node in range(n_nodes):
                            for i in range(lanes):
                                gained = stage[node, i] - now[node, i]
                                base[node, i] += _AGAIN * gained
                                stage[node, i] = now[node, i] + gained / _GAMMA
                    if not _solve_stage(stage, base, k0, k1, volume, flux * width, flow, work, lanes):
                        return False
                for node in range(n_nodes):
                    for i in range(lanes):
                        change[node, i] = stage[node, i] - now[node, i]
                        now[node, i] = stage[node, i]
            if asked < len(rows) and rows[asked] == step:
                for depth in range(len(nodes)):
                    node, share = nodes[depth], shares[depth]
                    for i in range(lanes):
                        out[asked, depth, first + i] = (1.0 - share) * now[node, i] + share * now[node + 1, i]
                asked += 1
    return True


@inlined
def _solve_stage(
    stage: Samples, base: Samples, k0: Samples, k1: Samples, volume: Samples, into: float, flow: Samples,
    work: tuple[Samples, Samples], lanes: int,
) -> bool:  # fmt: skip
    """Move a stage to where the heat balances, by Newton's method; return whether it converged.

    Loops write to one or two rows each: the compiler takes several lanes at once then.
    """
    # of the system: what is left of the upper diagonal and of the right side when the lower one is gone
    k, upper, right = work[0][0], work[0][1], work[0][2]
    pivot, size = work[1][0], work[1][1]
    n_nodes = len(stage)
    last = n_nodes - 1
    largest = np.inf
    corrections = 0
    while largest > _CONVERGED:
        if corrections == _MOST_CORRECTIONS or np.isnan(largest):
            return False
        corrections += 1
        for node in range(n_nodes):
            for i in range(lanes):
                k[node, i] = k0[i] + k1[i] * stage[node, i]
        for i in range(lanes):
            flow[0, i] = into
        for node in range(last):
            # the integral of k from one temperature to the other
            for i in range(lanes):
                mean = 0.5 * (k[node, i] + k[node + 1, i])
                flow[node + 1, i] = mean * (stage[node, i] - stage[node + 1, i])
        for i in range(lanes):
            pivot[i] = 1.0 / (0.5 * volume[i] + k[0, i])
        for i in range(lanes):
            upper[0, i] = -k[1, i] * pivot[i]
            gained = 0.5 * volume[i] * (stage[0, i] - base[0, i])
            right[0, i] = (flow[0, i] - flow[1, i] - gained) * pivot[i]
        for node in range(1, n_nodes):
            share = 1.0 if node < last else 0.5
            neighbours = 2.0 if node < last else 1.0
            for i in range(lanes):
                diagonal = share * volume[i] + neighbours * k[node, i]
                pivot[i] = 1.0 / (diagonal + k[node - 1, i] * upper[node - 1, i])
            if node < last:
                for i in range(lanes):
                    upper[node, i] = -k[node + 1, i] * pivot[i]
            for i in range(lanes):
                gained = share * volume[i] * (stage[node, i] - base[node, i])
                residual = flow[node, i] - flow[node + 1, i] - gained
                right[node, i] = (residual + k[node - 1, i] * right[node - 1, i]) * pivot[i]
        for i in range(lanes):
            size[i] = 0.0
        for node in range(last, -1, -1):
            if node < last:
                for i in range(lanes):
                    right[node, i] -= upper[node, i] * right[node + 1, i]
            for i in range(lanes):
                stage[node, i] += right[node, i]
                # what is not a number has reached the first node, which is the last here, and stays
                correction = abs(right[node, i])
                size[i] = size[i] if size[i] > correction else correction
        largest = 0.0
        for i in range(lanes):
            if not size[i] <= largest:
                largest = size[i]
    return True
