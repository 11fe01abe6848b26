"""Amplitude and phase of one tone from a tapered bin, without its negative-frequency image and at any delay.

Delaying a signal under its taper rotates every bin of the window by its own angle. FDB's reading of the delayed
command therefore needs no further transform, and the delay at which command and measured signal agree in phase is
that of the motion, whatever its frequencies (ours). At the ends of the window the rotated bins represent samples
outside it, which have no weight under the Hann and Blackman tapers.

Counted from the oldest sample, bin j of a tone ``b exp(i (theta n - pi f))``, f in cycles a window, is
``sin(pi f) (cot(pi (f - j)/N) - i) b``, and of its image ``-sin(pi f) (cot(pi (-f - j)/N) - i) conj(b)`` (ours).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.indicators.parts.dominant_tone import BELOW, C_RE, M_RE, Taper, tone_between_bins
from monitor.kernel import inlined, kernel, part
from monitor.messages.blocks import Samples

# the bin itself and its neighbours under the widest taper
NEIGHBOURS = 5
# rows of the work array: real and imaginary parts of the bins, and their gains for the tone and its image
RE, IM, OF_TONE, OF_IMAGE = range(4)
N_ROWS = 4


class Tone(NamedTuple):
    """The command's dominant tone in both signals.

    ``k``: its bin; ``frequency`` cycles a window; ``scale``, ``pole``: see `tone_gains`; ``command``, ``measured``:
    its complex amplitudes; ``raw_c``, ``raw_m``: the tapered bins.
    """

    k: int
    frequency: float
    scale: float
    pole: float
    command: complex
    measured: complex
    raw_c: complex
    raw_m: complex


NO_TONE = Tone(0, 0.0, 0.0, 0.0, 0.0j, 0.0j, 0.0j, 0.0j)


@inlined
def read_tones(
    tracked: Samples, k: int, first_bin: int, half: Samples, circle: Samples, taper: Taper,
    bins_c: Samples, bins_m: Samples,
) -> Tone:  # fmt: skip
    """Read the tone around bin number `k` of the tracked bins of a pair.

    Parameters
    ----------
    first_bin, half, circle : see `dominant_tone`.
    bins_c, bins_m : (4, 5), overwritten by the bins of command and measured and their gains.
    """
    read_neighbours(tracked, C_RE, taper, bins_c)
    read_neighbours(tracked, M_RE, taper, bins_m)
    frequency, sine = tone_between_bins(tracked, k - BELOW, k, first_bin, half, circle)
    n_window = circle.shape[1]
    scale, pole = tone_gains(k - first_bin, first_bin, frequency, sine, half, taper, n_window, bins_c)
    copy_gains(bins_c, bins_m)
    of_c, of_m = read_tone(bins_c, k, pole, taper), read_tone(bins_m, k, pole, taper)
    return Tone(k, frequency, scale, pole, of_c, of_m, sum_bins(bins_c), sum_bins(bins_m))


@part
def read_neighbours(tracked: Samples, row: int, taper: Taper, bins: Samples) -> None:
    """Write the bins around the peak with the weights of the taper, phases counted from the oldest sample.

    Parameters
    ----------
    tracked : bins of a pair, see `dominant_tone`.
    row : of the signal's real parts; its imaginary parts are in the next one.
    """
    for d in range(-2, 3):
        weight = 1.0 if d == 0 else taper.near if abs(d) == 1 else taper.far
        bins[RE, d + 2] = bins[IM, d + 2] = 0.0
        if weight != 0.0:
            bins[RE, d + 2], bins[IM, d + 2] = weight * tracked[row, BELOW + d], weight * tracked[row + 1, BELOW + d]


@part
def tone_gains(
    k: int,
    first_bin: int,
    frequency: float,
    sine: float,
    half: Samples,
    taper: Taper,
    n_window: int,
    bins: Samples,
) -> tuple[float, float]:
    """Write the weighted gains of the bins around stored bin `k` for a tone of `frequency` cycles a window.

    Parameters
    ----------
    sine : sin(pi frequency / n_window).

    Returns
    -------
    kernel, pole : gains are in units of the real Dirichlet kernel at the bin nearest to the tone; their imaginary
        part is minus the weight times ``pole``.
    """
    nearest = int(np.rint(frequency))
    cosine = np.sqrt(1.0 - sine * sine)
    # all cotangents are multiplied by this sine, which cancels the pole of one of them
    angle = np.pi / n_window * (frequency - nearest)
    square = angle * angle
    pole = angle * (1.0 - square / 6.0 * (1.0 - square / 20.0 * (1.0 - square / 42.0)))
    for d in range(-2, 3):
        weight = 1.0 if d == 0 else taper.near if abs(d) == 1 else taper.far
        j = first_bin + k + d
        bins[OF_TONE, d + 2] = bins[OF_IMAGE, d + 2] = 0.0
        if weight != 0.0 and j != 0:
            sin_j, cos_j = half[0, k + d], half[1, k + d]
            to_tone = 1.0 if j == nearest else pole / (sine * cos_j - cosine * sin_j)
            to_image = 1.0 if j == -nearest else pole / (sine * cos_j + cosine * sin_j)
            bins[OF_TONE, d + 2] = weight * (cosine * cos_j + sine * sin_j) * to_tone
            bins[OF_IMAGE, d + 2] = -weight * (cosine * cos_j - sine * sin_j) * to_image
    kernel = np.sin(n_window * angle) / pole if pole != 0.0 else float(n_window)
    return kernel, pole


@part
def read_tone(bins: Samples, k: int, pole: float, taper: Taper) -> complex:
    """Return the complex amplitude of the tone in the bins around bin number `k`."""
    total, tone, image = 0.0j, 0.0j, 0.0j
    for d in range(NEIGHBOURS):
        weight = 1.0 if d == 2 else taper.near if d in (1, 3) else taper.far
        # bin 0 is never used
        if weight != 0.0 and k + d != 2:
            total += complex(bins[RE, d], bins[IM, d])
            tone += complex(bins[OF_TONE, d], -weight * pole)
            image += complex(bins[OF_IMAGE, d], -weight * pole)
    return remove_image(total, tone, image)


@kernel
def delayed_tone(
    bins: Samples, k: int, frequency: float, pole: float, taper: Taper, lag: float, n_window: int
) -> complex:
    """Return the tone in the bins around bin number `k` of the signal delayed by `lag` samples; exact for a tone."""
    one = 2.0 * np.pi * lag / n_window
    step, turn = complex(np.cos(one), -np.sin(one)), complex(np.cos((k - 2) * one), -np.sin((k - 2) * one))
    total, tone, image = 0.0j, 0.0j, 0.0j
    for d in range(NEIGHBOURS):
        weight = 1.0 if d == 2 else taper.near if d in (1, 3) else taper.far
        if weight != 0.0 and k + d != 2:
            total += turn * complex(bins[RE, d], bins[IM, d])
            tone += turn * complex(bins[OF_TONE, d], -weight * pole)
            image += turn * complex(bins[OF_IMAGE, d], -weight * pole)
        turn *= step
    own = remove_image(total, tone, image)
    angle = frequency * one
    return own * complex(np.cos(angle), -np.sin(angle))


@kernel
def drift_tone(bins: Samples, k: int, pole: float, taper: Taper, half: Samples, first_bin: int) -> complex:
    """Return the tone read from the bins around bin number `k` for a drift by one over the window."""
    total, tone, image = 0.0j, 0.0j, 0.0j
    for d in range(NEIGHBOURS):
        weight = 1.0 if d == 2 else taper.near if d in (1, 3) else taper.far
        j = k + d - 2
        if weight != 0.0 and j != 0:
            # bin j of 0, 1/n .. (n - 1)/n is (i cot(pi j/n) - 1)/2
            total += weight * complex(-0.5, 0.5 * half[1, j - first_bin] / half[0, j - first_bin])
            tone += complex(bins[OF_TONE, d], -weight * pole)
            image += complex(bins[OF_IMAGE, d], -weight * pole)
    return remove_image(total, tone, image)


@part
def tone_size(bins: Samples, k: int, pole: float, taper: Taper) -> float:
    """Return the size of the tapered bin `k` of a tone, in units of `tone_gains`' kernel."""
    total = 0.0j
    for d in range(NEIGHBOURS):
        weight = 1.0 if d == 2 else taper.near if d in (1, 3) else taper.far
        if weight != 0.0 and k + d != 2:
            total += complex(bins[OF_TONE, d], -weight * pole)
    return float(np.sqrt(squared_magnitude(total)))


