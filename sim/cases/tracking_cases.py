"""The seven cases of Mirza Hessabi and Mercan's comparison of tracking indicators, with their truth.

Lengths are in m where the paper has mm. Phase > 0 and delay < 0 where the measured signal leads, ratio and
amplitude error are command over measured and command less measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import pi
from types import MappingProxyType
from typing import ClassVar, Literal, get_args

import numpy as np

from sim.arrays import Samples
from sim.cases import single_degree, virtual_frame
from sim.cases.hybrid import HybridRecord

Noise = Literal["gaussian", "uniform"]

SAMPLE_RATE = 1024.0
NOISE = 0.10e-3


@dataclass(frozen=True, eq=False)
class TrackingCase:
    """One case: its signals, the exact truth about them, and what the paper prints of it.

    Parameters
    ----------
    name, title : the paper's number, and a few words.
    time, command, measured : (n,); s, m, m.
    force : (n,) of the specimen where the measured signal puts it, N; None where there is no specimen.
    sample_rate : Hz.
    frequencies : Hz, of the motion; the truth is given at the first, the phase at another f is -2 pi f delay.
    true_ratio, true_phase, true_delay, true_amplitude_error : (n,); 1, rad, s, m. Where the motion has no amplitude
        of its own, that of the amplitude error is half the command's range over the cycle around each instant.
    printed : the paper's figures with the paper's signs, SI, angles in rad or, where the name says so, deg.
    virtual : simulated in place of a laboratory record that is not public.
    """

    name: str
    title: str
    time: Samples
    command: Samples
    measured: Samples
    force: Samples | None
    sample_rate: float
    frequencies: tuple[float, ...]
    true_ratio: Samples
    true_phase: Samples
    true_delay: Samples
    true_amplitude_error: Samples
    printed: Mapping[str, float]
    virtual: bool = False

    unit: ClassVar[str] = "m"

    @property
    def frequency(self) -> float:
        """The frequency at which the truth is given, Hz."""
        return self.frequencies[0]


def tracking_case(name: str, *, seed: int = 1, noise: Noise | None = None) -> TrackingCase:
    """Return one case; `seed` is its noise's.

    `noise` is for case (v) alone, whose sentence on it contradicts itself. It is multiplied by 0.1 mm:
    "gaussian", of mean zero and standard deviation one, the defaults of Simulink's random numbers, or
    "uniform" from zero to one, which moves the mean. Without it, gaussian, which is 3.5 times as rough.

    Raises ValueError for a name that is not in CASES, and for a noise that is unknown or has no place.
    """
    if name not in CASES:
        raise ValueError(f"tracking case {name!r}: must be one of {', '.join(CASES)}")
    if noise is None:
        return _BUILDERS[name](seed)
    if name != "v" or noise not in get_args(Noise):
        raise ValueError(f"noise {noise!r} of case {name}: only case v has a choice, of {', '.join(get_args(Noise))}")
    return _noisy(seed, noise)


def _lead() -> TrackingCase:
    turn, lead, time = 3.0 * pi, 15.0 / 1024.0, _times(6.0)
    command, measured = 1.5e-3 * np.cos(turn * time), 2.0e-3 * np.cos(turn * (time + lead))
    printed = {"phase": 0.1381, "amplitude_error": -0.5e-3, "time_steps": 15.0}
    error = np.full(len(time), 1.5e-3 - 2.0e-3)
    signals, truth = (time, command, measured), (0.75, turn * lead)
    return _given("i", "predefined, leading and too large", signals, turn, truth, error, printed)


def _noisy(seed: int, noise: Noise = "gaussian") -> TrackingCase:
    turn, lead, time = pi, 25.0 / 1024.0, _times(20.0)
    rng = np.random.default_rng(seed)
    draw = rng.standard_normal if noise == "gaussian" else rng.random
    command = 1e-3 * np.cos(turn * time) + NOISE * draw(len(time))
    measured = 2e-3 * np.cos(turn * (time + lead)) + NOISE * draw(len(time))
    printed = {"ratio": 0.5, "phase": -0.077}
    error = np.full(len(time), 1e-3 - 2e-3)
    signals, truth = (time, command, measured), (0.5, turn * lead)
    name, title = (
        ("v", "predefined, Gaussian noise") if noise == "gaussian" else ("v-uniform", "predefined, uniform noise")
    )
    return _given(name, title, signals, turn, truth, error, printed)


def _growing() -> TrackingCase:
    turn, time = 3.0 * pi, _times(10.0)
    command = 0.1 * time * 2.5e-3 * np.sin(turn * time + 0.092)
    measured = 0.1 * time * 2.0e-3 * np.sin(turn * time + 0.369)
    # 0.277 rad is 15.871 deg: the known value is misprinted
    printed = {
        "ratio": 1.25,
        "phase": -0.277,
        "phase_deg": -15.82,
        "fdb_ratio": 1.245,
        "fdb_phase_deg": -15.749,
        "fei_ratio": 1.250,
        "fei_phase_deg": -15.871,
    }
    error = 0.1 * time * (2.5e-3 - 2.0e-3)
    signals, truth = (time, command, measured), (1.25, 0.369 - 0.092)
    title = "predefined, growing amplitude"
    return _given("vi", title, signals, turn, truth, error, printed)


def _linear(name: str, force: float, largest: float) -> TrackingCase:
    record = single_degree.linear_record(force)
    error = (1.0 - single_degree.OVERSHOOT) * single_degree.linear_envelope(record.time, force)
    printed = {"delay": 0.005, "lag_driven": 0.03, "lag_natural": 0.02, "largest_overshoot": largest}
    frequencies = single_degree.DRIVEN_FREQUENCY, single_degree.NATURAL_FREQUENCY
    return _recorded(name, f"linear frame, {force / 1e3:.0f} kN", record, frequencies, printed, error)


def _yielding(seed: int) -> TrackingCase:
    record = single_degree.yielding_record(100e3, seed)
    printed = {"delay": 0.005, "overshoot": 0.10, "undershoot": 0.25, "switch_time": 5.0}
    # what it does at its own frequency is no tone: it yields
    return _recorded("iii", "yielding frame, sudden undershoot", record, (single_degree.DRIVEN_FREQUENCY,), printed)


def _two_samples_late(seed: int) -> TrackingCase:
    record = virtual_frame.virtual_record(virtual_frame.two_samples_late(), seed)
    printed = {"delay": 0.002, "overshoot": 0.07e-3, "overshoot_time": 14.35}
    frequencies = (virtual_frame.NATURAL_FREQUENCY,)
    return _recorded("iv", "virtual test, two samples late", record, frequencies, printed, virtual=True)


def _lead_lag_lead(seed: int) -> TrackingCase:
    record = virtual_frame.virtual_record(virtual_frame.lead_lag_lead(), seed)
    printed = {"lead_until": 16.5, "lag_until": 21.0, "delay": 0.002, "phase_deg": -0.65, "lag_time": 19.53}
    frequencies = (virtual_frame.NATURAL_FREQUENCY,)
    return _recorded("vii", "virtual test, lead, lag, lead", record, frequencies, printed, virtual=True)


def _given(
    name: str,
    title: str,
    signals: tuple[Samples, Samples, Samples],
    turn: float,
    truth: tuple[float, float],
    error: Samples,
    printed: dict[str, float],
) -> TrackingCase:
    """Return a case given by formulas: time, command, measured; rad/s; ratio and phase."""
    ratio, phase, delay = (np.full(len(error), value) for value in (*truth, -truth[1] / turn))
    frequencies = (turn / (2.0 * pi),)
    known = MappingProxyType(printed)
    truth_in_time = ratio, phase, delay, error
    return TrackingCase(
        name,
        title,
        *signals,
        None,
        SAMPLE_RATE,
        frequencies,
        *truth_in_time,
        known,
    )


def _recorded(
    name: str,
    title: str,
    record: HybridRecord,
    frequencies: tuple[float, ...],
    printed: dict[str, float],
    error: Samples | None = None,
    virtual: bool = False,
) -> TrackingCase:
    signals = record.time, record.command, record.measured, record.force
    truth = record.true_ratio, record.true_phase, record.true_delay
    rate = virtual_frame.SAMPLE_RATE if virtual else single_degree.SAMPLE_RATE
    if error is None:
        error = (1.0 - 1.0 / record.true_ratio) * amplitude_around(record.command, round(rate / frequencies[0]))
    known = MappingProxyType(printed)
    return TrackingCase(name, title, *signals, rate, frequencies, *truth, error, known, virtual)


def amplitude_around(signal: Samples, cycle: int) -> Samples:
    """Return (n,): half the range of a signal, (n,), over the `cycle` samples around each instant."""
    from scipy.ndimage import maximum_filter1d, minimum_filter1d  # not in the base installation

    high, low = maximum_filter1d(signal, cycle, mode="nearest"), minimum_filter1d(signal, cycle, mode="nearest")
    return np.asarray(0.5 * (high - low), dtype=np.float64)


def _times(duration: float) -> Samples:
    return np.arange(round(duration * SAMPLE_RATE), dtype=np.float64) / SAMPLE_RATE


_BUILDERS: dict[str, Callable[[int], TrackingCase]] = {
    "i": lambda _: _lead(),
    "ii-a": lambda _: _linear("ii-a", 50e3, 1e-3),
    "ii-b": lambda _: _linear("ii-b", 100e3, 2e-3),
    "iii": _yielding,
    "iv": _two_samples_late,
    "v": _noisy,
    "vi": lambda _: _growing(),
    "vii": _lead_lag_lead,
}
CASES = tuple(_BUILDERS)
