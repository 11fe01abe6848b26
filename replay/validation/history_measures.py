"""How far a measured history is from a model: of one response by norms and warping, of an ensemble by the area."""

from __future__ import annotations

from dataclasses import dataclass
from math import atan2, copysign, hypot, inf, log10, nan, pi, sqrt
from typing import NamedTuple

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


SMALLEST_RECORD = 2


def check_pair(measured: Samples, model: Samples) -> tuple[Samples, Samples]:
    """Return two histories as float64 arrays that can be compared sample by sample.

    Parameters
    ----------
    measured, model : (n,), one unit, sampled at the same instants.

    Raises
    ------
    ValueError : not one-dimensional, of different lengths, fewer than two samples, or a sample that is no number.
    """
    measured, model = _same_length(measured, model)
    if len(measured) < SMALLEST_RECORD:
        raise ValueError(f"a comparison of histories needs at least {SMALLEST_RECORD} samples, not {len(measured)}")
    if not (np.isfinite(measured).all() and np.isfinite(model).all()):
        raise ValueError("a history has non-finite samples: leave them out of both, as common_samples does")
    return measured, model


def common_samples(measured: Samples, model: Samples) -> tuple[Samples, Samples, int]:
    """Return the samples where both histories are finite numbers, and how many instants were left out.

    Raises
    ------
    ValueError : not one-dimensional, or of different lengths.
    """
    measured, model = _same_length(measured, model)
    good = np.isfinite(measured) & np.isfinite(model)
    return measured[good], model[good], int(len(good) - np.count_nonzero(good))


def _same_length(measured: Samples, model: Samples) -> tuple[Samples, Samples]:
    measured, model = np.asarray(measured, dtype=np.float64), np.asarray(model, dtype=np.float64)
    if measured.ndim != 1 or measured.shape != model.shape:
        shapes = f"{measured.shape} measured and {model.shape} of the model"
        raise ValueError(f"histories must be two rows of samples of one length, not {shapes}: resample one of them")
    return measured, model


class HistoryDifference(NamedTuple):
    """Magnitude, phase and combined error, all 1; 0 is a perfect model."""

    magnitude: float
    phase: float
    combined: float


def sprague_geers(measured: Samples, model: Samples) -> HistoryDifference:
    """Return Sprague and Geers' errors of a model's history.

    Parameters
    ----------
    measured, model : (n,), one unit, sampled uniformly at the same instants.

    Notes
    -----
    ``M = sqrt(sum m^2 / sum e^2) - 1``, with m the model and e the measurement: positive if the model is too large.
    ``P = arccos(sum m e / sqrt(sum m^2 sum e^2)) / pi``: from 0 to 1, without a sign: it does not show which leads.
    ``C = sqrt(M^2 + P^2)``.

    Where the measurement is zero throughout, all three are NaN; where only the model is, M is -1 and the others NaN.

    Sources: Sprague and Geers, A spectral-element method for modelling cavitation in transient fluid-structure
    interaction, Int. J. Numer. Meth. Engng 60 (2004); Schwer, Validation metrics for response histories,
    Engineering with Computers 23 (2007). P over pi is the form of 2004; Geers' of 1984 is 1 minus the cosine.
    """
    ratio, phase = _ratio_and_phase(*check_pair(measured, model))
    magnitude = ratio - 1.0
    return HistoryDifference(magnitude, phase, hypot(magnitude, phase))


def russell(measured: Samples, model: Samples) -> HistoryDifference:
    """Return Russell's errors of a model's history; the combined one is his comprehensive error.

    Parameters
    ----------
    measured, model : (n,), one unit, sampled uniformly at the same instants.

    Notes
    -----
    ``m = (sum m^2 - sum e^2) / sqrt(sum m^2 sum e^2)`` and ``M = sign(m) log10(1 + |m|)``, with m the model and e the
    measurement: positive where the model is larger, and it only changes its sign when the two change places.
    ``P`` is Sprague and Geers'. ``C = sqrt(pi/4 (M^2 + P^2))``.

    All three are NaN where one of the two is zero throughout.

    Source: Russell, Error measures for comparing transient data, parts I and II, 68th Shock and Vibration
    Symposium (1997).
    """
    ratio, phase = _ratio_and_phase(*check_pair(measured, model))
    if not ratio > 0.0:
        return HistoryDifference(nan, nan, nan)
    relative = ratio - 1.0 / ratio
    magnitude = copysign(log10(1.0 + abs(relative)), relative)
    return HistoryDifference(magnitude, phase, sqrt(pi / 4.0) * hypot(magnitude, phase))


def _ratio_and_phase(measured: Samples, model: Samples) -> tuple[float, float]:
    size_measured, size_model = norm(measured), norm(model)
    if size_measured == 0.0:
        return nan, nan
    ratio = size_model / size_measured
    if size_model == 0.0:
        return ratio, nan
    e, m = measured / size_measured, model / size_model
    # half the angle from the sum and the difference: the arccosine loses every phase below 1e-8
    return ratio, 2.0 / pi * atan2(norm(m - e), norm(m + e))


