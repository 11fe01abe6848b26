"""A causal band-pass that takes offset, drift and noise out of command and measured alike."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
from numpy.typing import ArrayLike

from monitor.indicators.parts.sample_loop import LARGEST_SAMPLE
from monitor.kernel import kernel
from monitor.messages.blocks import Samples

# nearer to half the rate the filter's upper edge is no edge any more
_HIGHEST = 0.45


class BandPass:
    """A Butterworth band-pass, sample by sample, the same for every channel.

    What it does to a signal's phase and amplitude it does to all of them: what one says of another stays.

    Parameters
    ----------
    sample_rate : Hz.
    low, high : Hz, the edges, where the gain is 0.707; up to 0.45 of the rate.
    order : of the low-pass that it is made from; a drift that is a straight line is gone with 2 or more.
    n_channels : number of channels that are filtered side by side.

    Raises
    ------
    ValueError : a setting is out of its range; the text names it.

    Notes
    -----
    It begins in the steady state of its first sample, so that an offset gives no step. A sample that is NaN,
    infinite or beyond 1e50 gives NaN, and the next good one begins anew.
    The results do not depend on how the record is cut into calls, bit for bit.

    Attributes
    ----------
    state : (n_channels, n_sections, 2); NaN where a channel is to begin. With a copy of it a filter can be put back.
    """

    def __init__(self, sample_rate: float, low: float, high: float, *, order: int = 2, n_channels: int = 1) -> None:
        if not 0.0 < sample_rate < np.inf:
            raise ValueError(f"sample_rate = {sample_rate} Hz: must be a positive number")
        if not 0.0 < low < high <= _HIGHEST * sample_rate:
            limit = _HIGHEST * sample_rate
            raise ValueError(
                f"band = {low} to {high} Hz: must rise, above 0 and up to {limit:g} Hz, 0.45 of the rate"
            )
        if order < 1 or n_channels < 1:
            raise ValueError(f"order = {order}, n_channels = {n_channels}: must be 1 or more")
        # scipy takes a third of a second, which nobody should wait for who asks for no filter
        from scipy.signal import butter, sosfilt_zi

        sections = butter(order, (low, high), btype="bandpass", fs=sample_rate, output="sos")
        self._sections: Samples = np.ascontiguousarray(sections, dtype=np.float64)
        self._steady: Samples = np.ascontiguousarray(sosfilt_zi(sections), dtype=np.float64)
        self.n_channels = n_channels
        self.reset()
        # no samples, but the kernel is there when the first one comes
        self.filter(np.empty((0, n_channels)))

    def reset(self) -> None:
        """Forget everything: the filter is as new."""
        self.state: Samples = np.full((self.n_channels, *self._steady.shape), np.nan)

    def snapshot(self) -> Samples:
        """Return a copy of the state."""
        return deepcopy(self.state)

    def restore(self, state: Samples) -> None:
        """Go back to a state; raises ValueError when it is that of a filter of another shape."""
        if state.shape != self.state.shape:
            raise ValueError(f"state {state.shape}: must be {self.state.shape}, of a filter like this one")
        self.state = deepcopy(state)

    def filter(self, samples: ArrayLike) -> Samples:
        """Return consecutive samples, (n_samples, n_channels), filtered; raises ValueError for another shape."""
        taken: Samples = np.array(samples, dtype=np.float64, order="C")
        if taken.ndim != 2 or taken.shape[1] != self.n_channels:
            raise ValueError(f"samples {taken.shape}: must be (n_samples, {self.n_channels})")
        _advance_band_pass(taken, self._sections, self._steady, self.state)
        return taken


@kernel
def _advance_band_pass(samples: Samples, sections: Samples, steady: Samples, state: Samples) -> None:
    for i in range(samples.shape[0]):
        for channel in range(samples.shape[1]):
            x = samples[i, channel]
            fine = abs(x) < LARGEST_SAMPLE
            begins = np.isnan(state[channel, 0, 0])
            for s in range(sections.shape[0]):
                if not fine:
                    state[channel, s, 0] = state[channel, s, 1] = np.nan
                elif begins:
                    state[channel, s, 0] = steady[s, 0] * samples[i, channel]
                    state[channel, s, 1] = steady[s, 1] * samples[i, channel]
                # the transposed direct form II: two numbers of state for a section
                y = sections[s, 0] * x + state[channel, s, 0]
                state[channel, s, 0] = sections[s, 1] * x - sections[s, 4] * y + state[channel, s, 1]
                state[channel, s, 1] = sections[s, 2] * x - sections[s, 5] * y
                x = y
            samples[i, channel] = x
