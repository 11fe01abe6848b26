"""The nonlinear heat equation in a slab, vectorised over specimens, compiled.

The inner loops run over specimens, whose numbers lie next to each other.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from sim.arrays import Integers, Samples
from sim.kernels import kernel

# specimens at a time
_LANES = 32
# of the two stages: the second is the step's end
_GAMMA = 1.0 - sqrt(0.5)
_AGAIN = (1.0 - _GAMMA) / _GAMMA
# degC: the next correction is as small as its square times slope over conductivity
_CONVERGED = 1e-4
_MOST_CORRECTIONS = 25


@kernel
def advance(
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
    last = n_nodes - 1
    now = np.empty((n_nodes, _LANES))  # at the start of a step
    change = np.empty((n_nodes, _LANES))  # in the last step
    base = np.empty((n_nodes, _LANES))  # what a stage counts its change from
    stage = np.empty((n_nodes, _LANES))
    k = np.empty((n_nodes, _LANES))
    flow = np.zeros(
        (n_nodes + 1, _LANES)
    )  # into each node from the one before, times the width; nothing leaves the last
    # of the system: what is left of the upper diagonal and of the right side when the lower one is gone
    upper = np.empty((n_nodes, _LANES))
    right = np.empty((n_nodes, _LANES))
    k0, k1, capacity, volume = np.empty(_LANES), np.empty(_LANES), np.empty(_LANES), np.empty(_LANES)
    pivot, size = np.empty(_LANES), np.empty(_LANES)
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
                    largest = np.inf
                    corrections = 0
                    while largest > _CONVERGED:
                        if corrections == _MOST_CORRECTIONS or np.isnan(largest):
                            return False
                        corrections += 1
                        # loops that write to one or two rows each: the compiler takes several lanes at once then
                        for node in range(n_nodes):
                            for i in range(lanes):
                                k[node, i] = k0[i] + k1[i] * stage[node, i]
                        for i in range(lanes):
                            flow[0, i] = flux * width
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
