"""Magnitude, phase and combined error of a model's history: Sprague and Geers, and Russell.

All rest on three integrals over the record, of the squares and of the product of the two histories. On a uniform
time axis the integrals are sums, and the time step cancels.
"""

from __future__ import annotations

from math import atan2, copysign, hypot, log10, nan, pi, sqrt
from typing import NamedTuple

import numpy as np

from monitor.messages.blocks import Samples

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


class HistoryError(NamedTuple):
    """Magnitude, phase and combined error, all 1; 0 is a perfect model."""

    magnitude: float
    phase: float
    combined: float


def sprague_geers(measured: Samples, model: Samples) -> HistoryError:
    """Return Sprague and Geers' errors of a model's history.

    Parameters
    ----------
    measured, model : (n,), one unit, sampled uniformly at the same instants.

    Notes
    -----
    ``M = sqrt(sum m^2 / sum e^2) - 1``, with m the model and e the measurement: positive if the model is too large.
    ``P = arccos(sum m e / sqrt(sum m^2 sum e^2)) / pi``: from 0 to 1, without a sign: it cannot say who leads.
    ``C = sqrt(M^2 + P^2)``.

    Where the measurement is zero throughout, all three are NaN; where only the model is, M is -1 and the others NaN.

    Sources: Sprague and Geers, A spectral-element method for modelling cavitation in transient fluid-structure
    interaction, Int. J. Numer. Meth. Engng 60 (2004); Schwer, Validation metrics for response histories,
    Engineering with Computers 23 (2007). P over pi is the form of 2004; Geers' of 1984 is 1 minus the cosine.
    """
    ratio, phase = _ratio_and_phase(*check_pair(measured, model))
    magnitude = ratio - 1.0
    return HistoryError(magnitude, phase, hypot(magnitude, phase))


def russell(measured: Samples, model: Samples) -> HistoryError:
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
        return HistoryError(nan, nan, nan)
    relative = ratio - 1.0 / ratio
    magnitude = copysign(log10(1.0 + abs(relative)), relative)
    return HistoryError(magnitude, phase, sqrt(pi / 4.0) * hypot(magnitude, phase))


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
