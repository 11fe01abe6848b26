"""The benchmark plant of the community: every indicator compared with its transfer function."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitor.config import IndicatorSettings
from monitor.indicators.benchmark_criteria import BenchmarkCriteria, benchmark_criteria
from monitor.messages.blocks import Channel, Role, Samples, Stream, TransferBlock
from replay.assessment import assess
from replay.formats.recordings import ArrayRecording
from sim.excitation import BandNoise
from sim.laboratory.plants import BenchmarkPlant

RATE = 1024.0
# at which the benchmark problem runs
PUBLISHED_RATE = 4096.0
FREQUENCIES = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0)
BAND = (0.3, 8.0)
_STROKE = 0.002  # m
_CYCLES = 4.5
_SETTLED = 1.0  # s, the plant's transient
_BROADBAND = 120.0  # s
_AT_PUBLISHED_RATE = 30.0  # s


@dataclass(frozen=True)
class PlantResponse:
    """Measured/command of the plant at `frequency` [Hz]: in continuous time, and behind a hold at either rate.

    The hold keeps a command until the next one, which makes the plant half a sample later and otherwise changes next
    to nothing.
    """

    frequency: float
    continuous: complex
    held: complex
    held_published: complex

    def delays(self) -> tuple[float, float, float]:
        """Return s: of the continuous plant, and behind the hold at 4096 and at 1024 Hz."""
        turn = -2.0 * np.pi * self.frequency
        continuous, published, held = (
            float(np.angle(response) / turn) for response in (self.continuous, self.held_published, self.held)
        )
        return continuous, published, held


@dataclass(frozen=True)
class PlantResult:
    """Ratio and phase [rad] that one indicator gives under a sine of `frequency` [Hz], and the held plant's."""

    frequency: float
    indicator: str
    ratio: float
    phase: float
    known_ratio: float
    known_phase: float


@dataclass(frozen=True)
class PlantStudy:
    """Sines, and a broadband command: the transfer function found, the true one at its frequencies, J1 to J3.

    ``criteria_published`` are those of a shorter record at the rate of the benchmark problem; ``continuous_transfer``
    is that of the plant without a hold.
    """

    responses: tuple[PlantResponse, ...]
    sines: tuple[PlantResult, ...]
    transfer: TransferBlock
    known_transfer: np.ndarray[tuple[int], np.dtype[np.complex128]]
    continuous_transfer: np.ndarray[tuple[int], np.dtype[np.complex128]]
    criteria: BenchmarkCriteria
    criteria_published: BenchmarkCriteria


def study_plant(seed: int = 1) -> PlantStudy:
    """Drive the plant with sines, and with noise from 0.3 to 8 Hz."""
    plant = BenchmarkPlant()
    sines = tuple(result for frequency in FREQUENCIES for result in _under_a_sine(plant, frequency))
    noise = BandNoise(rms=_STROKE, low=BAND[0], high=BAND[1], seed=seed)
    command = noise.sample(np.arange(round(_BROADBAND * RATE)) / RATE)
    finely = noise.sample(np.arange(round(_AT_PUBLISHED_RATE * PUBLISHED_RATE)) / PUBLISHED_RATE)
    found = assess(_recording(plant, command), IndicatorSettings(measures=("ti", "transfer")))
    if found.transfer is None:
        raise ValueError("the record is too short for a transfer function")
    frequencies = found.transfer.frequency.tolist()
    known = np.array([_response(plant, f) if f > 0.0 else 1.0 for f in frequencies], dtype=np.complex128)
    continuous = [plant.frequency_response(f) if f > 0.0 else 1.0 for f in frequencies]
    return PlantStudy(
        tuple(
            PlantResponse(
                f, complex(plant.frequency_response(f)), _response(plant, f), _response(plant, f, PUBLISHED_RATE)
            )
            for f in FREQUENCIES
        ),
        sines,
        found.transfer,
        known,
        np.array(continuous, dtype=np.complex128),
        found.pairs[0].whole.criteria,
        benchmark_criteria(finely, plant.respond(finely, 1.0 / PUBLISHED_RATE), PUBLISHED_RATE),
    )


def _under_a_sine(plant: BenchmarkPlant, frequency: float) -> tuple[PlantResult, ...]:
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
        PlantResult(frequency, name, ratio, float(phase), 1.0 / abs(known), float(np.angle(known)))
        for name, ratio, phase in readings
    )


def _response(plant: BenchmarkPlant, frequency: float, rate: float = RATE) -> complex:
    return complex(plant.response(frequency, 1.0 / rate))


def _recording(plant: BenchmarkPlant, command: Samples, skipped: int = 0) -> ArrayRecording:
    channels = (Channel("command", Role.COMMAND, "m", "plant"), Channel("measured", Role.MEASURED, "m", "plant"))
    samples = np.column_stack([command, plant.respond(command, 1.0 / RATE)])
    return ArrayRecording(Stream("plant", 0, RATE, channels), samples[skipped:])
