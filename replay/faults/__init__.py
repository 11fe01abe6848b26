"""Faults on purpose: what can go wrong between a rig and the monitor, at will and repeatable by seed."""

from replay.faults.settings import FaultError, Faults, parse_faults
from replay.faults.source import FaultySource

__all__ = ["FaultError", "Faults", "FaultySource", "parse_faults"]