@part
def remove_image(reading: complex, tone: complex, image: complex) -> complex:
    """Return b of a reading that is ``tone b - image conj(b)``."""
    power = tone.real * tone.real + tone.imag * tone.imag - image.real * image.real - image.imag * image.imag
    # times a real factor, because a complex division by zero raises
    if power == 0.0:
        return complex(np.nan, np.nan)
    return (tone.conjugate() * reading + image * reading.conjugate()) * (1.0 / power)


@part
def copy_gains(of: Samples, to: Samples) -> None:
    """Copy the gains of one signal's bins to another's."""
    for d in range(NEIGHBOURS):
        to[OF_TONE, d], to[OF_IMAGE, d] = of[OF_TONE, d], of[OF_IMAGE, d]


@part
def sum_bins(bins: Samples) -> complex:
    """Return the tapered bin, the sum of the weighted bins."""
    re = im = 0.0
    for d in range(NEIGHBOURS):
        re, im = re + bins[RE, d], im + bins[IM, d]
    return complex(re, im)


@part
def squared_magnitude(z: complex) -> float:
    """Return the squared magnitude."""
    return z.real * z.real + z.imag * z.imag


@kernel
def non_tonal_share(c: Samples, b: complex, frequency: float) -> float:
    """Return the share of the command's power outside the tone ``b exp(i (theta n - pi f))`` and the offset."""
    n = c.shape[0]
    angle = 2.0 * np.pi * frequency / n
    # in units of the nearest bin's kernel, b has the sign of that bin
    sign = 2.0 if int(np.rint(frequency)) % 2 == 0 else -2.0
    tone, step = (
        b * complex(np.cos(np.pi * frequency), -np.sin(np.pi * frequency)),
        complex(np.cos(angle), np.sin(angle)),
    )
    mean = square = mean_c = square_c = 0.0
    for t in range(n):
        residual, shifted = c[t] - c[0] - sign * tone.real, c[t] - c[0]
        mean, square = mean + residual, square + residual * residual
        mean_c, square_c = mean_c + shifted, square_c + shifted * shifted
        tone *= step
    return float((square - mean * mean / n) / (square_c - mean_c * mean_c / n))


