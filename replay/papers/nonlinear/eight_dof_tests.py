"""Virtual tests of the eight masses, sound and damaged, with friction and impact and without."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from monitor.messages.blocks import Samples
from sim.laboratory.structure import Structure
from sim.models.nonlinear_chains import EightMasses
from sim.updating.modal_identification import identify_modes
from sim.updating.modes import Modes, compare_modes, natural_modes

MODAL_SENSORS, TIME_SENSORS = (1, 4, 7), (1, 5, 6)
# of the paper's tables
N_MODES = 5
# of a local error: next to noise of a hundredth it is nothing
_TOLERANCE = 1e-6


class Case(StrEnum):
    """What acts in a test that the linear model does not have."""

    NEITHER = "neither"
    FRICTION = "friction"
    BOTH = "friction and impact"


@dataclass(frozen=True, slots=True, eq=False)
class VirtualTest:
    """One test.

    Parameters
    ----------
    bed : the chain.
    case : what acts in it.
    seed : of the force and of the noise.
    load : (n_times, 8) N.
    acceleration : (n_times, 8) m/s^2, with noise.
    noise : (8,), standard deviation of the noise of each sensor.
    """

    bed: EightMasses
    case: Case
    seed: int
    load: Samples
    acceleration: Samples
    noise: Samples

    def at(self, sensors: tuple[int, ...], n: int | None = None) -> tuple[Samples, Samples]:
        """Return the records of sensors, (n, s), and the deviations of their noise, (s,)."""
        columns = [sensor - 1 for sensor in sensors]
        return self.acceleration[:n, columns], self.noise[columns]


def virtual_test(case: Case, seed: int, *, damaged: bool = True, rms: float | None = None) -> VirtualTest:
    """Return a test of eight seconds.

    Parameters
    ----------
    damaged : spring 5 has lost 14 %.
    rms : of the force, N; by default the chain's.
    """
    bed = virtual_bed(case, seed, rms)
    force = bed.force()
    load = np.zeros((len(force), 8))
    load[:, bed.driven - 1] = force
    motion = bed.motion(bed.damaged if damaged else bed.chain, _TOLERANCE).acceleration
    noise = bed.noise * np.sqrt(np.mean(motion**2, axis=0))
    generator = np.random.default_rng((seed, 1))
    return VirtualTest(bed, case, seed, load, motion + noise * generator.standard_normal(motion.shape), noise)


def virtual_bed(case: Case, seed: int = 1, rms: float | None = None) -> EightMasses:
    """Return the chain of a case, whose springs do not vary from specimen to specimen."""
    nominal = EightMasses()
    impact = case is Case.BOTH
    return EightMasses(
        friction=0.0 if case is Case.NEITHER else nominal.friction,
        contact_stiffness=nominal.contact_stiffness if impact else 0.0,
        contact_damping=nominal.contact_damping if impact else 0.0,
        rms=nominal.rms if rms is None else rms,
        seed=seed,
        variation=0.0,
    )


def model_modes(springs: Samples | None = None, sensors: tuple[int, ...] | None = MODAL_SENSORS) -> Modes:
    """Return the lowest five elastic modes of the linear model, with its own or other springs, (7,) N/m."""
    chain = virtual_bed(Case.NEITHER).chain
    chain = chain if springs is None else replace(chain, springs=springs)
    return natural_modes(Structure(*chain.matrices), sensors).chosen(slice(0, N_MODES))


def identified_modes(test: VirtualTest) -> Modes:
    """Return the modes of a record at sensors 1, 4 and 7 that belong to the lowest five of the nominal model.

    Raises
    ------
    ValueError : fewer than five are seen.
    """
    record, _ = test.at(MODAL_SENSORS)
    found = identify_modes(record, 1.0 / test.bed.dt)
    pairs = compare_modes(found, model_modes()).pairs
    if len(pairs) < N_MODES:
        raise ValueError(f"{len(pairs)} of {N_MODES} modes are identified in the record")
    return found.chosen(pairs[np.argsort(pairs[:, 1]), 0])
