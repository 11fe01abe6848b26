"""The adaptive PAEI by the same rules from stored samples: every window is fitted anew."""

from __future__ import annotations

import numpy as np

from tests.oracles import chords, ellipse

SHORTEST, TRIES = 32, 3
TURN = 2.0 * np.pi - 1e-9


def at_every_sample(x_c, x_m, n_window, corrected=True):
    """Return ratio, phase and samples used after every sample; NaN where no window holds."""
    lags = chords.lags_of(n_window, 12, 2)
    rows, length = np.full((len(x_c), 3), np.nan), 0
    for i in range(len(x_c)):
        longest = min(i + 1, n_window)
        tried = length or longest
        for _ in range(TRIES):
            if not SHORTEST <= tried <= longest:
                break
            c, m = x_c[i + 1 - tried : i + 1], x_m[i + 1 - tried : i + 1]
            reading = chords.read(c, m, lags, lags[-1])
            fit = ellipse.balanced_fit(c, m) if corrected else ellipse.equation_1(c, m)
            if reading and _holds(reading, fit, c, m):
                of_chords = 1.0 / abs(reading.gain), np.angle(reading.gain)
                rows[i] = *(of_chords if corrected else (fit.ratio, fit.phase)), tried
                surplus = int((tried - 1) - TURN / reading.turn_rate)
                length = max(SHORTEST, tried - max(1, surplus // 4)) if surplus else tried
                break
            tried = SHORTEST if tried == longest else min(tried + max(1, tried // 8), longest)
            length = tried if length else 0
    return rows


def _holds(reading, fit, c, m):
    return (
        reading.turn_rate * (len(c) - 1) >= TURN
        and fit.opening > -0.3
        and reading.sd <= 0.1 * abs(reading.gain)
        and reading.noise <= 0.05
        and 1.5 * fit.half_width <= np.ptp(c) <= 4.0 * reading.amplitude
        and np.min(c) <= fit.centre[0] <= np.max(c)
        and np.min(m) <= fit.centre[1] <= np.max(m)
    )
