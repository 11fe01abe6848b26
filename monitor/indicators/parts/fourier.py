"""Discrete Fourier transform of any length for kernels, which cannot call a library.

Stockham's self-sorting transform by the prime factors of the length; where a factor is large, Bluestein's algorithm,
which is a convolution with a chirp at a power of two.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.kernel import kernel, part
from monitor.messages.blocks import Samples

_LARGEST_RADIX = 31
# sines and cosines of 1/3, 1/5 and 2/5 of a full turn
_SIN_3 = np.sqrt(0.75)
_COS_5, _SIN_5 = np.cos(0.4 * np.pi), np.sin(0.4 * np.pi)
_COS_5_2, _SIN_5_2 = np.cos(0.8 * np.pi), np.sin(0.8 * np.pi)


class Transform(NamedTuple):
    """Plan of a transform of n values; its inner length L is n, or a power of two where there is a chirp.

    ``radices``: factors of L; ``table`` (2, L): cosine and minus sine of multiples of 2 pi / L; ``chirp``
    (2, n) or (2, 0); ``chirp_spectrum`` (2, L) or (2, 0); ``buffers`` (4, L): real and imaginary parts, overwritten.
    """

    radices: NDArray[np.int64]
    table: Samples
    chirp: Samples
    chirp_spectrum: Samples
    buffers: Samples


def new_transform(n: int) -> Transform:
    """Return the transform of n values."""
    radices = _radices(n)
    if max(radices) <= _LARGEST_RADIX:
        none = np.empty((2, 0))
        return Transform(np.array(radices), _table(n), none, none, np.zeros((4, n)))
    length = 1 << (2 * n - 2).bit_length()
    # the square modulo 2 n, because large multiples of pi lose digits
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
def transform(plan: Transform) -> None:
    """Transform the first n values of buffers 0 and 1, real and imaginary parts, in place."""
    table, chirp, chirp_spectrum, buffers = plan.table, plan.chirp, plan.chirp_spectrum, plan.buffers
    n = chirp.shape[1]
    if n == 0:
        _stockham(plan.radices, table, buffers)
        return
    length = table.shape[1]
    re, im = buffers[0], buffers[1]
    for t in range(n):
        x, y = re[t], im[t]
        re[t], im[t] = x * chirp[0, t] - y * chirp[1, t], x * chirp[1, t] + y * chirp[0, t]
    for t in range(n, length):
        re[t] = im[t] = 0.0
    _stockham(plan.radices, table, buffers)
    # the inverse transform is the conjugate of that of the conjugate
    for k in range(length):
        x, y = re[k], im[k]
        re[k] = x * chirp_spectrum[0, k] - y * chirp_spectrum[1, k]
        im[k] = -x * chirp_spectrum[1, k] - y * chirp_spectrum[0, k]
    _stockham(plan.radices, table, buffers)
    for k in range(n):
        x, y = re[k], -im[k]
        re[k], im[k] = x * chirp[0, k] - y * chirp[1, k], x * chirp[1, k] + y * chirp[0, k]


@part
def split_bin(buffers: Samples, n: int, k: int) -> tuple[complex, complex]:
    """Return bin k of two real signals of n values, transformed as real and imaginary part of one."""
    at, mirrored = k if k >= 0 else k + n, n - k if k > 0 else -k
    re, im, mirrored_re, mirrored_im = buffers[0, at], buffers[1, at], buffers[0, mirrored], buffers[1, mirrored]
    first, second = complex(re + mirrored_re, im - mirrored_im), complex(im + mirrored_im, mirrored_re - re)
    return 0.5 * first, 0.5 * second


@kernel
def _stockham(radices: NDArray[np.int64], table: Samples, buffers: Samples) -> None:
    total = table.shape[1]
    a_re, a_im, b_re, b_im = buffers[0], buffers[1], buffers[2], buffers[3]
    m, stride, swapped = total, 1, False
    for radix in radices:
        m //= radix
        if radix == 2:
            _by_2(a_re, a_im, b_re, b_im, table, stride, m)
        elif radix == 3:
            _by_3(a_re, a_im, b_re, b_im, table, stride, m)
        elif radix == 4:
            _by_4(a_re, a_im, b_re, b_im, table, stride, m)
        elif radix == 5:
            _by_5(a_re, a_im, b_re, b_im, table, stride, m)
        else:
            _by_any(a_re, a_im, b_re, b_im, table, stride, m, radix)
        a_re, a_im, b_re, b_im = b_re, b_im, a_re, a_im
        stride, swapped = stride * radix, not swapped
    if swapped:
        for k in range(total):
            buffers[0, k], buffers[1, k] = buffers[2, k], buffers[3, k]


@kernel
def _by_2(a_re: Samples, a_im: Samples, b_re: Samples, b_im: Samples, table: Samples, stride: int, m: int) -> None:
    across, step = stride * m, stride
    for k in range(m):
        source, target = stride * k, stride * 2 * k
        c_1, s_1 = table[0, k * step], table[1, k * step]
        for q in range(stride):
            i, o = source + q, target + q
            u, v = a_re[i] - a_re[i + across], a_im[i] - a_im[i + across]
            b_re[o], b_im[o] = a_re[i] + a_re[i + across], a_im[i] + a_im[i + across]
            b_re[o + stride], b_im[o + stride] = u * c_1 - v * s_1, u * s_1 + v * c_1


@kernel
def _by_3(a_re: Samples, a_im: Samples, b_re: Samples, b_im: Samples, table: Samples, stride: int, m: int) -> None:
    across, step = stride * m, stride
    for k in range(m):
        source, target = stride * k, stride * 3 * k
        c_1, s_1 = table[0, k * step], table[1, k * step]
        c_2, s_2 = table[0, 2 * k * step], table[1, 2 * k * step]
        for q in range(stride):
            i, o = source + q, target + q
            p_re, p_im = a_re[i + across] + a_re[i + 2 * across], a_im[i + across] + a_im[i + 2 * across]
            q_re = _SIN_3 * (a_im[i + across] - a_im[i + 2 * across])
            q_im = _SIN_3 * (a_re[i + 2 * across] - a_re[i + across])
            x, y = a_re[i] - 0.5 * p_re, a_im[i] - 0.5 * p_im
            b_re[o], b_im[o] = a_re[i] + p_re, a_im[i] + p_im
            u, v = x + q_re, y + q_im
            b_re[o + stride], b_im[o + stride] = u * c_1 - v * s_1, u * s_1 + v * c_1
            u, v = x - q_re, y - q_im
            b_re[o + 2 * stride], b_im[o + 2 * stride] = u * c_2 - v * s_2, u * s_2 + v * c_2


@kernel
def _by_4(a_re: Samples, a_im: Samples, b_re: Samples, b_im: Samples, table: Samples, stride: int, m: int) -> None:
    across, step = stride * m, stride
    for k in range(m):
        source, target = stride * k, stride * 4 * k
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


@kernel
def _by_5(a_re: Samples, a_im: Samples, b_re: Samples, b_im: Samples, table: Samples, stride: int, m: int) -> None:
    across, step = stride * m, stride
    for k in range(m):
        source, target = stride * k, stride * 5 * k
        c_1, s_1 = table[0, k * step], table[1, k * step]
        c_2, s_2 = table[0, 2 * k * step], table[1, 2 * k * step]
        c_3, s_3 = table[0, 3 * k * step], table[1, 3 * k * step]
        c_4, s_4 = table[0, 4 * k * step], table[1, 4 * k * step]
        for q in range(stride):
            i, o = source + q, target + q
            p_re, p_im = a_re[i + across] + a_re[i + 4 * across], a_im[i + across] + a_im[i + 4 * across]
            q_re, q_im = a_im[i + across] - a_im[i + 4 * across], a_re[i + 4 * across] - a_re[i + across]
            i_2, i_3 = i + 2 * across, i + 3 * across
            r_re, r_im = a_re[i_2] + a_re[i_3], a_im[i_2] + a_im[i_3]
            s_re, s_im = a_im[i_2] - a_im[i_3], a_re[i_3] - a_re[i_2]
            b_re[o], b_im[o] = a_re[i] + p_re + r_re, a_im[i] + p_im + r_im
            x, y = a_re[i] + _COS_5 * p_re + _COS_5_2 * r_re, a_im[i] + _COS_5 * p_im + _COS_5_2 * r_im
            d_re, d_im = _SIN_5 * q_re + _SIN_5_2 * s_re, _SIN_5 * q_im + _SIN_5_2 * s_im
            u, v = x + d_re, y + d_im
            b_re[o + stride], b_im[o + stride] = u * c_1 - v * s_1, u * s_1 + v * c_1
            u, v = x - d_re, y - d_im
            b_re[o + 4 * stride], b_im[o + 4 * stride] = u * c_4 - v * s_4, u * s_4 + v * c_4
            x, y = a_re[i] + _COS_5_2 * p_re + _COS_5 * r_re, a_im[i] + _COS_5_2 * p_im + _COS_5 * r_im
            d_re, d_im = _SIN_5_2 * q_re - _SIN_5 * s_re, _SIN_5_2 * q_im - _SIN_5 * s_im
            u, v = x + d_re, y + d_im
            b_re[o + 2 * stride], b_im[o + 2 * stride] = u * c_2 - v * s_2, u * s_2 + v * c_2
            u, v = x - d_re, y - d_im
            b_re[o + 3 * stride], b_im[o + 3 * stride] = u * c_3 - v * s_3, u * s_3 + v * c_3


@kernel
def _by_any(
    a_re: Samples, a_im: Samples, b_re: Samples, b_im: Samples, table: Samples, stride: int, m: int, radix: int
) -> None:
    across, step = stride * m, stride
    for k in range(m):
        source, target = stride * k, stride * radix * k
        for j in range(radix):
            o = target + j * stride
            for q in range(stride):
                b_re[o + q], b_im[o + q] = a_re[source + q], a_im[source + q]
            for r in range(1, radix):
                at, i = (r * j) % radix * (table.shape[1] // radix), source + r * across
                cosine, sine = table[0, at], table[1, at]
                for q in range(stride):
                    b_re[o + q] += a_re[i + q] * cosine - a_im[i + q] * sine
                    b_im[o + q] += a_re[i + q] * sine + a_im[i + q] * cosine
            cosine, sine = table[0, j * k * step], table[1, j * k * step]
            for q in range(stride):
                u, v = b_re[o + q], b_im[o + q]
                b_re[o + q], b_im[o + q] = u * cosine - v * sine, u * sine + v * cosine
