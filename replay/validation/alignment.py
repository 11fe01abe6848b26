"""How much a record lags the model: by cross-correlation, before the two are compared instant by instant."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft

from monitor.messages.blocks import Samples
from replay.validation.records import MeasuredRecord

# of the model's time, that a record is shifted at the most
LARGEST_SHARE = 0.1
# instants that a correlation needs
_FEWEST = 3
# under this the two have less than a quarter of their motion in common, and no shift is to be believed
_LEAST = 0.5
# of a step: what an instant may be off its place, as where times are written with few digits
_JITTER = 0.1
# of a history's whole power: what is less than that cannot be told from rounding
_STILL = 1e-10


def has_equal_steps(instants: Samples) -> bool:
    """Whether instants (n_instants,), s, rise in equal steps."""
    even = np.linspace(instants[0], instants[-1], len(instants))
    return len(instants) < _FEWEST or bool(np.abs(instants - even).max() <= _JITTER * (even[1] - even[0]))


def lag(record: MeasuredRecord, instants: Samples, model: Samples, largest: float | None = None) -> float:
    """Return by how much the record lags the model, s; positive: it is late.

    The shift at which the correlation coefficient of the two, over the time they then have in common, is largest;
    looked for in steps of the model, and between these by a parabola. NaN where there is none: too few samples, no
    motion, steps that are not equal, the largest stands at the end of the range, or even it is under a half.

    Parameters
    ----------
    record : the replicate; interpolated linearly.
    instants, model : (n_instants,), s, and the model's expectation there.
    largest : s; by default a tenth of the model's time.
    """
    known = np.isfinite(record.response)
    if len(instants) < _FEWEST or int(known.sum()) < _FEWEST or not has_equal_steps(instants):
        return float("nan")
    dt = float(instants[-1] - instants[0]) / (len(instants) - 1)
    largest = LARGEST_SHARE * float(instants[-1] - instants[0]) if largest is None else largest
    reach = int(largest / dt)
    time, response = record.time[known], record.response[known]
    fewest = max(_FEWEST, int(((instants >= time[0]) & (instants <= time[-1])).sum()) // 2)
    # every instant that any shift reads
    at = instants[0] + dt * np.arange(-reach, len(instants) + reach)
    inside = (at >= time[0]) & (at <= time[-1])
    coefficients = _coefficients(np.interp(at, time, response), inside, model, fewest)
    if not np.isfinite(coefficients).any():
        return float("nan")
    best = int(np.nanargmax(coefficients))
    if not 0 < best < 2 * reach or not np.isfinite(coefficients[best - 1 : best + 2]).all():
        return float("nan")
    if coefficients[best] < _LEAST:
        return float("nan")
    before, here, after = coefficients[best - 1 : best + 2].tolist()
    bend = before - 2.0 * here + after
    return dt * (best - reach + (0.5 * (before - after) / bend if bend < 0.0 else 0.0))


def _coefficients(record: Samples, inside: NDArray[np.bool_], model: Samples, fewest: int) -> Samples:
    """Return the correlation coefficient of the model with the record from each of its instants on.

    Parameters
    ----------
    record, inside : (n_instants + n_shifts - 1,), and where it is known.
    model : (n_instants,).
    fewest : instants that the two must have in common.

    Returns
    -------
    coefficients : (n_shifts,), NaN where there are fewer instants, or where either stands still.
    """
    n_shifts = len(record) - len(model) + 1
    if int(inside.sum()) < fewest:
        return np.full(n_shifts, np.nan)
    # without their means, or the powers would drown in them
    y = np.where(inside, record - record[inside].mean(), 0.0)
    m = model - model.mean()
    # a circle as long as the record: no shift that is asked for goes around it
    length = next_fast_len(len(record), real=True)
    records = rfft(np.stack([inside, y, y * y]), length)
    models = rfft(np.stack([np.ones(len(m)), m, m * m]), length).conj()

    def summed(power_of_record: int, power_of_model: int) -> Samples:
        """Return, for every shift, the sum of products over the instants in common."""
        product = records[power_of_record] * models[power_of_model]
        return np.asarray(irfft(product, length)[:n_shifts])

    count = np.rint(summed(0, 0))
    enough = count >= fewest
    count = np.where(enough, count, np.nan)
    sum_y, sum_m = summed(1, 0), summed(0, 1)
    power_y = summed(2, 0) - sum_y * sum_y / count
    power_m = summed(0, 2) - sum_m * sum_m / count
    moves = (power_y > _STILL * float(y @ y)) & (power_m > _STILL * float(m @ m))
    size = np.sqrt(np.where(moves, power_y * power_m, np.nan))
    return np.asarray((summed(1, 1) - sum_y * sum_m / count) / size)
