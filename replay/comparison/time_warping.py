"""What remains of a model's error when its time axis may be stretched and squeezed: dynamic time warping."""

from __future__ import annotations

from math import nan

from dtaidistance.dtw import distance_fast

from monitor.messages.blocks import Samples
from replay.comparison.error_measures import norm
from replay.comparison.history_pair import check_pair


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
    Two rows of the band are kept, so that memory grows with the window only, and the record is never decimated; time
    grows as n times the window: 20 000 samples take half a second with a tenth of the record, 2.4 s without a band.

    Source: Sakoe and Chiba, IEEE Transactions on Acoustics, Speech, and Signal Processing 26 (1978), with squared
    differences and unit weights.
    """
    measured, model = check_pair(measured, model)
    if window < 0:
        raise ValueError(f"the warping window is {window} samples: give 0 for no warping, or more")
    size = norm(measured)
    if size == 0.0:
        return nan
    # the library's window counts the diagonal; its pruning by the unwarped distance loses paths to rounding
    band = min(window, len(measured)) + 1
    return float(distance_fast(model / size, measured / size, window=band, use_pruning=False))
