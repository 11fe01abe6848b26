"""Excitations of a test: a force in N or a ground acceleration in m/s^2, as a function of time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite, pi

import numpy as np

from sim.arrays import Samples, check_not_negative, check_positive, require


class Loading(StrEnum):
    """Where an excitation acts."""

    GROUND = "ground acceleration"
    FORCE = "force"


@dataclass(frozen=True, kw_only=True)
class Excitation(ABC):
    """Something that drives the structure.

    Parameters
    ----------
    loading : ground acceleration (m/s^2) or force on the mass (N).
    ramp : s over which it grows from nothing to its full size, smoothly (half a cosine).

    Raises
    ------
    ValueError : a number is out of its range.
    """

    loading: Loading = Loading.GROUND
    ramp: float = 1.0

    def __post_init__(self) -> None:
        require(isfinite(self.ramp) and self.ramp >= 0.0, "excitation ramp", self.ramp, "a time, zero or more")

    def sample(self, time: Samples) -> Samples:
        """Return the (n,) excitation at the times, (n,) in s; nothing before 0 s."""
        grown = np.clip(time / self.ramp, 0.0, 1.0) if self.ramp else (time >= 0.0).astype(np.float64)
        return (0.5 - 0.5 * np.cos(pi * grown)) * self.steady(time)

    @abstractmethod
    def steady(self, time: Samples) -> Samples:
        """Return the (n,) excitation without its start ramp."""


@dataclass(frozen=True, kw_only=True)
class Harmonic(Excitation):
    """A sine of `amplitude` at `frequency` [Hz]."""

    amplitude: float
    frequency: float

    def __post_init__(self) -> None:
        super().__post_init__()
        require(isfinite(self.amplitude), "excitation amplitude", self.amplitude, "a finite number")
        check_positive("excitation", frequency=self.frequency)

    def steady(self, time: Samples) -> Samples:
        """Return the (n,) sine."""
        return self.amplitude * np.sin(2.0 * pi * self.frequency * time)


@dataclass(frozen=True, kw_only=True)
class Sweep(Excitation):
    """A sine whose frequency goes from `start` to `stop` [Hz] linearly in `duration` [s], and stays there."""

    amplitude: float
    start: float
    stop: float
    duration: float

    def __post_init__(self) -> None:
        super().__post_init__()
        require(isfinite(self.amplitude), "excitation amplitude", self.amplitude, "a finite number")
        check_positive("excitation", start=self.start, stop=self.stop, duration=self.duration)

    def steady(self, time: Samples) -> Samples:
        """Return the (n,) swept sine."""
        swept = np.clip(time, 0.0, self.duration)
        cycles = self.start * swept + 0.5 * (self.stop - self.start) / self.duration * swept**2
        cycles += self.stop * (time - swept)
        return self.amplitude * np.sin(2.0 * pi * cycles)


_COMPONENTS = 200


@dataclass(frozen=True, kw_only=True)
class BandNoise(Excitation):
    """Gaussian noise of constant density from `low` to `high` [Hz], with the given long-time `rms`."""

    rms: float
    low: float
    high: float
    seed: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check_not_negative("excitation", rms=self.rms)
        check_positive("excitation", high=self.high)
        require(0.0 <= self.low < self.high, "excitation low", self.low, f"from 0 Hz to under {self.high} Hz")

    def steady(self, time: Samples) -> Samples:
        """Return the (n,) noise."""
        frequencies, phases = _draw(self.low, self.high, self.seed)
        return self.rms * _superpose(time, frequencies, np.ones(_COMPONENTS), phases)


@dataclass(frozen=True, kw_only=True)
class Earthquake(Excitation):
    """A ground motion after Kanai and Tajimi, its drift taken out (Clough and Penzien), under an envelope.

    Parameters
    ----------
    rms : of the strong phase, m/s^2.
    ground_frequency, ground_damping : of the soil layer, Hz and ratio.
    rise, strong, decay : the envelope, s: grows as t^2, stays, then falls by e every `decay` seconds.
    seed : of the random phases.
    """

    rms: float
    ground_frequency: float = 2.5
    ground_damping: float = 0.6
    rise: float = 4.0
    strong: float = 10.0
    decay: float = 5.0
    seed: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check_not_negative("excitation", rms=self.rms)
        settings = "ground_frequency", "ground_damping", "rise", "strong", "decay"
        check_positive("excitation", **{name: getattr(self, name) for name in settings})

    def envelope(self, time: Samples) -> Samples:
        """Return the (n,) envelope, 1 in the strong phase."""
        grown = np.clip(time / self.rise, 0.0, 1.0) ** 2
        return grown * np.exp(-np.maximum(time - self.rise - self.strong, 0.0) / self.decay)

    def density(self, frequencies: Samples) -> Samples:
        """Return the power spectral density at the frequencies, not scaled."""
        squared = (frequencies / self.ground_frequency) ** 2
        damped = 4.0 * self.ground_damping**2 * squared
        slow = (frequencies / (0.1 * self.ground_frequency)) ** 2
        drift = slow**2 / ((1.0 - slow) ** 2 + 4.0 * self.ground_damping**2 * slow)
        return drift * (1.0 + damped) / ((1.0 - squared) ** 2 + damped)

    def steady(self, time: Samples) -> Samples:
        """Return the (n,) ground acceleration under its envelope."""
        frequencies, phases = _draw(0.02 * self.ground_frequency, 8.0 * self.ground_frequency, self.seed)
        sizes = np.sqrt(self.density(frequencies))
        return self.rms * self.envelope(time) * _superpose(time, frequencies, sizes, phases)


class Interpolation(StrEnum):
    """What a recorded motion is between its samples."""

    LINEAR = "linear"
    BAND_LIMITED = "band-limited"


# of the windowed sinc on each side, in samples: exact to 1e-5 of the motion's size up to 0.8 of the Nyquist frequency
_REACH = 24
# of cos and its powers, the four terms of Blackman and Harris
_WINDOW = np.polynomial.Chebyshev([0.35875, 0.48829, 0.14128, 0.01168]).convert(kind=np.polynomial.Polynomial)


@dataclass(frozen=True, kw_only=True, eq=False)
class Recorded(Excitation):
    """A recorded motion, resampled to the times of a test; nothing before its first and after its last sample.

    Parameters
    ----------
    acceleration : (n,) m/s^2, as long as the excitation is of the ground.
    sample_rate : Hz.
    interpolation : straight lines between the samples, as structural analysis takes them, or the band-limited motion
        through them, which has nothing over half the sample rate.
    scale : factor of all.
    """

    acceleration: Samples
    sample_rate: float
    interpolation: Interpolation = Interpolation.LINEAR
    scale: float = 1.0
    ramp: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("excitation", sample_rate=self.sample_rate)
        require(isfinite(self.scale), "excitation scale", self.scale, "a finite number")
        samples = np.asarray(self.acceleration, dtype=np.float64)
        if samples.ndim != 1 or samples.size < 2:
            raise ValueError(f"recorded motion of shape {samples.shape}: give (n,), two samples or more")
        wrong = np.flatnonzero(~np.isfinite(samples))
        if wrong.size:
            raise ValueError(f"recorded motion: sample {wrong[0]} is {samples[wrong[0]]}, give finite numbers")
        object.__setattr__(self, "acceleration", samples)
        if self.interpolation not in tuple(Interpolation):
            raise ValueError(f"interpolation {self.interpolation!r}: choose {' or '.join(Interpolation)}")

    @property
    def duration(self) -> float:
        """From the first to the last sample, s."""
        return (len(self.acceleration) - 1) / self.sample_rate

    def steady(self, time: Samples) -> Samples:
        """Return the (n,) motion."""
        position = np.asarray(time, dtype=np.float64) * self.sample_rate
        last = len(self.acceleration) - 1
        # the times of whole samples are rounded
        inside = (position >= -1e-9) & (position <= last + 1e-9)
        if self.interpolation == Interpolation.LINEAR:
            found = np.interp(position, np.arange(last + 1), self.acceleration)
        else:
            found = self._between(np.clip(position, 0.0, last))
        return np.asarray(self.scale * np.where(inside, found, 0.0))

    def _between(self, position: Samples) -> Samples:
        """Return (n,): the band-limited motion at positions in samples."""
        padded = np.pad(self.acceleration, _REACH)
        # on a sample itself it is that sample
        whole = np.minimum(np.floor(position).astype(np.int64), len(self.acceleration) - 1)
        part = np.clip(position - whole, 1e-12, 1.0 - 1e-12)
        sine = np.sin(pi * np.minimum(part, 1.0 - part)) / pi
        total = np.zeros(position.shape)
        for offset in range(1 - _REACH, _REACH + 1):
            distance = part - offset
            weight = _WINDOW(np.cos(pi / _REACH * distance)) / distance
            total += (-1.0) ** offset * sine * weight * padded[whole + offset + _REACH]
        return total


@dataclass(frozen=True)
class SeparateExcitations:
    """One excitation for each degree of freedom: all ground accelerations, or all forces.

    Raises
    ------
    ValueError : there is none, one is not an excitation, or they act in different ways.
    """

    excitations: tuple[Excitation, ...]

    def __post_init__(self) -> None:
        if not self.excitations or not all(isinstance(each, Excitation) for each in self.excitations):
            raise ValueError(
                "separate excitations: give an excitation such as Harmonic(...) for each degree of freedom"
            )
        if len({each.loading for each in self.excitations}) > 1:
            raise ValueError("separate excitations of ground and force: give an array of forces")

    @property
    def loading(self) -> Loading:
        """Where they act."""
        return self.excitations[0].loading

    def sample(self, time: Samples) -> Samples:
        """Return (n, dofs) at the times, (n,) in s."""
        return np.stack([each.sample(time) for each in self.excitations], axis=-1)


def _draw(low: float, high: float, seed: int) -> tuple[Samples, Samples]:
    """Return one frequency in each of equal slices of the band, and its phase."""
    rng = np.random.default_rng(seed)
    slices = np.arange(_COMPONENTS) + rng.uniform(size=_COMPONENTS)
    return low + (high - low) / _COMPONENTS * slices, rng.uniform(0.0, 2.0 * pi, _COMPONENTS)


def _superpose(time: Samples, frequencies: Samples, sizes: Samples, phases: Samples) -> Samples:
    total = np.zeros(len(time))
    # one component at a time: the whole table would be gigabytes for a long run
    for frequency, size, phase in zip(frequencies, sizes, phases, strict=True):
        total += size * np.cos(2.0 * pi * frequency * time + phase)
    total *= np.sqrt(2.0 / np.sum(sizes**2))
    return total
