"""All measures of a model's history against a measured one, with units and sources; time warping."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, nan
from types import MappingProxyType
from typing import NamedTuple

from monitor.messages.blocks import Samples
from replay.comparison.error_measures import SMALLEST_RECORD, check_pair, common_samples, norm, russell, sprague_geers


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


class Measure(NamedTuple):
    """The unit of a measure, and in one line what it says and where it comes from."""

    unit: str
    meaning: str


MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        "sprague_geers_magnitude": Measure("1", "model over measured rms, minus 1 (Sprague and Geers 2004)"),
        "sprague_geers_phase": Measure("1", "angle between the histories over pi, 0 to 1 (Sprague and Geers 2004)"),
        "sprague_geers_combined": Measure("1", "root of the squares of both (Sprague and Geers 2004)"),
        "russell_magnitude": Measure("1", "signed logarithm of the relative difference in energy (Russell 1997)"),
        "russell_phase": Measure("1", "angle between the histories over pi, 0 to 1 (Russell 1997)"),
        "russell_comprehensive": Measure("1", "root of pi/4 times the squares of both (Russell 1997)"),
        "relative_rms_error": Measure("1", "rms difference over measured rms"),
        "time_warping_distance": Measure(
            "1", "relative rms error that warping the time within the window leaves (Sakoe and Chiba 1978)"
        ),
    }
)


@dataclass(frozen=True, slots=True)
class HistoryComparison:
    """A model's history against a measured one; every name in `MEASURES` is an attribute.

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


def compare(
    measured: Samples, model: Samples, dt: float, *, warping_window: float | None = None
) -> HistoryComparison:
    """Return every measure of a model's history against a measured one.

    Parameters
    ----------
    measured, model : (n,), one unit, sampled uniformly at the same instants. Instants at which one of them is no
        number are left out of both and counted; what stood on either side of such a hole becomes neighbours, which
        only the time warping can tell.
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
