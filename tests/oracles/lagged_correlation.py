"""The lag of one history behind another, by the coefficient of what they have in common at each shift."""

from __future__ import annotations

import numpy as np


def lag_by_each_shift(time, response, instants, model, largest):
    """Return the shift of the largest coefficient, s, by a parabola between steps; NaN where there is none."""
    dt = (instants[-1] - instants[0]) / (len(instants) - 1)
    reach = int(largest / dt)
    fewest = max(3, int(((instants >= time[0]) & (instants <= time[-1])).sum()) // 2)
    shifts = dt * np.arange(-reach, reach + 1)
    found = np.array([coefficient(time, response, instants + shift, model, fewest) for shift in shifts.tolist()])
    if np.isnan(found).all():
        return float("nan")
    best = int(np.nanargmax(found))
    if best in (0, 2 * reach) or np.isnan(found[best - 1 : best + 2]).any() or found[best] < 0.5:
        return float("nan")
    before, here, after = found[best - 1 : best + 2]
    return shifts[best] + 0.5 * dt * (before - after) / (before - 2.0 * here + after)


def coefficient(time, response, at, model, fewest):
    """Return Pearson's coefficient of the model and the record at these instants, where there is one."""
    common = (at >= time[0]) & (at <= time[-1])
    if common.sum() < fewest:
        return float("nan")
    y, m = np.interp(at[common], time, response), model[common]
    return float(np.corrcoef(y, m)[0, 1]) if np.ptp(y) > 0.0 and np.ptp(m) > 0.0 else float("nan")
