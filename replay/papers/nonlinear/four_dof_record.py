"""Virtual records of the chain of four masses whose third spring is damaged."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from monitor.messages.blocks import Samples
from sim.laboratory.structure import sensor_indices
from sim.models.chain import Chain, ChainMotion, chain_response
from sim.models.nonlinear_chains import FourMasses

SENSORS = (1, 3, 4)
SPRINGS = ("k1", "k2", "k3", "k4")


@dataclass(frozen=True, slots=True, eq=False)
class FourMassRecord:
    """Accelerations of the damaged chain under its random force, with noise.

    Parameters
    ----------
    nominal : the chain before the damage: what the analyst knows, with its cubic spring.
    actual : the damaged one.
    dt : s.
    load : (n, 4) N, known.
    sensors : numbers of the masses, from 1.
    observed : (n, sensors) m/s^2.
    noise : (sensors,), standard deviations of the noise in it, m/s^2: what the analyst does not know.
    motion : of all masses, without noise.
    """

    nominal: Chain
    actual: Chain
    dt: float
    load: Samples
    sensors: tuple[int, ...]
    observed: Samples
    noise: Samples
    motion: ChainMotion = field(repr=False)

    @property
    def time(self) -> Samples:
        """(n,) s."""
        return np.asarray(self.dt * np.arange(len(self.load)))

    @property
    def rms(self) -> Samples:
        """(sensors,), of what was observed, m/s^2."""
        return np.asarray(np.sqrt(np.mean(self.observed**2, axis=0)))

    @property
    def actual_percent(self) -> Samples:
        """(4,): the stiffnesses of the damaged chain in percent of the nominal ones."""
        return np.asarray(100.0 * np.asarray(self.actual.springs) / np.asarray(self.nominal.springs))


def simulate_record(
    seed: int,
    run: int = 0,
    *,
    noise: float | None = None,
    sensors: tuple[int, ...] = SENSORS,
    band: float | None = None,
) -> FourMassRecord:
    """Return a record with a force and noise of its own.

    Parameters
    ----------
    seed, run : each pair has its own random numbers.
    noise : standard deviation over the rms of each sensor; None: that of the test bed.
    sensors : numbers of masses.
    band : Hz, above which the force has nothing, and as much less rms; None: up to half the rate of samples.

    Raises
    ------
    ValueError : a sensor is no mass of the chain, or none is given.
    """
    force_seed, noise_seed = np.random.SeedSequence([seed, run]).spawn(2)
    bed = FourMasses(seed=int(force_seed.generate_state(1)[0]))
    actual = bed.damaged
    columns = sensor_indices(sensors, actual.dofs, "masses")
    load = np.zeros((len(bed.time), 4))
    load[:, bed.driven - 1] = bed.force() if band is None else _below(band, bed.force(), bed.dt)
    motion = chain_response(actual, load, bed.dt)
    # all four have noise, so that that of a sensor does not depend on which others there are
    drawn = np.random.default_rng(noise_seed).standard_normal(motion.acceleration.shape)[:, columns]
    exact = motion.acceleration[:, columns]
    level = (bed.noise if noise is None else noise) * np.sqrt(np.mean(exact**2, axis=0))
    return FourMassRecord(bed.chain, actual, bed.dt, load, sensors, exact + level * drawn, level, motion)


def _below(band: float, force: Samples, dt: float) -> Samples:
    """Return a force, (n,), without its frequencies above a band, Hz."""
    spectrum = np.fft.rfft(force)
    spectrum[np.fft.rfftfreq(len(force), dt) > band] = 0.0
    return np.asarray(np.fft.irfft(spectrum, len(force)))


def without_cubic(chain: Chain) -> Chain:
    """Return the chain as an analyst has it who does not know of the cubic spring."""
    return replace(chain, cubic=0.0)
