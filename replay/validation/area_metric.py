"""The area between the distributions of a model and of its measurements, at every instant and pooled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitor.messages.blocks import Samples
from monitor.reliability.ensemble import Ranks

Index = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class AreaMetric:
    """How far the measurements lie from the model's distribution; see `area_metric`.

    Parameters
    ----------
    area : (n_times,), in the signal's unit, 0 for equal distributions.
    u_values : (n_times, n_replicates), 1, each measurement's place in the model's distribution.
    u_area : 1, the area of all u values against the uniform distribution: 0 is perfect, 1/2 the worst.
    """

    area: Samples
    u_values: Samples
    u_area: float


def area_metric(measured: Samples, model: Samples, order: Ranks | None = None) -> AreaMetric:
    """Return the area metric of an ensemble against replicates, at every instant and by u-pooling.

    Parameters
    ----------
    measured : (n_times, n_replicates), in the model's unit.
    model : (n_times, n_realizations).
    order : (n_times, n_realizations): at every instant the realizations by rising response, where that is known; by
        default they are sorted.

    Returns
    -------
    AreaMetric : NaN at instants with a sample that is not finite; they are left out of the pooled area.

    Raises
    ------
    ValueError : not two ensembles over the same instants, or an order of another shape.

    Notes
    -----
    The area is ``integral |F(x) - G(x)| dx`` between the two empirical distribution functions. Turned on its side it
    is the integral of ``|x(p) - y(p)|`` over the probability p, a sum over cells on which both sorted samples stand
    still. A u value is ``F(y)``, with half of the realizations that equal y. Where the measurements come from the
    model, the u values are uniform.

    Source: Ferson, Oberkampf and Ginzburg, Model validation and predictive capability for the thermal challenge
    problem, Comput. Methods Appl. Mech. Engrg 197 (2008).
    """
    measured, model = _same_instants(measured, model)
    if order is not None and order.shape != model.shape:
        raise ValueError(f"the order has shape {order.shape}, the model {model.shape}: compute it again")
    (n_times, n_replicates), n_realizations = measured.shape, model.shape[1]
    of_model, of_measured, width = _cells(n_realizations, n_replicates)
    area, u_values = np.full(n_times, np.nan), np.full((n_times, n_replicates), np.nan)
    for i in range(n_times):
        x = np.sort(model[i]) if order is None else model[i][order[i]]
        y = np.sort(measured[i])
        # not-a-numbers are sorted to the end, infinities to either
        if not np.isfinite([x[0], x[-1], y[0], y[-1]]).all():
            continue
        area[i] = np.abs(x[of_model] - y[of_measured]) @ width
        below, up_to = (np.searchsorted(x, measured[i], side) for side in ("left", "right"))
        u_values[i] = (below + up_to) / (2.0 * n_realizations)
    return AreaMetric(area, u_values, u_pooling_area(u_values))


def u_pooling_area(u_values: Samples) -> float:
    """Return the area between the empirical distribution of u values and the uniform one: 0 to 1/2.

    A perfect model with n independent values has ``sqrt(pi / 32 n)``, about ``0.31 / sqrt(n)``, on average; values of
    neighbouring instants are not independent and leave more.

    Parameters
    ----------
    u_values : any shape, from 0 to 1; NaN is left out, and nothing at all gives NaN.

    Raises
    ------
    ValueError : a value outside 0 to 1.
    """
    u = np.sort(u_values[np.isfinite(u_values)])
    if not len(u):
        return float("nan")
    if u[0] < 0.0 or u[-1] > 1.0:
        raise ValueError(f"u values are probabilities from 0 to 1, not {u[0]:g} to {u[-1]:g}")
    edges = np.arange(len(u) + 1) / len(u)
    above, below = edges[1:] - u, edges[:-1] - u
    # the integral of |p - u| over the cell of each value
    return float(0.5 * np.sum(above * np.abs(above) - below * np.abs(below)))


def _cells(n_model: int, n_measured: int) -> tuple[Index, Index, Samples]:
    """Return the cells of probability on which neither quantile function changes: the samples there, and their width.

    In whole steps of 1 / (n_model n_measured), so that no cell is lost to rounding.
    """
    edges = np.union1d(np.arange(n_model + 1) * n_measured, np.arange(n_measured + 1) * n_model)
    start = edges[:-1]
    return start // n_measured, start // n_model, np.diff(edges) / (n_model * n_measured)


def _same_instants(measured: Samples, model: Samples) -> tuple[Samples, Samples]:
    measured, model = np.asarray(measured, dtype=np.float64), np.asarray(model, dtype=np.float64)
    if measured.ndim != 2 or model.ndim != 2 or len(measured) != len(model) or not measured.size or not model.size:
        shapes = f"{measured.shape} measured and {model.shape} of the model"
        raise ValueError(f"the area metric needs (n_times, n_replicates) and (n_times, n_realizations), not {shapes}")
    return measured, model
