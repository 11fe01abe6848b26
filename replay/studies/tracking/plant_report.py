"""The benchmark plant of the tracking study as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console

from replay.studies.tracking.cells import criteria, number, table

if TYPE_CHECKING:
    from replay.studies.tracking.plant import PlantStudy


def print_plant(console: Console, study: PlantStudy) -> None:
    """Print the plant with and without a hold, what the indicators say of it under sines, and under noise."""
    from replay.studies.tracking.plant import PUBLISHED_RATE, RATE

    _print_responses(console, study)
    _print_sines(console, study)
    _print_transfer(console, study)
    console.print(criteria(study.criteria, RATE))
    console.print(f"at {PUBLISHED_RATE:g} Hz, of 30 s: {criteria(study.criteria_published, PUBLISHED_RATE)}")


def _print_responses(console: Console, study: PlantStudy) -> None:
    from replay.studies.tracking.plant import PUBLISHED_RATE, RATE

    found = table(
        "The benchmark plant, in continuous time and behind a zero-order hold",
        "Hz",
        "ratio",
        f"held {RATE:g} Hz",
        "delay ms",
        f"held {PUBLISHED_RATE:g} Hz",
        f"held {RATE:g} Hz",
        "hold adds ms",
    )
    for row in study.responses:
        continuous, published, held = (1e3 * delay for delay in row.delays())
        numbers = (1.0 / abs(row.continuous), 1.0 / abs(row.held), continuous, published, held, held - continuous)
        found.add_row(number(row.frequency), *map(number, numbers))
    console.print(found)
    console.print(
        f"The hold is half a sample: {500.0 / RATE:.3f} ms at {RATE:g} Hz, {500.0 / PUBLISHED_RATE:.3f} ms at the "
        f"benchmark's {PUBLISHED_RATE:g} Hz. What follows is held at {RATE:g} Hz."
    )


def _print_sines(console: Console, study: PlantStudy) -> None:
    title = "The held plant under sines"
    found = table(title, "indicator", "Hz", "ratio", "known", "error %", "phase rad", "known", "error rad")
    for row in study.sines:
        numbers = (
            row.frequency,
            row.ratio,
            row.known_ratio,
            100.0 * (row.ratio / row.known_ratio - 1.0),
            row.phase,
            row.known_phase,
            row.phase - row.known_phase,
        )
        found.add_row(row.indicator, *map(number, numbers))
    console.print(found)


def _print_transfer(console: Console, study: PlantStudy) -> None:
    title = "The same under noise from 0.3 to 8 Hz"
    found = table(title, "Hz", "coherence", "ratio", "held", "continuous", "phase rad", "held", "continuous")
    transfer, frequency = study.transfer, study.transfer.frequency
    columns = [
        transfer.of("plant", "coherence"),
        transfer.of("plant", "ratio"),
        1.0 / np.abs(study.known_transfer),
        1.0 / np.abs(study.continuous_transfer),
        transfer.of("plant", "phase"),
        np.angle(study.known_transfer),
        np.angle(study.continuous_transfer),
    ]
    driven = np.flatnonzero((frequency >= 0.3) & (frequency <= 8.0))
    for i in driven[:: max(1, len(driven) // 10)].tolist():
        found.add_row(number(frequency[i]), *(number(float(column[i])) for column in columns))
    console.print(found)
