"""Synchroscope: how late and how large each actuator of a hybrid simulation is, live.

The names below are what a control engineer embeds; each is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from monitor.client.connection_state import ServiceLostError
    from monitor.client.live import Live, connect
    from monitor.client.rows import Row
    from monitor.engine.monitor import Monitor, Update
    from monitor.ensembles.reader import read_ensemble
    from monitor.indicators.band_pass import BandPass
    from monitor.indicators.base import Snapshot
    from monitor.indicators.benchmark_criteria import benchmark_criteria
    from monitor.indicators.broadband_delay import BroadbandDelayIndicator
    from monitor.indicators.energy_error import HybridSimulationErrorMonitor
    from monitor.indicators.frequency_domain import FrequencyDomainIndicator
    from monitor.indicators.frequency_evaluation import FrequencyEvaluationIndex, frequency_evaluation_index
    from monitor.indicators.phase_amplitude import AdaptivePhaseAmplitudeIndices, PhaseAmplitudeIndices
    from monitor.indicators.tracking_error import PeakErrorIndicator, RmsErrorIndicator
    from monitor.indicators.tracking_indicator import TrackingIndicator
    from monitor.indicators.transfer_function import TransferFunction
    from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
    from monitor.reliability.decision import Estimate, Limits, Verdict, decide
    from monitor.reliability.ensemble import Ensemble, sort_ensemble
    from monitor.reliability.gaussian import Errors, GaussianReliability
    from monitor.reliability.plan import PlannedSite, ReliabilityPlan
    from monitor.reliability.site import SiteReliability
    from monitor.reliability.tolerance import Policy, Tolerance

__all__ = [
    "AdaptivePhaseAmplitudeIndices",
    "BandPass",
    "BroadbandDelayIndicator",
    "Channel",
    "Ensemble",
    "Errors",
    "Estimate",
    "FrequencyDomainIndicator",
    "FrequencyEvaluationIndex",
    "GaussianReliability",
    "HybridSimulationErrorMonitor",
    "Limits",
    "Live",
    "Monitor",
    "PeakErrorIndicator",
    "PhaseAmplitudeIndices",
    "PlannedSite",
    "Policy",
    "ReliabilityPlan",
    "RmsErrorIndicator",
    "Role",
    "Row",
    "ServiceLostError",
    "SignalBlock",
    "SiteReliability",
    "Snapshot",
    "Stream",
    "Tolerance",
    "TrackingIndicator",
    "TransferFunction",
    "Update",
    "Verdict",
    "benchmark_criteria",
    "connect",
    "decide",
    "frequency_evaluation_index",
    "read_ensemble",
    "sort_ensemble",
]

_HOME = {
    "AdaptivePhaseAmplitudeIndices": "monitor.indicators.phase_amplitude",
    "BandPass": "monitor.indicators.band_pass",
    "BroadbandDelayIndicator": "monitor.indicators.broadband_delay",
    "Channel": "monitor.messages.blocks",
    "Ensemble": "monitor.reliability.ensemble",
    "Errors": "monitor.reliability.gaussian",
    "Estimate": "monitor.reliability.decision",
    "FrequencyDomainIndicator": "monitor.indicators.frequency_domain",
    "FrequencyEvaluationIndex": "monitor.indicators.frequency_evaluation",
    "GaussianReliability": "monitor.reliability.gaussian",
    "HybridSimulationErrorMonitor": "monitor.indicators.energy_error",
    "Limits": "monitor.reliability.decision",
    "Live": "monitor.client.live",
    "Monitor": "monitor.engine.monitor",
    "PeakErrorIndicator": "monitor.indicators.tracking_error",
    "PhaseAmplitudeIndices": "monitor.indicators.phase_amplitude",
    "PlannedSite": "monitor.reliability.plan",
    "Policy": "monitor.reliability.tolerance",
    "ReliabilityPlan": "monitor.reliability.plan",
    "Role": "monitor.messages.blocks",
    "RmsErrorIndicator": "monitor.indicators.tracking_error",
    "Row": "monitor.client.rows",
    "ServiceLostError": "monitor.client.connection_state",
    "SignalBlock": "monitor.messages.blocks",
    "SiteReliability": "monitor.reliability.site",
    "Snapshot": "monitor.indicators.base",
    "Stream": "monitor.messages.blocks",
    "Tolerance": "monitor.reliability.tolerance",
    "TrackingIndicator": "monitor.indicators.tracking_indicator",
    "TransferFunction": "monitor.indicators.transfer_function",
    "Update": "monitor.engine.monitor",
    "Verdict": "monitor.reliability.decision",
    "benchmark_criteria": "monitor.indicators.benchmark_criteria",
    "connect": "monitor.client.live",
    "decide": "monitor.reliability.decision",
    "frequency_evaluation_index": "monitor.indicators.frequency_evaluation",
    "read_ensemble": "monitor.ensembles.reader",
    "sort_ensemble": "monitor.reliability.ensemble",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'monitor' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
