"""What the last turn of a hysteresis loop dissipates."""

from __future__ import annotations

from math import inf, nan

import numpy as np

from monitor.messages.blocks import Samples, same_unit

_FEWEST = 12  # samples of a turn
_NOTHING = 1e-9  # of the box around a loop: an area that small is made of rounding
_WORK = (("m", "N", "J"), ("m", "kN", "kJ"), ("mm", "kN", "J"), ("mm", "N", "mJ"))


def loop_energy(displacement: Samples, force: Samples, sample_rate: float, frequency: float) -> float:
    """Return the area of the last turn, in the product of the units: > 0 where the loop takes energy up.

    The turn is closed by a straight line from its newest point to its oldest, so that what a spring stores does not
    count. NaN where the samples, (n_samples,) each, do not hold a turn of `frequency` [Hz] without a gap.
    """
    if not 0.0 < frequency < inf:
        return nan
    turn = sample_rate / frequency
    if not turn < len(displacement) + 1:
        return nan
    n_turn = round(turn)
    if not _FEWEST <= n_turn <= len(displacement):
        return nan
    x, f = displacement[-n_turn:], force[-n_turn:]
    # about a point of the loop: an offset costs no digits
    x, f = x - x[0], f - f[0]
    area = float(np.sum((f + np.roll(f, -1)) * (np.roll(x, -1) - x)) / 2.0)
    return 0.0 if abs(area) <= _NOTHING * float(np.ptp(x) * np.ptp(f)) else area


def work_unit(displacement: str, force: str) -> str:
    """Return the unit of a force's work."""
    for one, other, work in _WORK:
        if displacement and force and same_unit(displacement, one) and same_unit(force, other):
            return work
    return f"{force}·{displacement}".strip("·")
