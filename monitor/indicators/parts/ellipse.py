"""Ellipse fit by eq. 1 of Mirza Hessabi and Mercan 2015 to points x, e, from sums of powers up to the fourth.

The residual is e = m - g x with x the command and g near the slope of the plot: x and e are nearly uncorrelated and
each has its own scale, else the fit is wrong by a factor of three at a phase of 1e-4 rad. Eq. 1 is

    c^2 + B c m + C m^2 + D c + E m + F = 0,

fitted by least squares with the coefficient of c^2 held at one. The fit is invariant to shifts and scales of the
signals. With c = x and m = e + g x it is the conic alpha x^2 + beta x e + gamma e^2 + ..., whose coefficients obey
alpha - beta g + gamma g^2 = 1.

The balanced fit holds the sum of the coefficients of x^2 and e^2 instead, scaled by their variances. In white noise
it reads a line as an open ellipse, but it still finds an ellipse where the loop changes within the window and eq. 1
does not.

The sums slide as in `sliding_statistics`: suffix sums before the last rebuild, prefix sums after it. Every rebuild
re-centres the frame (origin, slope) of the points, because the powers of points far from the origin cancel. The
samples are in the ring (`sample_loop`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.kernel import inlined, kernel, part
from monitor.messages.blocks import Samples

# columns of the sums
X, E, XX, XE, EE, XXX, XXE, XEE, EEE, XXXX, XXXE, XXEE, XEEE, EEEE = range(14)
N_SUMS = 14
_MAX_NONLINEARITY = 0.3


class Ellipse(NamedTuple):
    """The fitted conic: ``e^2 + a x^2 + b x e + ... = 0``.

    ``found``: the conic is an ellipse, or a line within noise and distortion. ``x_0`` and ``e_0``: its centre;
    ``half_width``: that of the ellipse along x, the command's amplitude.
    """

    found: bool
    a: float
    b: float
    x_0: float
    e_0: float
    half_width: float


@part
def add_powers(x: float, e: float, sums: Samples, row: int) -> None:
    """Add the powers of one point to a row of `sums`."""
    xx, xe, ee = x * x, x * e, e * e
    sums[row, X] += x
    sums[row, E] += e
    sums[row, XX] += xx
    sums[row, XE] += xe
    sums[row, EE] += ee
    sums[row, XXX] += xx * x
    sums[row, XXE] += xx * e
    sums[row, XEE] += x * ee
    sums[row, EEE] += ee * e
    sums[row, XXXX] += xx * xx
    sums[row, XXXE] += xx * xe
    sums[row, XXEE] += xx * ee
    sums[row, XEEE] += xe * ee
    sums[row, EEEE] += ee * ee


@kernel
def fit_ellipse(t: Samples, n: float, slope: float, balanced: bool) -> Ellipse:
    """Fit the conic to the sums `t` over `n` points, whose residual e is that to `slope`; eq. 1 unless `balanced`."""
    # in units of the standard deviations all numbers below are of order one
    u_1, v_1 = t[X] / n, t[E] / n
    s_x, s_e = np.sqrt(max(t[XX] / n - u_1 * u_1, 0.0)), np.sqrt(max(t[EE] / n - v_1 * v_1, 0.0))
    if s_e <= 1e-15 * s_x:
        # a line: perfect but for the gain
        return Ellipse(True, 0.0, 0.0, u_1, v_1, np.sqrt(2.0) * s_x)
    p, q = 1.0 / s_x, 1.0 / s_e
    u, v = u_1 * p, v_1 * q
    uu, uv, vv = t[XX] / n * p * p, t[XE] / n * p * q, t[EE] / n * q * q
    uuu, uuv, uvv, vvv = (
        t[XXX] / n * p * p * p,
        t[XXE] / n * p * p * q,
        t[XEE] / n * p * q * q,
        t[EEE] / n * q * q * q,
    )
    uuuu, uuuv, uuvv = t[XXXX] / n * p**4, t[XXXE] / n * p * p * p * q, t[XXEE] / n * p * p * q * q
    uvvv, vvvv = t[XEEE] / n * p * q * q * q, t[EEEE] / n * q**4

    # u^2 + v^2 plus multiples of p_0 u^2 + p_1 uv + p_2 v^2 and of q_1 uv + q_2 v^2
    rho = uv - u * v
    if balanced:
        # the frame's slope is that of an earlier window: the remaining correlation rho must not enter the norm
        p_0, p_1, p_2, q_1, q_2 = 1.0, 0.0, -1.0, 1.0, -rho
    else:
        # in these units the coefficient of c^2 is cos^2, -cos sin and sin^2 times those of u^2, uv and v^2
        size = np.hypot(s_e, slope * s_x)
        cos, sin = s_e / size, slope * s_x / size
        p_0, p_1, p_2, q_1, q_2 = sin, cos, 0.0, sin, cos
    k_00, k_01, k_02 = uuuu - uu * uu, uuuv - uu * uv, uuvv - uu * vv
    k_11, k_12, k_22 = uuvv - uv * uv, uvvv - uv * vv, vvvv - vv * vv
    # covariances of the three squares with the two combinations and with u^2 + v^2
    f_0, f_1 = p_0 * k_00 + p_1 * k_01 + p_2 * k_02, p_0 * k_01 + p_1 * k_11 + p_2 * k_12
    f_2 = p_0 * k_02 + p_1 * k_12 + p_2 * k_22
    c_00, c_01 = p_0 * f_0 + p_1 * f_1 + p_2 * f_2, q_1 * f_1 + q_2 * f_2
    c_11 = q_1 * q_1 * k_11 + 2.0 * q_1 * q_2 * k_12 + q_2 * q_2 * k_22
    r_0, r_1 = -f_0 - f_2, -q_1 * (k_01 + k_12) - q_2 * (k_02 + k_22)
    # covariances with the linear terms
    uu_u, uv_u, vv_u = uuu - uu * u, uuv - uv * u, uvv - vv * u
    uu_v, uv_v, vv_v = uuv - uu * v, uvv - uv * v, vvv - vv * v
    c_02, c_03 = p_0 * uu_u + p_1 * uv_u + p_2 * vv_u, p_0 * uu_v + p_1 * uv_v + p_2 * vv_v
    c_12, c_13 = q_1 * uv_u + q_2 * vv_u, q_1 * uv_v + q_2 * vv_v
    c_22, c_23, c_33 = uu - u * u, rho, vv - v * v
    r_2, r_3 = -uu_u - vv_u, -uu_v - vv_v

    # Cholesky factorisation
    l_00 = np.sqrt(c_00)
    l_10, l_20, l_30, y_0 = c_01 / l_00, c_02 / l_00, c_03 / l_00, r_0 / l_00
    l_11 = np.sqrt(c_11 - l_10 * l_10)
    l_21, l_31, y_1 = (c_12 - l_20 * l_10) / l_11, (c_13 - l_30 * l_10) / l_11, (r_1 - l_10 * y_0) / l_11
    l_22 = np.sqrt(c_22 - l_20 * l_20 - l_21 * l_21)
    l_32 = (c_23 - l_30 * l_20 - l_31 * l_21) / l_22
    y_2 = (r_2 - l_20 * y_0 - l_21 * y_1) / l_22
    l_33 = np.sqrt(c_33 - l_30 * l_30 - l_31 * l_31 - l_32 * l_32)
    y_3 = (r_3 - l_30 * y_0 - l_31 * y_1 - l_32 * y_2) / l_33
    d_e = y_3 / l_33
    d_x = (y_2 - l_32 * d_e) / l_22
    second = (y_1 - l_21 * d_x - l_31 * d_e) / l_11
    first = (y_0 - l_10 * second - l_20 * d_x - l_30 * d_e) / l_00
    norm = 1.0 + p_2 * first + q_2 * second
    a, b, d_x, d_e = (1.0 + p_0 * first) / norm, (p_1 * first + q_1 * second) / norm, d_x / norm, d_e / norm
    opening = a - 0.25 * b * b
    # the variance of v without the remaining slope, so that the result does not depend on the frame
    variance = 1.0 - rho * rho
    # of order one for an ellipse; a slightly curved line must not count as a hyperbola
    if not (np.isfinite(a + b + d_x + d_e) and norm > 0.0 and opening > -_MAX_NONLINEARITY * variance):
        return Ellipse(False, np.nan, np.nan, np.nan, np.nan, np.nan)
    width, u_0, v_0 = np.sqrt(2.0), u, v
    if opening > 0.0:
        u_c = (0.25 * b * d_e - 0.5 * d_x) / opening
        v_c = -0.5 * (d_e + b * u_c)
        constant = -(vv + a * uu + b * uv + d_x * u + d_e * v)
        square = -(constant + 0.5 * (d_x * u_c + d_e * v_c)) / opening
        # the ends of a thin ellipse are not determined; then the width is that of whole cycles
        if 0.25 < square < 8.0:
            width, u_0, v_0 = np.sqrt(square), u_c, v_c
    return Ellipse(True, a * s_e * s_e * p * p, b * s_e * p, u_0 * s_x, v_0 * s_e, width * s_x)


class EllipseWindow(NamedTuple):
    """The arrays of the window.

    ``suffix`` (n_pairs, n_window + 1, n_sums); ``prefix`` (n_pairs, n_sums); ``frame`` (n_pairs, 6): origin of c and
    m, slope g, smallest spread of c, squares of the farthest x and e that left since the last evaluation; ``counts``
    (n_pairs, 3): samples until the next regular rebuild, since the last rebuild, and since the last early one.
    """

    suffix: Samples
    prefix: Samples
    frame: Samples
    counts: NDArray[np.int64]


def new_ellipse_window(n_window: int, n_pairs: int) -> EllipseWindow:
    """Return an empty window."""
    return EllipseWindow(
        suffix=np.zeros((n_pairs, n_window + 1, N_SUMS)),
        prefix=np.zeros((n_pairs, N_SUMS)),
        frame=np.zeros((n_pairs, 6)),
        counts=np.tile(np.array([n_window, 0, 0]), (n_pairs, 1)),
    )


@inlined
def push_point(
    pair: int,
    c: float,
    m: float,
    ring: Samples,
    prefix: Samples,
    frame: Samples,
    counts: NDArray[np.int64],
    oldest: int,
    number: int,
) -> None:
    """Add a sample; the one at `oldest` in the ring leaves."""
    if number == 0:
        frame[pair, 0], frame[pair, 1], frame[pair, 2] = c, m, 1.0
    x = c - frame[pair, 0]
    e = m - frame[pair, 1] - frame[pair, 2] * x
    add_powers(x, e, prefix, pair)
    x_old = ring[pair, 0, oldest] - frame[pair, 0]
    e_old = ring[pair, 1, oldest] - frame[pair, 1] - frame[pair, 2] * x_old
    frame[pair, 4], frame[pair, 5] = max(frame[pair, 4], x_old * x_old), max(frame[pair, 5], e_old * e_old)
    counts[pair, 0] -= 1
    counts[pair, 1] += 1
    counts[pair, 2] += 1


@part
def rebuild_points(
    pair: int,
    ring: Samples,
    suffix: Samples,
    prefix: Samples,
    frame: Samples,
    counts: NDArray[np.int64],
    at: int,
    number: int,
) -> None:
    """Fit a new frame to the full window and recompute the suffix sums from its newest sample, at `at`, back."""
    n_window = suffix.shape[1] - 1
    oldest = at + 1 - n_window
    _fit_frame(pair, ring, oldest, n_window, frame)
    mid_c, mid_m, slope = frame[pair, 0], frame[pair, 1], frame[pair, 2]
    for j in range(N_SUMS):
        prefix[pair, j] = 0.0
    for age in range(n_window - 1, -1, -1):
        x = ring[pair, 0, oldest + age] - mid_c
        e = ring[pair, 1, oldest + age] - mid_m - slope * x
        add_powers(x, e, prefix, pair)
        for j in range(N_SUMS):
            suffix[pair, age, j] = prefix[pair, j]
    for j in range(N_SUMS):
        prefix[pair, j] = 0.0
    # after the first window the pairs' rebuilds are staggered, so that no sample waits for all of them
    offset = pair * 40503 % 65536 * n_window // 131072 if number + 1 == n_window else 0
    counts[pair, 0] = n_window - offset
    counts[pair, 1] = 0


@inlined
def _fit_frame(pair: int, ring: Samples, oldest: int, n_window: int, frame: Samples) -> None:
    """Set the frame; its origin is the middle of the range, whatever part of a cycle is in the window."""
    sum_c = sum_m = 0.0
    low = high = ring[pair, 0, oldest]
    for k in range(oldest, oldest + n_window):
        c = ring[pair, 0, k]
        sum_c += c
        sum_m += ring[pair, 1, k]
        low = c if c < low else low
        high = c if c > high else high
    mean_c, mean_m = sum_c / n_window, sum_m / n_window
    var_c = cov = 0.0
    for k in range(oldest, oldest + n_window):
        d = ring[pair, 0, k] - mean_c
        var_c += d * d
        cov += d * (ring[pair, 1, k] - mean_m)
    slope = cov / var_c if var_c > 0.0 else 0.0
    mid_c = low + 0.5 * (high - low)
    frame[pair, 0], frame[pair, 1] = mid_c, mean_m + slope * (mid_c - mean_c)
    frame[pair, 2], frame[pair, 3] = slope, 0.3 * np.sqrt(var_c / n_window)


@inlined
def sum_points(
    pair: int,
    ring: Samples,
    suffix: Samples,
    prefix: Samples,
    frame: Samples,
    counts: NDArray[np.int64],
    at: int,
    number: int,
    sums: Samples,
) -> None:
    """Write the sums over the full window, in a frame that fits it, to `sums`."""
    n_window = suffix.shape[1] - 1
    collect_points(pair, suffix, prefix, counts[pair, 1], sums)
    # an outlier that has left the window distorted the frame of the other points
    var_x = sums[XX] / n_window - (sums[X] / n_window) ** 2
    var_e = sums[EE] / n_window - (sums[E] / n_window) ** 2
    outlier = frame[pair, 4] > 16.0 * var_x or frame[pair, 5] > 16.0 * var_e
    frame[pair, 4] = frame[pair, 5] = 0.0
    if (outlier or counts[pair, 2] >= n_window // 8) and is_off_centre(sums, n_window, frame[pair, 3]):
        rebuild_points(pair, ring, suffix, prefix, frame, counts, at, number)
        counts[pair, 2] = 0
        collect_points(pair, suffix, prefix, 0, sums)


@part
def collect_points(pair: int, suffix: Samples, prefix: Samples, row: int, sums: Samples) -> None:
    """Write the sums from a row of the suffix on to `sums`."""
    for j in range(N_SUMS):
        sums[j] = suffix[pair, row, j] + prefix[pair, j]


@inlined
def is_off_centre(sums: Samples, n: int, margin: float) -> bool:
    """Whether the frame's origin is so far from the points that their powers cancel; True for NaN."""
    x, e = sums[X] / n, sums[E] / n
    xx, ee = sums[XX] / n, sums[EE] / n
    var_x, var_e, cov = xx - x * x, ee - e * e, sums[XE] / n - x * e
    return not (
        10.0 * x * x <= 9.0 * xx
        and 10.0 * e * e <= 9.0 * ee
        and margin * margin <= var_x
        and cov * cov <= 0.9 * var_x * var_e
    )
