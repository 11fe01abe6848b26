"""PAEI in noise: the chords, eq. 1 as printed, a direct fit and FDB on the signals of case (i), over many seeds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from monitor.indicators.base import WindowedIndicator
from monitor.indicators.frequency_domain import FrequencyDomainIndicator
from monitor.indicators.phase_amplitude import PhaseAmplitudeIndices
from monitor.messages.blocks import Samples
from sim.cases.tracking_cases import NOISE, tracking_case

# m, of command and measured alike; the third is that of case (v), the others 2, 5 and 10 % of the command's amplitude
LEVELS = (0.03e-3, 0.075e-3, NOISE, 0.15e-3)
RUNS = 200
WINDOW = 2.0
CHORDS, EQUATION_1, DIRECT, FDB = "PAEI (chords)", "eq. 1 as printed (a = 1)", "eq. 1 by a direct fit", "FDB"
METHODS = (CHORDS, EQUATION_1, DIRECT, FDB)


@dataclass(frozen=True)
class NoisyPhase:
    """Mean and standard deviation over the runs of the phase [rad] and the ratio that one method gives.

    ``noise`` is the standard deviation of the noise [m], ``level`` the same over the command's amplitude.
    ``reported`` is the mean standard deviation of the phase that the indicator reports; NaN if it reports none.
    """

    indicator: str
    noise: float
    level: float
    known: float
    mean: float
    deviation: float
    reported: float
    known_ratio: float
    mean_ratio: float
    deviation_ratio: float


def paei_in_noise(seed: int = 1) -> tuple[NoisyPhase, ...]:
    """Add white noise to command and measured signal of case (i) and read phase and ratio after one window."""
    case = tracking_case("i")
    n = round(WINDOW * case.sample_rate)
    amplitude = float(np.max(np.abs(case.command)))
    rng = np.random.default_rng(seed)
    found = []
    for noise in LEVELS:
        x_c, x_m = np.stack([case.command[:n], case.measured[:n]])[..., None] + noise * rng.standard_normal(
            (2, n, RUNS)
        )
        for name, ratio, phase, reported in _read(case.sample_rate, x_c, x_m):
            of_phase = case.true_phase[0], phase.mean(), phase.std(), reported
            of_ratio = case.true_ratio[0], ratio.mean(), ratio.std()
            found.append(NoisyPhase(name, noise, noise / amplitude, *map(float, (*of_phase, *of_ratio))))
    return tuple(found)


def _read(sample_rate: float, x_c: Samples, x_m: Samples) -> Iterator[tuple[str, Samples, Samples, float]]:
    """Yield each method with its ratios and phases, (n_runs,), and the deviation of the phase that it reports."""
    n, runs = x_c.shape
    # all runs side by side, and only the value at the last sample
    common: dict[str, Any] = {"n_pairs": runs, "every": n}
    indicators: dict[str, WindowedIndicator[Any]] = {
        CHORDS: PhaseAmplitudeIndices(sample_rate, WINDOW, **common),
        EQUATION_1: PhaseAmplitudeIndices(sample_rate, WINDOW, noise_correction=False, **common),
        FDB: FrequencyDomainIndicator(sample_rate, WINDOW, **common),
    }
    for name in METHODS:
        if name == DIRECT:
            ratio, phase = np.array([direct_fit(x_c[:, run], x_m[:, run]) for run in range(runs)]).T
            yield name, ratio, phase, np.nan
            continue
        indicators[name].update_block(x_c, x_m, first=1)
        value = indicators[name].value
        # those of PAEI are the chords', which eq. 1 has no part in
        reported = np.nan if name == EQUATION_1 else float(np.mean(value.phase_sd))
        yield name, np.asarray(value.ratio), np.asarray(value.phase), reported


def direct_fit(x_c: Samples, x_m: Samples) -> tuple[float, float]:
    """Return the ratio command/measured and the phase [rad], positive where measured leads, of one window, (n,) each.

    The conic A c^2 + B c m + C m^2 + ... of least squares under 4 A C - B^2 = 1 (Fitzgibbon, Pilu and Fisher 1999),
    by the blocks of Halir and Flusser (1998). It is always an ellipse.
    """
    c, m = x_c - np.mean(x_c), x_m - np.mean(x_m)
    c, m = c / np.std(c), m / np.std(m)
    squares, straight = np.stack([c * c, c * m, m * m], axis=1), np.stack([c, m, np.ones(len(c))], axis=1)
    left = squares - straight @ np.linalg.lstsq(straight, squares, rcond=None)[0]
    scatter = left.T @ left
    # the inverse of the matrix whose quadratic form is 4 A C - B^2
    values, vectors = np.linalg.eig(np.array([scatter[2] / 2.0, -scatter[1], scatter[0] / 2.0]))
    candidates = vectors[:, np.isreal(values)].real
    discriminant = 4.0 * candidates[0] * candidates[2] - candidates[1] ** 2
    a, b, g = candidates[:, np.argmax(discriminant)]
    a, b, g = (a, b, g) if a > 0.0 else (-a, -b, -g)
    # clockwise, which is a lead, the swept area is negative
    lead = np.sum(c[:-1] * m[1:] - c[1:] * m[:-1]) < 0.0
    phase = np.arctan2(np.sqrt(4.0 * a * g - b * b), -b)
    return float(np.sqrt(g / a) * np.std(x_c) / np.std(x_m)), float(phase if lead else -phase)
