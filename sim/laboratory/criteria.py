"""J1 to J9: how well a hybrid test of the benchmark building tracks its commands and repeats the whole building."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from sim.arrays import Samples


class Criteria(NamedTuple):
    """The criteria of Silva et al. 2020, each of the shape of the tests; NaN for a test that diverged.

    ``j1`` delay of the measured signal in ms, in whole samples. ``j2`` standard deviation of its error over that of
    the command, percent. ``j3`` largest error over the largest command, percent. ``j4`` to ``j6`` the same as ``j2``
    of the floors, from the first up, against the whole building; ``j7`` to ``j9`` the same as ``j3``.
    """

    j1: Samples
    j2: Samples
    j3: Samples
    j4: Samples
    j5: Samples
    j6: Samples
    j7: Samples
    j8: Samples
    j9: Samples


def criteria(
    command: Samples,
    measured: Samples,
    floors: Samples,
    reference: Samples,
    sample_rate: float,
    max_delay: float = 1.0,
) -> Criteria:
    """Return the criteria of any number of tests.

    Parameters
    ----------
    command, measured : (n, ...) of the actuator, m.
    floors, reference : (n, ..., 3) displacement of the floors in the test and of the whole building, m. The first
        floor of the test is replaced by `measured`, as the problem has it: it is in the laboratory.
    sample_rate : Hz.
    max_delay : s; largest delay or lead that is searched.

    Raises
    ------
    ValueError : the signals are not of one shape, or the rate or `max_delay` is not a positive number.
    """
    if command.shape != measured.shape or floors.shape != (*command.shape, 3):
        shapes = f"command {command.shape}, measured {measured.shape}, floors {floors.shape}"
        raise ValueError(f"{shapes}: must be (n, ...), the same and (n, ..., 3)")
    if not (0.0 < sample_rate < inf and 0.0 < max_delay < inf):
        raise ValueError(f"sample_rate = {sample_rate} Hz, max_delay = {max_delay} s: must be positive numbers")
    moved = np.concatenate([measured[..., np.newaxis], floors[..., 1:]], axis=-1)
    rms, peak = _errors(moved, np.broadcast_to(reference, floors.shape))
    j2, j3 = _errors(measured, command)
    lags = _delays(command, measured, min(int(max_delay * sample_rate), len(command)))
    finite = np.isfinite(j2) & np.all(np.isfinite(rms), axis=-1)
    per_floor = (values[..., floor] for values in (rms, peak) for floor in range(3))
    every = 1000.0 / sample_rate * lags, j2, j3, *per_floor
    return Criteria(*(np.where(finite, values, np.nan) for values in every))


def _errors(found: Samples, wanted: Samples) -> tuple[Samples, Samples]:
    """Return (...) of (n, ...): standard deviation and peak of the error over those of what is wanted, percent."""
    error = found - wanted
    with np.errstate(divide="ignore", invalid="ignore"):
        rms = np.std(error, axis=0) / np.std(wanted, axis=0)
        peak = np.max(np.abs(error), axis=0) / np.max(np.abs(wanted), axis=0)
    return 100.0 * rms, 100.0 * peak


def _delays(command: Samples, measured: Samples, max_lag: int) -> Samples:
    """Return (...): the lag of the largest correlation in samples, NaN where it is not a maximum within the range."""
    n = len(command)
    lags = np.arange(-max_lag - 1, max_lag + 2)
    n_transform = 1 << (2 * n - 1).bit_length()
    found = np.empty(command.shape[1:])
    # one test at a time: the spectra of all would take gigabytes
    for test in np.ndindex(found.shape):
        spectra = [np.fft.rfft(_centred(x[(slice(None), *test)]), n_transform) for x in (command, measured)]
        correlation = np.fft.irfft(spectra[1] * spectra[0].conj(), n_transform)
        nearby = np.where(np.abs(lags) < n, correlation[lags % n_transform], 0.0)
        best = int(np.argmax(nearby))
        found[test] = lags[best] if 0 < best < len(lags) - 1 else np.nan
    return found


def _centred(x: Samples) -> Samples:
    """Return a signal without its mean, scaled to one: tiny motions would underflow in a product of spectra."""
    size = np.ptp(x)
    return (x - np.mean(x)) / size if size > 0.0 else np.zeros_like(x)
