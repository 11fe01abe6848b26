"""The list of all indicators, made for one set of settings."""

from __future__ import annotations

from typing import Any

from monitor.config import IndicatorSettings, Measure
from monitor.indicators.base import WindowedIndicator
from monitor.indicators.broadband_delay import BroadbandDelayIndicator
from monitor.indicators.energy_error import HybridSimulationErrorMonitor
from monitor.indicators.frequency_domain import FrequencyDomainIndicator
from monitor.indicators.frequency_evaluation import FrequencyEvaluationIndex
from monitor.indicators.phase_amplitude import AdaptivePhaseAmplitudeIndices, PhaseAmplitudeIndices
from monitor.indicators.tracking_error import PeakErrorIndicator, RmsErrorIndicator
from monitor.indicators.tracking_indicator import TrackingIndicator


def all_indicators(
    settings: IndicatorSettings, sample_rate: float, n_pairs: int, *, with_force: bool = False
) -> tuple[WindowedIndicator[Any], ...]:
    """Return one of each that `settings` asks for, for `n_pairs` pairs; those that need a force only `with_force`.

    Raises
    ------
    ValueError : a setting does not fit the sample rate.
    """
    common: dict[str, Any] = {"n_pairs": n_pairs, "every": settings.every}
    gated = common | {"gate": settings.gate, "relative_gate": settings.relative_gate}
    ellipse = gated | {"noise_correction": settings.noise_correction}
    spectral = gated | {
        "band": settings.band,
        "peak": settings.peak,
        "taper": settings.taper,
        "image_correction": settings.image_correction,
        "delay_of": settings.delay_of,
    }
    # in which to find a value, when there is time
    hopped = {"latency": round(settings.window * sample_rate) // 32}
    broadband = gated | hopped | {"band": settings.band, "max_delay": settings.max_delay}
    kinds: dict[Measure, tuple[type[WindowedIndicator[Any]], dict[str, Any]]] = {
        "fdb": (FrequencyDomainIndicator, spectral),
        "paei": (PhaseAmplitudeIndices, ellipse),
        "paei_adaptive": (AdaptivePhaseAmplitudeIndices, ellipse),
        "ti": (TrackingIndicator, gated),
        "nrmse": (RmsErrorIndicator, common),
        "peak_error": (PeakErrorIndicator, common),
        "hsem": (HybridSimulationErrorMonitor, gated),
        "broadband": (BroadbandDelayIndicator, broadband),
        "fei": (FrequencyEvaluationIndex, common | hopped),
    }
    return tuple(
        kind(sample_rate, settings.window, **keywords)
        for measure, (kind, keywords) in kinds.items()
        if measure in settings.measures and (with_force or not kind.needs_force)
    )
