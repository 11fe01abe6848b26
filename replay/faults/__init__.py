"""Faults on purpose: what can go wrong between a rig and the monitor, at will and repeatable by seed."""

from replay.faults.source import FaultError, Faults, FaultySource, parse_faults

__all__ = ["FaultError", "Faults", "FaultySource", "parse_faults"]