@kernel
def sample_weights(
    phase_weights: Samples,
    gain_weights: Samples,
    start: int,
    stop: int,
    reading: complex,
    bins: Samples,
    k: int,
    pole: float,
    taper: Taper,
    correct: bool,
    circle: Samples,
) -> None:
    """Write the derivatives of the reading's phase, and of the logarithm of its size, by each sample of measured."""
    tone, image, scale = 1.0 + 0.0j, 0.0j, 1.0
    if correct:
        tone, image = 0.0j, 0.0j
        for d in range(NEIGHBOURS):
            weight = 1.0 if d == 2 else taper.near if d in (1, 3) else taper.far
            if weight != 0.0 and k + d != 2:
                tone += complex(bins[OF_TONE, d], -weight * pole)
                image += complex(bins[OF_IMAGE, d], -weight * pole)
        scale = squared_magnitude(tone) - squared_magnitude(image)
    # the inverse of the reading, times a real factor because a complex division by zero raises
    inverse = reading.conjugate() * (1.0 / (scale * squared_magnitude(reading)))
    # bin 0 is not part of the reading
    offset = (taper.near if k == 1 else 0.0) + (taper.far if k == 2 else 0.0)
    n = phase_weights.shape[0]
    cosine, sine = circle[0], circle[1]
    # positions of the angles of the taper and of the bin in the table
    one, two, at = start % n, 2 * start % n, k * start % n
    for t in range(start, stop):
        window = 1.0 + 2.0 * taper.near * cosine[one] + 2.0 * taper.far * cosine[two]
        weight_t = complex(window * cosine[at] - offset, -window * sine[at])
        derivative = (tone.conjugate() * weight_t + image * weight_t.conjugate()) * inverse
        phase_weights[t], gain_weights[t] = derivative.imag, derivative.real
        one, two, at = one + 1, two + 2, at + k
        one, two, at = one - n * (one >= n), two - n * (two >= n), at - n * (at >= n)
