"""What of a recorded run can be fitted, and why the rest cannot."""

from __future__ import annotations

import math

import numpy as np

from monitor.blocks import Pair, Samples
from replay.formats import Recording
from replay.whole_record import longest_stretch

# a signal that varies by less than this share of its largest value stands still, but for rounding
_STILL = 1e-12
_FAINTEST = 1e-50
# samples of a stretch, and of those that are left to compare
_FEWEST, _COMPARED = 32, 24


def fitted_stretch(
    recording: Recording, pair: Pair, max_delay: float, with_lag: bool
) -> tuple[Samples, Samples, int]:
    """Return command and measured signal of the longest stretch without a hole, and how many samples are left out.

    Raises
    ------
    ValueError : there are too few samples, or one of the two stands still.
    """
    both, left_out = longest_stretch(recording, pair)
    command, measured = np.ascontiguousarray(both.T)
    if len(command) < _FEWEST:
        raise ValueError(
            f"the longest stretch of numbers without a hole has {len(command)} of {recording.n_samples} samples: "
            f"a fit needs {_FEWEST}"
        )
    # a lag forgets the beginning in three times as long
    seconds, ends = len(command) / recording.stream.sample_rate, 4.0 if with_lag else 2.0
    possible = (len(command) - _COMPARED) / recording.stream.sample_rate / ends
    if max_delay > possible:
        advised = min(possible, 0.5 * seconds / ends)
        digit = 10.0 ** (math.floor(math.log10(advised)) - 1)
        raise ValueError(
            f"{seconds:.3g} s without a hole are too short to seek a delay of up to {max_delay:g} s: give "
            f"--max-delay {math.floor(advised / digit) * digit:.2g} or less"
        )
    for name, signal in (("command", command), ("measured signal", measured)):
        if np.ptp(signal) <= max(_STILL * float(np.abs(signal).max()), _FAINTEST):
            raise ValueError(f"the {name} stands still, at {signal[0]:.4g}: a dead channel, or a wrong column")
    return command, measured, left_out


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
