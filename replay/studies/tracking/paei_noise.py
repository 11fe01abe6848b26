"""PAEI in noise: the corrected fit, the ordinary one and FDB on the signals of case (i), over many seeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from monitor.blocks import Samples
from monitor.indicators.base import WindowedIndicator
from monitor.indicators.frequency_domain import FrequencyDomainIndicator
from monitor.indicators.phase_amplitude import PhaseAmplitudeIndices
from sim.tracking_cases import tracking_case

LEVELS = (0.02, 0.05, 0.1)
RUNS = 200
WINDOW = 2.0


@dataclass(frozen=True)
class NoisyPhase:
    """Mean and standard deviation over the runs of the phase [rad] that an indicator gives; ``level`` of the command.

    ``told`` is the standard deviation that the indicator itself tells, in the mean; NaN where it tells none.
    """

    indicator: str
    level: float
    known: float
    mean: float
    deviation: float
    told: float


def paei_in_noise(runs: int = RUNS, seed: int = 1) -> tuple[NoisyPhase, ...]:
    """Add white noise to command and measured signal of case (i) and read the phase after one window."""
    case = tracking_case("i")
    n = round(WINDOW * case.sample_rate)
    known = float(case.true_phase[0])
    amplitude = float(np.max(np.abs(case.command)))
    rng = np.random.default_rng(seed)
    found = []
    for level in LEVELS:
        noise = level * amplitude * rng.standard_normal((2, n, runs))
        x_c: Samples = case.command[:n, None] + noise[0]
        x_m: Samples = case.measured[:n, None] + noise[1]
        # all runs side by side, and only the value at the last sample
        common: dict[str, Any] = {"n_pairs": runs, "every": n}
        indicators: dict[str, WindowedIndicator[Any]] = {
            "PAEI": PhaseAmplitudeIndices(case.sample_rate, WINDOW, **common),
            "PAEI, ordinary fit": PhaseAmplitudeIndices(case.sample_rate, WINDOW, noise_correction=False, **common),
            "FDB": FrequencyDomainIndicator(case.sample_rate, WINDOW, **common),
        }
        for name, indicator in indicators.items():
            indicator.update_block(x_c, x_m, first=1)
            value = indicator.value
            phase, told = value.phase, value.phase_sd
            found.append(
                NoisyPhase(name, level, known, float(phase.mean()), float(phase.std()), float(np.mean(told)))
            )
    return tuple(found)