def norm(samples: Samples) -> float:
    """Return the square root of the sum of squares, without overflow or underflow on the way."""
    largest = float(np.max(np.abs(samples)))
    return largest * float(np.linalg.norm(samples / largest)) if largest > 0.0 else 0.0


def relative_rms_error(measured: Samples, model: Samples) -> float:
    """Return the rms difference of two histories over the measured rms, 1; NaN where the measurement is all zeros.

    Parameters
    ----------
    measured, model : (n,), one unit, sampled uniformly at the same instants.
    """
    measured, model = check_pair(measured, model)
    size = norm(measured)
    return norm(model / size - measured / size) if size > 0.0 else nan


def time_warping_distance(measured: Samples, model: Samples, window: int) -> float:
    """Return the normalised dynamic time warping distance of two histories, 1.

    ``sqrt(min sum (m[i] - e[j])^2) / sqrt(sum e^2)``, the least over all paths of steps (1, 1), (1, 0) and (0, 1)
    from the first pair of samples to the last that keep ``|i - j| <= window``. Divided by the measured signal's norm,
    not by the path's length, it needs no path, and it reads as a relative rms error: with a window of 0 it is
    `relative_rms_error`, and a wider window can only make it smaller. NaN where the measurement is all zeros.

    Parameters
    ----------
    measured, model : (n,), one unit, sampled uniformly at the same instants.
    window : samples, the largest shift of one history against the other (the band of Sakoe and Chiba).

    Raises
    ------
    ValueError : the window is negative; the histories do not fit, see `check_pair`.

    Notes
    -----
    Two rows of the band are stored, so that memory grows with the window only, and the record is never decimated;
    time grows as n times the window: 20 000 samples take half a second with a tenth of the record, 2.4 s without
    a band.

    Source: Sakoe and Chiba, IEEE Transactions on Acoustics, Speech, and Signal Processing 26 (1978), with squared
    differences and unit weights.
    """
    from dtaidistance.dtw import distance_fast

    measured, model = check_pair(measured, model)
    if window < 0:
        raise ValueError(f"the warping window is {window} samples: give 0 for no warping, or more")
    size = norm(measured)
    if size == 0.0:
        return nan
    # the library's window counts the diagonal; its pruning by the unwarped distance loses paths to rounding
    band = min(window, len(measured)) + 1
    return float(distance_fast(model / size, measured / size, window=band, use_pruning=False))


# of the record: the largest warping that is usual, and that ISO/TS 18571 allows
_WARPING_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class HistoryComparison:
    """A model's history against a measured one.

    A measure is NaN where it means nothing: all where the measurement is zero throughout, all but the Sprague and
    Geers magnitude, the relative rms error and the time warping distance where the model is.

    Parameters
    ----------
    n_samples : instants compared.
    left_out : instants at which one of the two was no number.
    warping_window : s, the largest shift that the time warping was allowed.
    """

    n_samples: int
    left_out: int
    warping_window: float
    sprague_geers_magnitude: float
    sprague_geers_phase: float
    sprague_geers_combined: float
    russell_magnitude: float
    russell_phase: float
    russell_comprehensive: float
    relative_rms_error: float
    time_warping_distance: float


def compare_histories(
    measured: Samples, model: Samples, dt: float, *, warping_window: float | None = None
) -> HistoryComparison:
    """Return every measure of a model's history against a measured one.

    Parameters
    ----------
    measured, model : (n,), one unit, sampled uniformly at the same instants. Instants at which one of them is no
        number are left out of both and counted; samples on either side of such a gap become neighbours, which
        only the time warping may show.
    dt : s, the time step.
    warping_window : s, the largest shift of the time warping; a tenth of the record where it is not given.

    Raises
    ------
    ValueError : different lengths, fewer than two common samples, a time step or window that is no length of time.
    """
    if not 0.0 < dt < inf:
        raise ValueError(f"the time step is {dt} s: give a finite one above 0")
    measured, model, left_out = common_samples(measured, model)
    n = len(measured)
    if n < SMALLEST_RECORD:
        raise ValueError(f"{n} samples are numbers in both histories: a comparison needs at least {SMALLEST_RECORD}")
    if warping_window is None:
        warping_window = _WARPING_SHARE * n * dt
    if not 0.0 <= warping_window < inf:
        raise ValueError(f"the warping window is {warping_window} s: give 0 for no warping, or a finite one above it")
    window = round(min(warping_window / dt, n))
    return HistoryComparison(
        n,
        left_out,
        window * dt,
        *sprague_geers(measured, model),
        *russell(measured, model),
        relative_rms_error(measured, model),
        time_warping_distance(measured, model, window),
    )
