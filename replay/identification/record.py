"""What of a recorded run can be fitted, and why the rest cannot."""

from __future__ import annotations

import math

import numpy as np

from monitor.messages.blocks import Pair, Samples
from replay.formats import Recording
from replay.formats.gap_free import Stretch, longest_stretch

# a signal that varies by less than this share of its largest value stands still, but for rounding
_STILL = 1e-12
_FAINTEST = 1e-50
# samples of a stretch, and of those that are left to compare
_FEWEST, _COMPARED = 32, 24


def enough_for(n: int, max_delay: float, dt: float, with_lag: bool) -> bool:
    """Return whether a stretch of n samples leaves enough to compare; with a lag four times max_delay is left out."""
    return max_delay <= _longest_delay(n, dt, with_lag)


def _longest_delay(n: int, dt: float, with_lag: bool) -> float:
    # a lag forgets the beginning in three times as long
    return (n - _COMPARED) * dt / (4.0 if with_lag else 2.0)


def fitted_stretch(recording: Recording, pair: Pair, max_delay: float, with_lag: bool) -> Stretch:
    """Return the longest stretch without a hole.

    Raises
    ------
    ValueError : there are too few samples, or one of the two stands still.
    """
    stretch = longest_stretch(recording, pair)
    n, dt = len(stretch.samples), 1.0 / recording.stream.sample_rate
    if n < _FEWEST:
        raise ValueError(
            f"the longest stretch of numbers without a hole has {n} of {recording.n_samples} samples: "
            f"a fit needs {_FEWEST}"
        )
    if not enough_for(n, max_delay, dt, with_lag):
        advised = min(_longest_delay(n, dt, with_lag), 0.5 * n * dt / (4.0 if with_lag else 2.0))
        digit = 10.0 ** (math.floor(math.log10(advised)) - 1)
        otherwise = ", or leave --lag out" if with_lag and enough_for(n, max_delay, dt, False) else ""
        raise ValueError(
            f"{n * dt:.3g} s without a hole are too short to seek a delay of up to {max_delay:g} s"
            f"{' and a lag' if with_lag else ''}: give "
            f"--max-delay {math.floor(advised / digit) * digit:.2g} or less{otherwise}"
        )
    for name, signal in zip(("command", "measured signal"), stretch.samples.T, strict=True):
        if np.ptp(signal) <= max(_STILL * float(np.abs(signal).max()), _FAINTEST):
            raise ValueError(f"the {name} stands still, at {signal[0] + 0.0:.4g}: a dead channel, or a wrong column")
    return stretch


def frozen_samples(command: Samples, measured: Samples, reach: int) -> int:
    """Return for how many samples the measured signal keeps one value while the command crosses half of its range.

    Parameters
    ----------
    reach : samples at each end of such a time in which the command may move: the delay.
    """
    changes = np.concatenate([[0], np.flatnonzero(np.diff(measured)) + 1, [len(measured)]])
    lengths = np.diff(changes)
    half = 0.5 * float(np.ptp(command))
    longest = 0
    for i in np.flatnonzero(lengths > 2 * reach + 1).tolist():
        within = command[changes[i] + reach : changes[i + 1] - reach]
        if float(np.ptp(within)) > half:
            longest = max(longest, int(lengths[i]))
    return longest
