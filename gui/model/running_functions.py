"""Functions of formulas that depend on earlier samples: derivative, integral, filters, delay.

Each is called with consecutive blocks, (n_samples,), and any division into blocks gives the same bits. A missing
sample (NaN or infinite) has no value, and the function restarts after it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Protocol

import numpy as np

from monitor.messages.blocks import Samples

MAX_DELAY = 10.0
"""s, of which samples are stored."""


class RunningFunction(Protocol):
    """A function with state."""

    def __call__(self, x: Samples) -> Samples:
        """Return the values of the next block."""
        ...


class Derivative:
    """Difference to the sample before, times the sample rate: the derivative half a sample earlier."""

    def __init__(self, rate: float) -> None:
        self._rate, self._last = rate, math.nan

    def __call__(self, x: Samples) -> Samples:
        """Return the values of the next block."""
        steps: Samples = np.diff(x, prepend=self._last) * self._rate
        self._last = float(x[-1])
        return steps


class Integral:
    """Integral by the trapezoidal rule, from 0 at the first sample."""

    def __init__(self, rate: float) -> None:
        self._half_step, self._last, self._total = 0.5 / rate, math.nan, 0.0

    def __call__(self, x: Samples) -> Samples:
        """Return the values of the next block."""
        before = np.concatenate(([self._last], x[:-1]))
        steps = (before + x) * self._half_step
        restarts = np.flatnonzero(~np.isfinite(steps))
        found = np.empty(len(x))
        total, first = self._total, 0
        for stop in (*restarts.tolist(), len(x)):
            # accumulated from the left in order, so that blocks do not matter
            found[first:stop] = np.cumsum(np.concatenate(([total], steps[first:stop])))[1:]
            if stop < len(x):
                found[stop] = 0.0 if math.isfinite(x[stop]) else math.nan
            total, first = 0.0, stop + 1
        self._last, self._total = float(x[-1]), float(found[-1])
        return found


class SecondOrderFilter:
    """Causal Butterworth filter of second order; it starts as if the first sample had lasted for ever.

    Parameters
    ----------
    cutoff : Hz, at which the amplitude is 1/sqrt(2); below half the rate.
    rate : Hz.
    high : passes what is above the cutoff.
    """

    def __init__(self, cutoff: float, rate: float, *, high: bool = False) -> None:
        warped = math.tan(math.pi * cutoff / rate)
        scale = 1.0 / (1.0 + math.sqrt(2.0) * warped + warped**2)
        b0, b1 = (scale, -2.0 * scale) if high else (warped**2 * scale, 2.0 * warped**2 * scale)
        a1, a2 = 2.0 * (warped**2 - 1.0) * scale, (1.0 - math.sqrt(2.0) * warped + warped**2) * scale
        self._coefficients = np.array([b0, b1, b0, a1, a2, 0.0 if high else 1.0])
        self._state = np.full(2, math.nan)

    def __call__(self, x: Samples) -> Samples:
        """Return the values of the next block."""
        found = np.empty(len(x))
        _compiled_filter()(np.ascontiguousarray(x), self._coefficients, self._state, found)
        return found


def _filter(x: Samples, coefficients: Samples, state: Samples, found: Samples) -> None:
    """Filter in transposed direct form II; a NaN in `state` starts it in its steady state."""
    b0, b1, b2, a1, a2, gain = coefficients
    for i in range(len(x)):
        value = x[i]
        if not math.isfinite(value):
            found[i] = state[0] = math.nan
            continue
        if math.isnan(state[0]):
            state[1] = (b2 - a2 * gain) * value
            state[0] = (b1 - a1 * gain) * value + state[1]
        filtered = b0 * value + state[0]
        state[0] = b1 * value - a1 * filtered + state[1]
        state[1] = b2 * value - a2 * filtered
        found[i] = filtered


@cache
def _compiled_filter() -> Callable[[Samples, Samples, Samples, Samples], None]:
    # numba takes half a second to import, and most windows have no filter
    from monitor.kernel import kernel

    return kernel(_filter)


class Delay:
    """The signal as it was some time before; between two samples it is interpolated linearly.

    It has no value until that time has passed without a missing sample.
    """

    def __init__(self, seconds: float, rate: float) -> None:
        rows = seconds * rate
        whole = math.floor(rows + 1e-9)
        self._share = max(0.0, rows - whole) if rows - whole > 1e-9 else 0.0
        self._before = np.full(whole + bool(self._share), math.nan)

    def __call__(self, x: Samples) -> Samples:
        """Return the values of the next block."""
        n, every = len(self._before), np.concatenate((self._before, x))
        places = np.arange(len(every))
        missing = np.maximum.accumulate(np.where(np.isfinite(every), -1, places))
        found = every[: len(x)]
        if self._share:
            found = self._share * found + (1.0 - self._share) * every[1 : len(x) + 1]
        delayed: Samples = np.where(missing[n:] < places[n:] - n, found, math.nan)
        self._before = every[len(x) :].copy()
        return delayed
