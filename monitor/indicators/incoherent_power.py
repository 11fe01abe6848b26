"""What the measured signal holds near the command's dominant tone that the command does not explain.

Command and measured are read under a Hann taper in the bins around the tone, the tone itself and its image
are taken out of both, and the measured rest is compared with the command's, passed through an actuator of the
same ratio and a pure delay. What follows the command cancels, be it a sweep or another motion. Noise of either
channel is left, in the proportion in which it disturbs the reading, and next to the peak what a sweep does to
the ratio. This is a local form of the one-minus-coherence by which the variance of a transfer function is known
(Bendat and Piersol, Random Data, ch. 9); the form is ours.
"""

from __future__ import annotations

import numpy as np

from monitor.blocks import Samples
from monitor.indicators.tapers import HANN, Turn
from monitor.kernel import part

# how many bins are looked at, with the tone in their middle
N_BINS = 16
_VECTOR = 4
_NEAR = HANN.near
_NOISE = 1.0 + 2.0 * HANN.near**2


@part
def incoherent_power(
    sums: Samples,
    pair: int,
    command: int,
    measured: int,
    peak: int,
    first_bin: int,
    turn: Turn,
    half: Samples,
    factors: Samples,
    steps: Samples,
    frequency: float,
    sine: float,
    tone: complex,
    response: complex,
    phase: float,
    n_window: int,
    work: Samples,
) -> float:
    """Return the mean power of one untapered bin that is not explained; NaN when there is no bin to look at.

    Parameters
    ----------
    command, measured : rows of the sums.
    frequency, sine : of the tone near the stored bin `peak`, see `tone_between_bins`.
    tone : sin(pi (f - nearest bin)) times the command's ``b``, see `Gains`.
    response, phase : measured over command at the tone, and its angle.
    work : (3, N_BINS), overwritten.
    """
    n_bins = sums.shape[2] // 2
    # bin 1 has bin 0 for a neighbour; half the sample rate is where the bins end
    beyond = min(n_bins - 1, (n_window - 1) // 2 - first_bin)
    lowest = max(min(peak - N_BINS // 2, beyond - N_BINS), 2 - first_bin, 1)
    count = max(min(beyond - lowest, N_BINS) // _VECTOR * _VECTOR, 0)
    _delayed(response, phase / frequency, first_bin + lowest - frequency, count, work)
    _unexplained(
        sums[pair, command], sums[pair, measured], lowest, count, n_bins, turn, half, factors, steps,
        sine, np.sin(np.pi / n_window) ** 2, tone, response, peak - lowest, work,
    )  # fmt: skip
    left = work[2]
    used = count
    # the bin that was read leaves nothing, those two away too little or too much
    for k in range(peak - 2 - lowest, peak + 3 - lowest, 2):
        if 0 <= k < count:
            left[k] = 0.0
            used -= 1
    a = b = c = d = 0.0
    for k in range(0, count, _VECTOR):
        a, b, c, d = a + left[k], b + left[k + 1], c + left[k + 2], d + left[k + 3]
    return float((a + b + c + d) / (_NOISE * used))


@part
def _delayed(response: complex, step: float, from_tone: float, count: int, work: Samples) -> None:
    """Fill the first two rows of `work` with a response of that ratio and a pure delay, bin after bin."""
    h = response * complex(np.cos(step * from_tone), np.sin(step * from_tone))
    h_step = complex(np.cos(step), np.sin(step))
    for k in range(min(count, _VECTOR)):
        work[0, k], work[1, k] = h.real, h.imag
        h *= h_step
    h_step *= h_step
    h_step *= h_step
    # by fours: one after the other they would wait for each other
    re, im, next_re, next_im = work[0], work[1], work[0, _VECTOR:], work[1, _VECTOR:]
    for k in range(count - _VECTOR):
        next_re[k] = re[k] * h_step.real - im[k] * h_step.imag
        next_im[k] = re[k] * h_step.imag + im[k] * h_step.real


@part
def _unexplained(
    command: Samples,
    measured: Samples,
    lowest: int,
    count: int,
    n_bins: int,
    turn: Turn,
    half: Samples,
    factors: Samples,
    steps: Samples,
    sine: float,
    bin_square: float,
    tone: complex,
    response: complex,
    at: int,
    work: Samples,
) -> None:
    """Fill the last row of `work` with the squares of what is left of every bin."""
    cos, sin = _NEAR * turn[0], _NEAR * turn[1]
    cosine = np.sqrt(1.0 - sine * sine)
    answer = tone * response
    # cut so that indices begin at zero: those that might be negative are looked at one by one
    start, i = lowest - 1, n_bins + lowest - 1
    c_re, c_im = command[start : start + count + 2], command[i : i + count + 2]
    m_re, m_im = measured[start : start + count + 2], measured[i : i + count + 2]
    f_re, f_im = factors[lowest : lowest + count], factors[n_bins + lowest : n_bins + lowest + count]
    s_re, s_im = steps[lowest : lowest + count], steps[n_bins + lowest : n_bins + lowest + count]
    sines, cosines = half[0, lowest : lowest + count], half[1, lowest : lowest + count]
    delayed_re, delayed_im, squares = work[0, :count], work[1, :count], work[2, :count]
    for k in range(count):
        bin_c_re = c_re[k + 1] + cos * (c_re[k] + c_re[k + 2]) + sin * (c_im[k] - c_im[k + 2])
        bin_c_im = c_im[k + 1] + cos * (c_im[k] + c_im[k + 2]) + sin * (c_re[k + 2] - c_re[k])
        bin_m_re = m_re[k + 1] + cos * (m_re[k] + m_re[k + 2]) + sin * (m_im[k] - m_im[k + 2])
        bin_m_im = m_im[k + 1] + cos * (m_im[k] + m_im[k + 2]) + sin * (m_re[k + 2] - m_re[k])
        # beside the peak the tone itself prevails, whose response is known
        beside = abs(k - at) < 2
        h_re, h_im = (response.real if beside else delayed_re[k]), (response.imag if beside else delayed_im[k])
        # Hann's gains for tone and image in closed form
        sin_x, cos_x = sine * cosines[k] - cosine * sines[k], cosine * cosines[k] + sine * sines[k]
        sin_y, cos_y = sine * cosines[k] + cosine * sines[k], cosine * cosines[k] - sine * sines[k]
        pole = sin_x * (sin_x * sin_x - bin_square)
        gain = -bin_square * cos_x / pole if pole != 0.0 else 0.0
        image = bin_square * cos_y / (sin_y * (sin_y * sin_y - bin_square))
        # what they leave in the difference, with phases from the oldest sample
        both_re, both_im = tone.real * h_re, tone.imag * h_im
        cross_re, cross_im = tone.real * h_im, tone.imag * h_re
        left_re = gain * (answer.real - both_re + both_im) - image * (answer.real - both_re - both_im)
        left_im = gain * (answer.imag - cross_re - cross_im) + image * (answer.imag + cross_re - cross_im)
        # from slot 0, as the sums are
        turn_re = f_re[k] * s_re[k] - f_im[k] * s_im[k]
        turn_im = f_re[k] * s_im[k] + f_im[k] * s_re[k]
        rest_re = bin_m_re - h_re * bin_c_re + h_im * bin_c_im - left_re * turn_re + left_im * turn_im
        rest_im = bin_m_im - h_re * bin_c_im - h_im * bin_c_re - left_re * turn_im - left_im * turn_re
        squares[k] = rest_re * rest_re + rest_im * rest_im
