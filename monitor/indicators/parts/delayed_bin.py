"""A tapered bin of a signal that is delayed by any number of samples, read as that of one tone and its image.

Delaying a signal under its taper turns every bin of the window by its own angle. So what FDB would read of the
command, if it came later by so many samples, is at hand without another transform: the delay at which command and
measured signal agree in phase is that of the motion, whatever frequencies it has (ours). At the window's two ends
the turned bins stand for samples that are not there; under Hann's or Blackman's taper they count for nothing.

From the oldest sample on, bin j of a tone ``b exp(i (theta n - pi f))``, f in cycles a window, is
``sin(pi f) (cot(pi (f - j)/N) - i) b``, and of its image ``-sin(pi f) (cot(pi (-f - j)/N) - i) conj(b)`` (ours).
"""

from __future__ import annotations

import numpy as np

from monitor.indicators.parts.tracked_bins import BELOW
from monitor.kernel import kernel, part
from monitor.messages.blocks import Samples

# the bin itself and its neighbours under the widest taper
NEIGHBOURS = 5
# rows of the work array: real and imaginary parts of the bins, and of their gains for the tone and its image
RE, IM, OF_TONE, OF_IMAGE = range(4)
N_ROWS = 4


@part
def read_neighbours(tracked: Samples, row: int, near: float, far: float, bins: Samples) -> None:
    """Fill in the bins around the peak, weighted as the taper weights them, phases from the oldest sample.

    Parameters
    ----------
    tracked : of a pair, see `tracked_bins`.
    row : of the signal's real parts; its imaginary parts are in the next one.
    """
    for d in range(-2, 3):
        weight = 1.0 if d == 0 else near if abs(d) == 1 else far
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
    near: float,
    far: float,
    n_window: int,
    bins: Samples,
) -> tuple[float, float]:
    """Fill in the weighted gains of the bins around stored bin `k` for a tone of `frequency` cycles a window.

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
    # all cotangents are multiplied by this sine, which is the pole of one of them
    angle = np.pi / n_window * (frequency - nearest)
    square = angle * angle
    pole = angle * (1.0 - square / 6.0 * (1.0 - square / 20.0 * (1.0 - square / 42.0)))
    for d in range(-2, 3):
        weight = 1.0 if d == 0 else near if abs(d) == 1 else far
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
def present_tone(bins: Samples, k: int, pole: float, near: float, far: float) -> complex:
    """Return the tone that the bins around bin number `k` hold."""
    total, tone, image = 0.0j, 0.0j, 0.0j
    for d in range(NEIGHBOURS):
        weight = 1.0 if d == 2 else near if d in (1, 3) else far
        # bin 0 is left out of everything
        if weight != 0.0 and k + d != 2:
            total += complex(bins[RE, d], bins[IM, d])
            tone += complex(bins[OF_TONE, d], -weight * pole)
            image += complex(bins[OF_IMAGE, d], -weight * pole)
    return image_free(total, tone, image)


@kernel
def delayed_tone(
    bins: Samples, k: int, frequency: float, pole: float, near: float, far: float, lag: float, n_window: int
) -> complex:
    """Return the tone that the bins around bin number `k` hold, delayed by `lag` samples; of a tone it is exact."""
    one = 2.0 * np.pi * lag / n_window
    step, turn = complex(np.cos(one), -np.sin(one)), complex(np.cos((k - 2) * one), -np.sin((k - 2) * one))
    total, tone, image = 0.0j, 0.0j, 0.0j
    for d in range(NEIGHBOURS):
        weight = 1.0 if d == 2 else near if d in (1, 3) else far
        if weight != 0.0 and k + d != 2:
            total += turn * complex(bins[RE, d], bins[IM, d])
            tone += turn * complex(bins[OF_TONE, d], -weight * pole)
            image += turn * complex(bins[OF_IMAGE, d], -weight * pole)
        turn *= step
    own = image_free(total, tone, image)
    angle = frequency * one
    return own * complex(np.cos(angle), -np.sin(angle))


@kernel
def tone_of_drift(
    bins: Samples, k: int, pole: float, near: float, far: float, half: Samples, first_bin: int
) -> complex:
    """Return the tone that the bins around bin number `k` would hold of a drift by one over the window."""
    total, tone, image = 0.0j, 0.0j, 0.0j
    for d in range(NEIGHBOURS):
        weight = 1.0 if d == 2 else near if d in (1, 3) else far
        j = k + d - 2
        if weight != 0.0 and j != 0:
            # bin j of 0, 1/n .. (n - 1)/n is (i cot(pi j/n) - 1)/2
            total += weight * complex(-0.5, 0.5 * half[1, j - first_bin] / half[0, j - first_bin])
            tone += complex(bins[OF_TONE, d], -weight * pole)
            image += complex(bins[OF_IMAGE, d], -weight * pole)
    return image_free(total, tone, image)


@part
def image_free(reading: complex, tone: complex, image: complex) -> complex:
    """Return b of a reading that is ``tone b - image conj(b)``."""
    power = tone.real * tone.real + tone.imag * tone.imag - image.real * image.real - image.imag * image.imag
    # by a real factor: a complex division by zero would raise
    if power == 0.0:
        return complex(np.nan, np.nan)
    return (tone.conjugate() * reading + image * reading.conjugate()) * (1.0 / power)


@part
def copy_gains(of: Samples, to: Samples) -> None:
    """Copy the gains of one signal's bins to another's."""
    for d in range(NEIGHBOURS):
        to[OF_TONE, d], to[OF_IMAGE, d] = of[OF_TONE, d], of[OF_IMAGE, d]


@part
def whole_reading(bins: Samples) -> complex:
    """Return the tapered bin."""
    re = im = 0.0
    for d in range(NEIGHBOURS):
        re, im = re + bins[RE, d], im + bins[IM, d]
    return complex(re, im)
