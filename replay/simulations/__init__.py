"""Simulations that can be streamed like recordings, by name, with the injected truth as additional channels."""

from __future__ import annotations

from math import inf

from replay.formats.base import Recording, RecordingError
from replay.simulations.models import SIMULATIONS, Simulation
from replay.simulations.tracking_tests import CASES, TESTS

__all__ = ["names", "simulation", "simulations"]

_SHORTEST = 0.1  # s
# by group
_ALL = {each.name: each for each in (*TESTS, *SIMULATIONS, *CASES)}


def simulations() -> tuple[Simulation, ...]:
    """Return all simulations, by group."""
    return tuple(_ALL.values())


def names() -> tuple[str, ...]:
    """Return the names of all simulations."""
    return tuple(_ALL)


def simulation(
    name: str, *, duration: float | None = None, seed: int = 1, compensation: str | None = None
) -> Recording:
    """Run a simulation and return what a rig would have recorded.

    Besides ``<actuator>.command``, ``.measured`` and ``.force`` (m, m, N) it has the injected truth:
    ``<actuator>.true_ratio``, ``.true_phase`` (rad, > 0: measured leads) and ``.true_delay`` (s, > 0: lags).

    Parameters
    ----------
    name : one of `names`.
    duration : s; by default the simulation's own.
    seed : of everything random.
    compensation : name of a compensator in the loop, see `monitor.compensation.methods`; its columns are additional
        channels, and ``<actuator>.actuator_delay`` (s) instead of the truth, which it changes.

    Raises
    ------
    RecordingError : there is no simulation of that name; the message lists all names.
    ValueError : the duration is not a time that can be simulated, or the simulation cannot be compensated.
    """
    known = _ALL.get(name)
    if known is None:
        raise RecordingError(f"there is no simulation {name!r}: choose {' or '.join(sorted(_ALL))}")
    duration = known.duration if duration is None else duration
    if not _SHORTEST <= duration < inf:
        raise ValueError(f"simulation duration {duration:g} s: must be {_SHORTEST} s or more")
    if compensation is None:
        return known.build(duration, seed)
    if known.build_compensated is None:
        able = " or ".join(each.name for each in _ALL.values() if each.build_compensated)
        raise ValueError(f"the simulation {name!r} has no loop to compensate: choose {able}")
    return known.build_compensated(duration, seed, compensation)
