"""The discrete Fourier transform of any length within a kernel, where no library can be called.

Stockham's self-sorting transform by the prime factors of the length; where one of them is large, Bluestein's: the
transform as a convolution with a chirp, by a power of two.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.blocks import Samples
from monitor.kernel import kernel

_LARGEST_RADIX = 31


class Transform(NamedTuple):
    """What a transform of n values needs; its inner length L is n, or where there is a chirp a power of two.

    ``radices``: whose product is L; ``table`` (2, L): cosine and minus sine of the L-th parts of a turn; ``chirp``
    (2, n) or (2, 0); ``chirp_spectrum`` (2, L) or (2, 0); ``rooms`` (4, L): real and imaginary parts, overwritten.
    """

    radices: NDArray[np.int64]
    table: Samples
    chirp: Samples
    chirp_spectrum: Samples
    rooms: Samples


def new_transform(n: int) -> Transform:
    """Return the transform of n values."""
    radices = _radices(n)
    if max(radices) <= _LARGEST_RADIX:
        none = np.empty((2, 0))
        return Transform(np.array(radices), _table(n), none, none, np.zeros((4, n)))
    length = 1 << (2 * n - 2).bit_length()
    # the square modulo 2 n: its multiple of pi would lose digits
    k = np.arange(n, dtype=np.int64)
    chirp = np.exp(-1j * np.pi * (k * k % (2 * n)) / n)
    around = np.zeros(length, dtype=np.complex128)
    around[:n] = chirp.conj()
    around[length - n + 1 :] = chirp.conj()[:0:-1]
    spectrum = np.fft.fft(around) / length
    parts = np.stack([chirp.real, chirp.imag]), np.stack([spectrum.real, spectrum.imag])
    return Transform(np.array(_radices(length)), _table(length), *parts, np.zeros((4, length)))


def _radices(n: int) -> list[int]:
    found = []
    for radix in (4, 2):
        while n % radix == 0:
            found.append(radix)
            n //= radix
    radix = 3
    while n > 1:
        while n % radix == 0:
            found.append(radix)
            n //= radix
        radix += 2
        if radix * radix > n > 1:
            found.append(n)
            n = 1
    return found or [1]


def _table(n: int) -> Samples:
    angle = 2.0 * np.pi * np.arange(n) / n
    return np.stack([np.cos(angle), -np.sin(angle)])


@kernel
def transform(
    n: int,
    radices: NDArray[np.int64],
    table: Samples,
    chirp: Samples,
    chirp_spectrum: Samples,
    rooms: Samples,
) -> None:
    """Put the transform of the first n values of rooms 0 and 1, real and imaginary parts, in their place."""
    if chirp.shape[1] == 0:
        _stockham(radices, table, rooms)
        return
    length = table.shape[1]
    re, im = rooms[0], rooms[1]
    for t in range(n):
        x, y = re[t], im[t]
        re[t], im[t] = x * chirp[0, t] - y * chirp[1, t], x * chirp[1, t] + y * chirp[0, t]
    for t in range(n, length):
        re[t] = im[t] = 0.0
    _stockham(radices, table, rooms)
    # the inverse transform is the conjugate of that of the conjugate
    for k in range(length):
        x, y = re[k], im[k]
        re[k] = x * chirp_spectrum[0, k] - y * chirp_spectrum[1, k]
        im[k] = -x * chirp_spectrum[1, k] - y * chirp_spectrum[0, k]
    _stockham(radices, table, rooms)
    for k in range(n):
        x, y = re[k], -im[k]
        re[k], im[k] = x * chirp[0, k] - y * chirp[1, k], x * chirp[1, k] + y * chirp[0, k]


@kernel
def _stockham(radices: NDArray[np.int64], table: Samples, rooms: Samples) -> None:
    total = table.shape[1]
    a_re, a_im, b_re, b_im = rooms[0], rooms[1], rooms[2], rooms[3]
    n, stride, swapped = total, 1, False
    for radix in radices:
        m, step = n // radix, stride
        across = stride * m
        for k in range(m):
            source, target = stride * k, stride * radix * k
            if radix == 4:
                c_1, s_1 = table[0, k * step], table[1, k * step]
                c_2, s_2 = table[0, 2 * k * step], table[1, 2 * k * step]
                c_3, s_3 = table[0, 3 * k * step], table[1, 3 * k * step]
                for q in range(stride):
                    i, o = source + q, target + q
                    x_0, x_1, x_2, x_3 = a_re[i], a_re[i + across], a_re[i + 2 * across], a_re[i + 3 * across]
                    y_0, y_1, y_2, y_3 = a_im[i], a_im[i + across], a_im[i + 2 * across], a_im[i + 3 * across]
                    p_re, p_im, q_re, q_im = x_0 + x_2, y_0 + y_2, x_0 - x_2, y_0 - y_2
                    r_re, r_im, s_re, s_im = x_1 + x_3, y_1 + y_3, y_1 - y_3, x_3 - x_1
                    b_re[o], b_im[o] = p_re + r_re, p_im + r_im
                    u, v = q_re + s_re, q_im + s_im
                    b_re[o + stride], b_im[o + stride] = u * c_1 - v * s_1, u * s_1 + v * c_1
                    u, v = p_re - r_re, p_im - r_im
                    b_re[o + 2 * stride], b_im[o + 2 * stride] = u * c_2 - v * s_2, u * s_2 + v * c_2
                    u, v = q_re - s_re, q_im - s_im
                    b_re[o + 3 * stride], b_im[o + 3 * stride] = u * c_3 - v * s_3, u * s_3 + v * c_3
            elif radix == 2:
                c_1, s_1 = table[0, k * step], table[1, k * step]
                for q in range(stride):
                    i, o = source + q, target + q
                    u, v = a_re[i] - a_re[i + across], a_im[i] - a_im[i + across]
                    b_re[o], b_im[o] = a_re[i] + a_re[i + across], a_im[i] + a_im[i + across]
                    b_re[o + stride], b_im[o + stride] = u * c_1 - v * s_1, u * s_1 + v * c_1
            else:
                for j in range(radix):
                    o = target + j * stride
                    for q in range(stride):
                        b_re[o + q], b_im[o + q] = a_re[source + q], a_im[source + q]
                    for r in range(1, radix):
                        at, i = (r * j) % radix * (total // radix), source + r * across
                        cosine, sine = table[0, at], table[1, at]
                        for q in range(stride):
                            b_re[o + q] += a_re[i + q] * cosine - a_im[i + q] * sine
                            b_im[o + q] += a_re[i + q] * sine + a_im[i + q] * cosine
                    cosine, sine = table[0, j * k * step], table[1, j * k * step]
                    for q in range(stride):
                        u, v = b_re[o + q], b_im[o + q]
                        b_re[o + q], b_im[o + q] = u * cosine - v * sine, u * sine + v * cosine
        a_re, a_im, b_re, b_im = b_re, b_im, a_re, a_im
        n, stride, swapped = m, stride * radix, not swapped
    if swapped:
        for k in range(total):
            rooms[0, k], rooms[1, k] = rooms[2, k], rooms[3, k]
