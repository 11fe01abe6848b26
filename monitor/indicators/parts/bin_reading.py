"""What a sample of measured changes in FDB's reading of a bin, and how pure the command's tone in it is."""

from __future__ import annotations

import numpy as np

from monitor.indicators.parts.delayed_bin import NEIGHBOURS, OF_IMAGE, OF_TONE
from monitor.kernel import kernel, part
from monitor.messages.blocks import Samples


@part
def square_of(z: complex) -> float:
    """Return the square of the size."""
    return z.real * z.real + z.imag * z.imag


@kernel
def impurity(c: Samples, b: complex, frequency: float) -> float:
    """Return what of the command's power is not the tone ``b exp(i (theta n - pi f))``, and its offset."""
    n = c.shape[0]
    angle = 2.0 * np.pi * frequency / n
    # of gains in units of the nearest bin's kernel, b has the sign of that bin
    sign = 2.0 if int(np.rint(frequency)) % 2 == 0 else -2.0
    tone, step = (
        b * complex(np.cos(np.pi * frequency), -np.sin(np.pi * frequency)),
        complex(np.cos(angle), np.sin(angle)),
    )
    mean = square = mean_c = square_c = 0.0
    for t in range(n):
        rest, moved = c[t] - c[0] - sign * tone.real, c[t] - c[0]
        mean, square = mean + rest, square + rest * rest
        mean_c, square_c = mean_c + moved, square_c + moved * moved
        tone *= step
    return float((square - mean * mean / n) / (square_c - mean_c * mean_c / n))


@kernel
def weigh_samples(
    of_phase: Samples,
    of_gain: Samples,
    start: int,
    stop: int,
    reading: complex,
    bins: Samples,
    k: int,
    pole: float,
    near: float,
    far: float,
    correct: bool,
    turns: Samples,
) -> None:
    """Fill in what a sample of measured changes in the phase of the reading, and in the logarithm of its size."""
    tone, image, scale = 1.0 + 0.0j, 0.0j, 1.0
    if correct:
        tone, image = 0.0j, 0.0j
        for d in range(NEIGHBOURS):
            weight = 1.0 if d == 2 else near if d in (1, 3) else far
            if weight != 0.0 and k + d != 2:
                tone += complex(bins[OF_TONE, d], -weight * pole)
                image += complex(bins[OF_IMAGE, d], -weight * pole)
        scale = square_of(tone) - square_of(image)
    # one over the reading, by a real factor: a complex division by zero would raise
    inverse = reading.conjugate() * (1.0 / (scale * square_of(reading)))
    # bin 0 is no part of the reading
    offset = (near if k == 1 else 0.0) + (far if k == 2 else 0.0)
    n = of_phase.shape[0]
    cosine, sine = turns[0], turns[1]
    # where the angles of the taper and of the bin are in the table
    one, two, at = start % n, 2 * start % n, k * start % n
    for t in range(start, stop):
        taper = 1.0 + 2.0 * near * cosine[one] + 2.0 * far * cosine[two]
        weight_t = complex(taper * cosine[at] - offset, -taper * sine[at])
        share_t = (tone.conjugate() * weight_t + image * weight_t.conjugate()) * inverse
        of_phase[t], of_gain[t] = share_t.imag, share_t.real
        one, two, at = one + 1, two + 2, at + k
        one, two, at = one - n * (one >= n), two - n * (two >= n), at - n * (at >= n)
