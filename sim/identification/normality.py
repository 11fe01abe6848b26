"""Whether a sample may be normal: D'Agostino and Pearson's test of skewness and kurtosis together."""

from __future__ import annotations

import numpy as np

from sim.arrays import Samples

# it is not made on fewer
FEWEST = 20


def normality(sample: Samples) -> float:
    """Return the probability of a sample, (n,), at least as strange if it is normal; NaN for fewer than twenty.

    D'Agostino's (1970) transformation of the skewness and Anscombe and Glynn's (1983) of the kurtosis make both
    normal; the sum of their squares is exponential. scipy.stats has the same, and takes long to load.
    """
    n = float(len(sample))
    deviation = sample - sample.mean()
    second = float(np.mean(deviation**2))
    if n < FEWEST or second == 0.0:
        return np.nan
    skewness = float(np.mean(deviation**3)) / second**1.5
    kurtosis = float(np.mean(deviation**4)) / second**2
    return float(np.exp(-0.5 * (_normal_skewness(skewness, n) ** 2 + _normal_kurtosis(kurtosis, n) ** 2)))


def _normal_skewness(skewness: float, n: float) -> float:
    scaled = skewness * np.sqrt((n + 1.0) * (n + 3.0) / (6.0 * (n - 2.0)))
    fourth = 3.0 * (n * n + 27.0 * n - 70.0) * (n + 1.0) * (n + 3.0)
    fourth /= (n - 2.0) * (n + 5.0) * (n + 7.0) * (n + 9.0)
    width = np.sqrt(2.0 * (fourth - 1.0)) - 1.0
    return float(np.arcsinh(scaled * np.sqrt((width - 1.0) / 2.0)) / np.sqrt(0.5 * np.log(width)))


def _normal_kurtosis(kurtosis: float, n: float) -> float:
    mean = 3.0 * (n - 1.0) / (n + 1.0)
    variance = 24.0 * n * (n - 2.0) * (n - 3.0) / ((n + 1.0) ** 2 * (n + 3.0) * (n + 5.0))
    third = 6.0 * (n * n - 5.0 * n + 2.0) / ((n + 7.0) * (n + 9.0))
    third *= np.sqrt(6.0 * (n + 3.0) * (n + 5.0) / (n * (n - 2.0) * (n - 3.0)))
    shape = 6.0 + 8.0 / third * (2.0 / third + np.sqrt(1.0 + 4.0 / third**2))
    share = (1.0 - 2.0 / shape) / (1.0 + (kurtosis - mean) / np.sqrt(variance) * np.sqrt(2.0 / (shape - 4.0)))
    return float((1.0 - 2.0 / (9.0 * shape) - np.cbrt(share)) / np.sqrt(2.0 / (9.0 * shape)))
