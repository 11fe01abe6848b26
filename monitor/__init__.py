"""Synchroscope: how late and how large each actuator of a hybrid simulation is, live.

The names below are what a control engineer embeds; each is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from monitor.blocks import Channel, Role, SignalBlock, Stream
    from monitor.engine import Monitor, Update
    from monitor.indicators.adaptive_phase_amplitude import AdaptivePhaseAmplitudeIndices
    from monitor.indicators.band_pass import BandPass
    from monitor.indicators.base import Snapshot
    from monitor.indicators.benchmark_criteria import benchmark_criteria
    from monitor.indicators.broadband_delay import BroadbandDelayIndicator
    from monitor.indicators.energy_error import HybridSimulationErrorMonitor
    from monitor.indicators.frequency_domain import FrequencyDomainIndicator
    from monitor.indicators.frequency_evaluation import FrequencyEvaluationIndex, frequency_evaluation_index
    from monitor.indicators.peak_error import PeakError
    from monitor.indicators.phase_amplitude import PhaseAmplitudeIndices
    from monitor.indicators.rms_error import RootMeanSquareError
    from monitor.indicators.tracking_indicator import TrackingIndicator
    from monitor.indicators.transfer_function import TransferFunction

__all__ = [
    "AdaptivePhaseAmplitudeIndices",
    "BandPass",
    "BroadbandDelayIndicator",
    "Channel",
    "FrequencyDomainIndicator",
    "FrequencyEvaluationIndex",
    "HybridSimulationErrorMonitor",
    "Monitor",
    "PeakError",
    "PhaseAmplitudeIndices",
    "Role",
    "RootMeanSquareError",
    "SignalBlock",
    "Snapshot",
    "Stream",
    "TrackingIndicator",
    "TransferFunction",
    "Update",
    "benchmark_criteria",
    "frequency_evaluation_index",
]

_HOME = {
    "AdaptivePhaseAmplitudeIndices": "monitor.indicators.adaptive_phase_amplitude",
    "BandPass": "monitor.indicators.band_pass",
    "BroadbandDelayIndicator": "monitor.indicators.broadband_delay",
    "Channel": "monitor.blocks",
    "FrequencyDomainIndicator": "monitor.indicators.frequency_domain",
    "FrequencyEvaluationIndex": "monitor.indicators.frequency_evaluation",
    "HybridSimulationErrorMonitor": "monitor.indicators.energy_error",
    "Monitor": "monitor.engine",
    "PeakError": "monitor.indicators.peak_error",
    "PhaseAmplitudeIndices": "monitor.indicators.phase_amplitude",
    "Role": "monitor.blocks",
    "RootMeanSquareError": "monitor.indicators.rms_error",
    "SignalBlock": "monitor.blocks",
    "Snapshot": "monitor.indicators.base",
    "Stream": "monitor.blocks",
    "TrackingIndicator": "monitor.indicators.tracking_indicator",
    "TransferFunction": "monitor.indicators.transfer_function",
    "Update": "monitor.engine",
    "benchmark_criteria": "monitor.indicators.benchmark_criteria",
    "frequency_evaluation_index": "monitor.indicators.frequency_evaluation",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'monitor' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
