"""The list of all indicators, made for one set of settings."""

from __future__ import annotations

from typing import Any

from monitor.config import IndicatorSettings
from monitor.indicators.base import WindowedIndicator
from monitor.indicators.frequency_domain import FrequencyDomainIndicator
from monitor.indicators.peak_error import PeakError
from monitor.indicators.phase_amplitude import PhaseAmplitudeIndices
from monitor.indicators.rms_error import RootMeanSquareError
from monitor.indicators.tracking_indicator import TrackingIndicator


def all_indicators(
    settings: IndicatorSettings, sample_rate: float, n_pairs: int, *, with_force: bool = False
) -> tuple[WindowedIndicator[Any], ...]:
    """Return one of each for `n_pairs` pairs side by side; those that need a force only `with_force`.

    Raises
    ------
    ValueError : a setting does not fit the sample rate.
    """
    common: dict[str, Any] = {"n_pairs": n_pairs, "every": settings.every}
    gates: dict[str, Any] = {"gate": settings.gate, "relative_gate": settings.relative_gate}
    rate, window = sample_rate, settings.window
    found: list[WindowedIndicator[Any]] = [
        FrequencyDomainIndicator(rate, window, band=settings.band, peak=settings.peak, **gates, **common),
        PhaseAmplitudeIndices(rate, window, noise_correction=settings.noise_correction, **gates, **common),
        TrackingIndicator(rate, window, **common),
        RootMeanSquareError(rate, window, **common),
        PeakError(rate, window, **common),
    ]
    return tuple(indicator for indicator in found if with_force or not indicator.needs_force)
