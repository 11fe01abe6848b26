"""Causal Butterworth band-pass that removes offset, drift and noise from command and measured alike."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from monitor.indicators.base import as_samples
from monitor.indicators.parts.sample_loop import LARGEST_SAMPLE
from monitor.kernel import kernel
from monitor.messages.blocks import Samples

# of the sample rate: nearer to half the rate the bilinear transform leaves no usable upper edge
_MAX_EDGE = 0.45


class BandPass:
    """A Butterworth band-pass, sample by sample, with the same coefficients for every channel.

    It changes phase and amplitude of all channels alike: how one compares with another is preserved.

    Parameters
    ----------
    sample_rate : Hz.
    low, high : Hz, the edges, where the gain is 0.707; up to 0.45 of the rate.
    order : of the low-pass prototype; 2 or more removes a linear drift.
    n_channels : number of channels.

    Raises
    ------
    ValueError : a setting is out of its range; the text names it.

    Notes
    -----
    The filter starts in the steady state of its first sample, so that an offset gives no step. A sample that is NaN,
    infinite or beyond 1e50 gives NaN, and the filter restarts at the next valid one.
    The results do not depend on how the record is split into calls, bit for bit.

    Attributes
    ----------
    state : (n_channels, n_sections, 2); NaN where a channel starts at its next sample.
    """

    def __init__(self, sample_rate: float, low: float, high: float, *, order: int = 2, n_channels: int = 1) -> None:
        if not 0.0 < sample_rate < np.inf:
            raise ValueError(f"sample_rate = {sample_rate} Hz: must be a positive number")
        if not 0.0 < low < high <= _MAX_EDGE * sample_rate:
            limit = _MAX_EDGE * sample_rate
            raise ValueError(
                f"band = {low} to {high} Hz: must rise, above 0 and up to {limit:g} Hz, 0.45 of the rate"
            )
        if order < 1 or n_channels < 1:
            raise ValueError(f"order = {order}, n_channels = {n_channels}: must be 1 or more")
        self._sections = band_pass_sections(sample_rate, low, high, order)
        self._steady = steady_state(self._sections)
        self.n_channels = n_channels
        self.reset()
        self.load_kernels()

    def load_kernels(self) -> None:
        """Load the kernel, or compile it, before the first sample."""
        self.filter(np.empty((0, self.n_channels)))

    def reset(self) -> None:
        """Return to the initial state."""
        self.state: Samples = np.full((self.n_channels, *self._steady.shape), np.nan)

    def snapshot(self) -> Samples:
        """Return a copy of the state."""
        return self.state.copy()

    def restore(self, state: Samples) -> None:
        """Return to a saved state; raises ValueError when its shape is that of another filter."""
        if state.shape != self.state.shape:
            raise ValueError(f"state {state.shape}: must be {self.state.shape}, of a filter like this one")
        self.state = state.copy()

    def filter(self, samples: ArrayLike) -> Samples:
        """Return consecutive samples, (n_samples, n_channels), filtered; raises ValueError for another shape."""
        filtered = as_samples(samples, "samples")
        if filtered.ndim != 2 or filtered.shape[1] != self.n_channels:
            raise ValueError(f"samples {filtered.shape}: must be (n_samples, {self.n_channels})")
        _advance_band_pass(filtered, self._sections, self._steady, self.state)
        return filtered


def band_pass_sections(sample_rate: float, low: float, high: float, order: int) -> Samples:
    """Return (order, 6) second-order sections b0 b1 b2 1 a1 a2 of a digital Butterworth band-pass.

    The poles of the analog low-pass prototype are transformed to the band in closed form and mapped by the bilinear
    transform with pre-warped edges. Every section has one zero at 0 Hz and one at half the rate, so that an offset is
    removed by the first section. Poles nearest to the unit circle come last.
    """
    # s in units of twice the sample rate, so that z = (1 + s) / (1 - s)
    edge_low, edge_high = np.tan(np.pi * np.array([low, high]) / sample_rate)
    width, centre_squared = edge_high - edge_low, edge_low * edge_high
    rows = []
    # the prototype's poles in the upper half-plane, and the real one of an odd order
    for m in range(order - 1, -1, -2):
        prototype = -0.5 * width * np.exp(-0.5j * np.pi * m / order)
        root = np.sqrt(prototype * prototype - centre_squared)
        # the larger of the two roots, and the other by their product: the sum would cancel
        far = prototype + root if abs(prototype + root) >= abs(prototype - root) else prototype - root
        near = centre_squared / far
        # of a real prototype pole the two are conjugates, or both real
        pairs = [(far, near)] if m == 0 else [(far, far.conjugate()), (near, near.conjugate())]
        for s_1, s_2 in pairs:
            z_1, z_2 = (1.0 + s_1) / (1.0 - s_1), (1.0 + s_2) / (1.0 - s_2)
            gain = width / ((1.0 - s_1) * (1.0 - s_2)).real
            rows.append((max(abs(z_1), abs(z_2)), gain, -(z_1 + z_2).real, (z_1 * z_2).real))
    return np.array([[gain, 0.0, -gain, 1.0, a_1, a_2] for _, gain, a_1, a_2 in sorted(rows)])


def steady_state(sections: Samples) -> Samples:
    """Return (n_sections, 2): the state of each section after a constant input of one, whose output is zero."""
    state = np.zeros((len(sections), 2))
    state[0] = -sections[0, 0]
    return state


@kernel
def _advance_band_pass(samples: Samples, sections: Samples, steady: Samples, state: Samples) -> None:
    for i in range(samples.shape[0]):
        for channel in range(samples.shape[1]):
            x = samples[i, channel]
            valid = abs(x) < LARGEST_SAMPLE
            starts = np.isnan(state[channel, 0, 0])
            for s in range(sections.shape[0]):
                if not valid:
                    state[channel, s, 0] = state[channel, s, 1] = np.nan
                elif starts:
                    state[channel, s, 0] = steady[s, 0] * samples[i, channel]
                    state[channel, s, 1] = steady[s, 1] * samples[i, channel]
                # transposed direct form II
                y = sections[s, 0] * x + state[channel, s, 0]
                state[channel, s, 0] = sections[s, 1] * x - sections[s, 4] * y + state[channel, s, 1]
                state[channel, s, 1] = sections[s, 2] * x - sections[s, 5] * y
                x = y
            samples[i, channel] = x
