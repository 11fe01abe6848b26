"""Whether a short window holds one turn of a loop, and whether more than chance makes the two signals alike in it."""

from __future__ import annotations

from monitor.indicators.parts.ellipse_fit import N_SUMS as N_POWERS
from monitor.indicators.parts.ellipse_fit import add_powers, fit_ellipse
from monitor.indicators.parts.residual import UNRELATED
from monitor.kernel import reduction
from monitor.messages.blocks import Samples

# of the ellipse's half-width, which the data must span; of the chords' amplitude, which it may span
_SPANNED, _MOST = 1.5, 4.0


@reduction
def is_alike(c: Samples, m: Samples, lag: int) -> bool:
    """Whether measured follows the command by `lag` samples also over more than one turn, and not by chance."""
    first, n = max(lag, 0), c.shape[0] - abs(lag)
    if n < 2:
        return False
    earlier, later = c[first - lag : first - lag + n], m[first : first + n]
    # a line is taken out of both: what drifts is no part of the motion
    middle, sum_c, sum_m, tilt_c, tilt_m, cc, cm, mm = 0.5 * (n - 1), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for t in range(n):
        x, y, at = earlier[t] - earlier[0], later[t] - later[0], t - middle
        sum_c, sum_m, tilt_c, tilt_m = sum_c + x, sum_m + y, tilt_c + at * x, tilt_m + at * y
        cc, cm, mm = cc + x * x, cm + x * y, mm + y * y
    per_sample, per_tilt = 1.0 / n, 12.0 / (n * (n * float(n) - 1.0))
    cc -= per_sample * sum_c * sum_c + per_tilt * tilt_c * tilt_c
    cm -= per_sample * sum_c * sum_m + per_tilt * tilt_c * tilt_m
    mm -= per_sample * sum_m * sum_m + per_tilt * tilt_m * tilt_m
    return bool(cm * cm >= (1.0 - UNRELATED) * cc * mm)


@reduction
def holds_ellipse(
    c: Samples, m: Samples, amplitude: float, noise_correction: bool, powers: Samples
) -> tuple[bool, float, float, float, float]:
    """Whether the points draw an ellipse, span enough of it and have its centre in their bounding box.

    Returns
    -------
    holds : that.
    slope, a, b, half_width : of the frame and of the conic in it, see `fit_ellipse`.
    """
    n = c.shape[0]
    low_c, high_c, low_m, high_m, mean_c, mean_m = c[0], c[0], m[0], m[0], 0.0, 0.0
    for t in range(n):
        low_c, high_c, low_m, high_m = min(c[t], low_c), max(c[t], high_c), min(m[t], low_m), max(m[t], high_m)
        mean_c, mean_m = mean_c + (c[t] - c[0]), mean_m + (m[t] - m[0])
    mean_c, mean_m = c[0] + mean_c / n, m[0] + mean_m / n
    square = common = 0.0
    for t in range(n):
        square += (c[t] - mean_c) * (c[t] - mean_c)
        common += (c[t] - mean_c) * (m[t] - mean_m)
    slope = common / square if square > 0.0 else 0.0
    for j in range(N_POWERS):
        powers[0, j] = 0.0
    for t in range(n):
        x = c[t] - mean_c
        add_powers(x, m[t] - mean_m - slope * x, powers, 0)
    ellipse = fit_ellipse(powers[0], float(n), slope, noise_correction)
    c_0, m_0 = mean_c + ellipse.x_0, mean_m + slope * ellipse.x_0 + ellipse.e_0
    holds = ellipse.found and _SPANNED * ellipse.half_width <= high_c - low_c <= _MOST * amplitude
    holds = bool(holds and low_c <= c_0 <= high_c and low_m <= m_0 <= high_m)
    return holds, slope, ellipse.a, ellipse.b, ellipse.half_width
