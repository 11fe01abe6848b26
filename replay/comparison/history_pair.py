"""Two time histories on one uniform time axis: what is checked before they are compared."""

from __future__ import annotations

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
