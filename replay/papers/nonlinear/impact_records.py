"""Virtual impact tests: the data sets of Table 2, of a specimen that the updating does not know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from monitor.messages.blocks import Samples
from sim.ensembles import Lognormal
from sim.models.impact_test import GRAVITY, PRELOAD, SENSORS, TABLE_2, FoamPad, ImpactTest
from sim.updating.shock_spectrum import octave_frequencies, shock_spectrum

SAMPLE_RATE = 125e3  # Hz, of the test, not of a stream
DURATION = 2.5e-3  # s
# shock spectra, which are also the features that are fitted: octaves
FREQUENCIES = octave_frequencies(250.0, 8e3, 1)
DAMPING = 0.05


class Configuration(NamedTuple):
    """A column of Table 2: pad, speed, their numbers in m and m/s, and how many data sets there are."""

    pad: str
    drop: str
    thickness: float
    speed: float
    repeats: int

    @property
    def label(self) -> str:
        """Such as "thin pad, low"."""
        return f"{self.pad} pad, {self.drop}"


CONFIGURATIONS = tuple(Configuration(*row) for row in TABLE_2)


@dataclass(frozen=True, slots=True)
class PadParameters:
    """What is fitted, of the pad and of the tests' scatter.

    Parameters
    ----------
    modulus : Pa.
    exponent, viscous_ratio : see `FoamPad`.
    relaxation_time : s.
    preload : N, its mean; its coefficient of variation is assumed to be known.
    tilt_deviation : rad.
    """

    modulus: float
    exponent: float
    viscous_ratio: float
    relaxation_time: float
    preload: float
    tilt_deviation: float

    def test(self, configuration: Configuration) -> ImpactTest:
        """Return the model of one configuration."""
        pad = FoamPad(configuration.thickness, self.modulus, self.exponent, self.viscous_ratio, self.relaxation_time)
        scatter = PRELOAD.standard_deviation / PRELOAD.mean
        return ImpactTest(
            pad,
            configuration.speed,
            Lognormal(self.preload, scatter * self.preload),
            self.tilt_deviation,
            time_scale=1.0,
            horizon=DURATION,
            dt=1.0 / SAMPLE_RATE,
        )


_PAD, _TEST = FoamPad(), ImpactTest()
NOMINAL = PadParameters(
    _PAD.modulus, _PAD.exponent, _PAD.viscous_ratio, _PAD.relaxation_time, PRELOAD.mean, _TEST.tilt_deviation
)
# known to the tests, and to nothing else
SPECIMEN = PadParameters(95e6, -5.0, 0.6, 2.5e-4, 9500.0, 2.5e-4)
UNITS = {
    "modulus": ("MPa", 1e-6),
    "exponent": ("", 1.0),
    "viscous_ratio": ("", 1.0),
    "relaxation_time": ("ms", 1e3),
    "preload": ("kN", 1e-3),
    "tilt_deviation": ("mrad", 1e3),
}


@dataclass(frozen=True, slots=True, eq=False)
class ImpactRecords:
    """Data sets of one configuration.

    Parameters
    ----------
    impactor, carriage : (n_times, repeats), g, on their axis.
    sensors : (3, n_times, repeats), g, on the impactor.
    tilt : (repeats,), rad, the angles of impact, which an analyst does not know.
    """

    configuration: Configuration
    impactor: Samples
    carriage: Samples
    sensors: Samples
    tilt: Samples

    @property
    def peaks(self) -> Samples:
        """(repeats,), g."""
        return np.asarray(self.impactor.max(axis=0))

    @property
    def spectra(self) -> Samples:
        """(repeats, k), g, maximax shock spectra of the impactor."""
        return spectra(self.impactor)


def spectra(acceleration: Samples) -> Samples:
    """Return (m, k) shock spectra of records (n_times, m), at `FREQUENCIES`."""
    return shock_spectrum(acceleration.T, SAMPLE_RATE, FREQUENCIES, DAMPING).maximax()


def largest_turning(sensors: Samples) -> Samples:
    """Return (m,), rad/s, signed: the impactor's by what its sensors, (3, n_times, m) in g, differ in."""
    turning = np.einsum("i,inm->nm", SENSORS, sensors) * GRAVITY / float(SENSORS @ SENSORS)
    turned = np.cumsum(turning, axis=0) / SAMPLE_RATE
    return np.asarray(np.take_along_axis(turned, np.abs(turned).argmax(axis=0)[None], axis=0)[0])


def draw_records(specimen: PadParameters, seed: int, *, torn: float = 0.0) -> Mapping[Configuration, ImpactRecords]:
    """Return the data sets of Table 2, with noise; `torn` is the share of the pad's area that is lost."""
    found = {}
    for number, configuration in enumerate(CONFIGURATIONS):
        generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
        test = specimen.test(configuration)
        preload, tilt = test.draw(generator, configuration.repeats)
        if torn:
            test = replace(test, pad=replace(test.pad, area=(1.0 - torn) * test.pad.area))
        motion = test.simulate(preload, tilt)
        noise = test.noise * generator.standard_normal((2, *motion.impactor.shape))
        sensors = motion.sensors + test.noise * generator.standard_normal(motion.sensors.shape)
        both = motion.impactor + noise[0], motion.carriage + noise[1]
        found[configuration] = ImpactRecords(configuration, *both, sensors, tilt)
    return found
