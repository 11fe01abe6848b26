"""The benchmark plant of the community: what every indicator says of it, beside its transfer function."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitor.blocks import Channel, Role, Samples, Stream
from monitor.config import IndicatorSettings
from monitor.indicators.benchmark_criteria import BenchmarkCriteria
from monitor.transfer import TransferBlock
from replay.assessment import assess
from replay.formats.base import ArrayRecording
from sim.benchmark_plant import BenchmarkPlant
from sim.excitation import BandNoise

RATE = 1024.0
FREQUENCIES = (0.5, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0)
BAND = (0.3, 8.0)
_STROKE = 0.002  # m
_CYCLES = 4.5
_SETTLED = 1.0  # s, the plant's transient
_BROADBAND = 120.0  # s


@dataclass(frozen=True)
class PlantReading:
    """Ratio and phase [rad] that one indicator gives under a sine of `frequency` [Hz], and those of the plant."""

    frequency: float
    indicator: str
    ratio: float
    phase: float
    known_ratio: float
    known_phase: float


@dataclass(frozen=True)
class PlantStudy:
    """Sines, and a broadband command: the transfer function found, the true one at its frequencies, J1 to J3."""

    sines: tuple[PlantReading, ...]
    transfer: TransferBlock
    known_transfer: np.ndarray[tuple[int], np.dtype[np.complex128]]
    criteria: BenchmarkCriteria


def study_plant(seed: int = 1) -> PlantStudy:
    """Drive the plant with sines, and with noise from 0.3 to 8 Hz."""
    plant = BenchmarkPlant()
    sines = tuple(reading for frequency in FREQUENCIES for reading in _under_a_sine(plant, frequency))
    time: Samples = np.arange(round(_BROADBAND * RATE)) / RATE
    command = BandNoise(rms=_STROKE, low=BAND[0], high=BAND[1], seed=seed).sample(time)
    found = assess(_recording(plant, command), IndicatorSettings(measures=("ti", "transfer")))
    if found.transfer is None:
        raise ValueError("the record is too short for a transfer function")
    frequencies = found.transfer.frequency.tolist()
    known = np.array([_response(plant, f) if f > 0.0 else 1.0 for f in frequencies], dtype=np.complex128)
    return PlantStudy(sines, found.transfer, known, found.pairs[0].whole.criteria)


def _under_a_sine(plant: BenchmarkPlant, frequency: float) -> tuple[PlantReading, ...]:
    window = _CYCLES / frequency
    time: Samples = np.arange(round((_SETTLED + 2.0 * window) * RATE)) / RATE
    command = _STROKE * np.sin(2.0 * np.pi * frequency * time)
    settings = IndicatorSettings(window=window, measures=("fdb", "paei", "paei_adaptive", "broadband"))
    spreads = assess(_recording(plant, command, round(_SETTLED * RATE)), settings).pairs[0].spreads
    known = _response(plant, frequency)
    readings = [
        (indicator, spreads[f"{indicator}_ratio"].median, spreads[f"{indicator}_phase"].median)
        for indicator in ("fdb", "paei", "paei_adaptive")
    ]
    delay = spreads["broadband_delay"].median
    readings.append(("broadband", spreads["broadband_ratio"].median, -2.0 * np.pi * frequency * delay))
    return tuple(
        PlantReading(frequency, name, ratio, float(phase), 1.0 / abs(known), float(np.angle(known)))
        for name, ratio, phase in readings
    )


def _response(plant: BenchmarkPlant, frequency: float) -> complex:
    return complex(plant.response(0.0, frequency, 1.0 / RATE))


def _recording(plant: BenchmarkPlant, command: Samples, skipped: int = 0) -> ArrayRecording:
    channels = (Channel("command", Role.COMMAND, "m", "plant"), Channel("measured", Role.MEASURED, "m", "plant"))
    samples = np.column_stack([command, plant.respond(command, 1.0 / RATE)])
    return ArrayRecording(Stream("plant", 0, RATE, channels), samples[skipped:])
