"""How much a record lags the model: by cross-correlation, before the two are compared instant by instant."""

from __future__ import annotations

import numpy as np

from monitor.blocks import Samples
from replay.validation.records import MeasuredRecord

# of the model's time, that a record is shifted at the most
LARGEST_SHARE = 0.1
# instants that a correlation needs
_FEWEST = 3
# under this the two have less than a quarter of their motion in common, and no shift is to be believed
_LEAST = 0.5


def lag(record: MeasuredRecord, instants: Samples, model: Samples, largest: float | None = None) -> float:
    """Return by how much the record lags the model, s; positive: it is late.

    The shift at which the correlation coefficient of the two, over the time they then have in common, is largest;
    looked for in steps of the model, and between these by a parabola. NaN where there is none: too few samples, no
    motion, the largest stands at the end of the range, or even it is under a half.

    Parameters
    ----------
    record : the replicate; interpolated linearly.
    instants, model : (n_instants,), s in equal steps, and the model's expectation there.
    largest : s; by default a tenth of the model's time.
    """
    known = np.isfinite(record.response)
    if len(instants) < _FEWEST or int(known.sum()) < _FEWEST:
        return float("nan")
    dt = float(instants[-1] - instants[0]) / (len(instants) - 1)
    largest = LARGEST_SHARE * float(instants[-1] - instants[0]) if largest is None else largest
    reach = int(largest / dt)
    shifts = dt * np.arange(-reach, reach + 1)
    time, response = record.time[known], record.response[known]
    fewest = max(_FEWEST, int(((instants >= time[0]) & (instants <= time[-1])).sum()) // 2)
    coefficients = np.array(
        [_correlation(time, response, instants + shift, model, fewest) for shift in shifts.tolist()]
    )
    if not np.isfinite(coefficients).any():
        return float("nan")
    best = int(np.nanargmax(coefficients))
    if not 0 < best < len(shifts) - 1 or not np.isfinite(coefficients[best - 1 : best + 2]).all():
        return float("nan")
    if coefficients[best] < _LEAST:
        return float("nan")
    before, here, after = coefficients[best - 1 : best + 2].tolist()
    bend = before - 2.0 * here + after
    return float(shifts[best] + (0.5 * dt * (before - after) / bend if bend < 0.0 else 0.0))


def _correlation(time: Samples, response: Samples, at: Samples, model: Samples, fewest: int) -> float:
    common = (at >= time[0]) & (at <= time[-1])
    if int(common.sum()) < fewest:
        return float("nan")
    y, m = np.interp(at[common], time, response), model[common]
    y, m = y - y.mean(), m - m.mean()
    power = float(y @ y) * float(m @ m)
    return float(y @ m) / power**0.5 if power > 0.0 else float("nan")
