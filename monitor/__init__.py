"""Synchroscope: how late and how large each actuator of a hybrid simulation is, live.

The names below are what a control engineer embeds; each is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from monitor.blocks import Channel, Role, SignalBlock, Stream
    from monitor.engine import Monitor, Update
    from monitor.indicators.base import Snapshot
    from monitor.indicators.frequency_domain import FrequencyDomainIndicator
    from monitor.indicators.peak_error import PeakError
    from monitor.indicators.phase_amplitude import PhaseAmplitudeIndices
    from monitor.indicators.rms_error import RootMeanSquareError
    from monitor.indicators.tracking_indicator import TrackingIndicator

__all__ = [
    "Channel",
    "FrequencyDomainIndicator",
    "Monitor",
    "PeakError",
    "PhaseAmplitudeIndices",
    "Role",
    "RootMeanSquareError",
    "SignalBlock",
    "Snapshot",
    "Stream",
    "TrackingIndicator",
    "Update",
]

_HOME = {
    "Channel": "monitor.blocks",
    "FrequencyDomainIndicator": "monitor.indicators.frequency_domain",
    "Monitor": "monitor.engine",
    "PeakError": "monitor.indicators.peak_error",
    "PhaseAmplitudeIndices": "monitor.indicators.phase_amplitude",
    "Role": "monitor.blocks",
    "RootMeanSquareError": "monitor.indicators.rms_error",
    "SignalBlock": "monitor.blocks",
    "Snapshot": "monitor.indicators.base",
    "Stream": "monitor.blocks",
    "TrackingIndicator": "monitor.indicators.tracking_indicator",
    "Update": "monitor.engine",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'monitor' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
