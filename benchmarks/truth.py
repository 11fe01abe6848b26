"""How far every indicator is from the truth, and whether its standard deviation says so: in every class of motion."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich import box
from rich.table import Table

from benchmarks.known_pairs import CLASSES, UNRELATED, known_pairs
from monitor.indicators.adaptive_phase_amplitude import AdaptivePhaseAmplitudeIndices
from monitor.indicators.base import WindowedIndicator
from monitor.indicators.broadband_delay import BroadbandDelayIndicator
from monitor.indicators.frequency_domain import FrequencyDomainIndicator
from monitor.indicators.frequency_evaluation import FrequencyEvaluationIndex
from monitor.indicators.phase_amplitude import PhaseAmplitudeIndices
from monitor.indicators.tracking_indicator import TrackingIndicator
from monitor.messages.blocks import Samples

SUMMARY = "error and coverage of every indicator in every class of motion"
RATE, WINDOW = 1024.0, 2.0
# s: when the values are read, of pairs of 6 s
INSTANTS = (3.1, 4.4, 5.95)
PAIRS = 80

Make = Callable[..., WindowedIndicator[Any]]


@dataclass(frozen=True)
class Reading:
    """One number of an indicator: where it comes from, and where its truth does.

    Parameters
    ----------
    label : what it is called in the table.
    make : the indicator.
    column : its result; the standard deviation is that with ``_sd``.
    truth : ``delay`` or ``ratio`` of the pair; ``definition`` is what the measure is of the signals without what
        disturbs them: FEI and TI mix the phases of several frequencies by their definition, FDB's ratio is that at
        one instant. So is every truth where each frequency has a delay of its own.
    factor, unit : of the errors shown; an error of a ratio is over the ratio.
    """

    label: str
    make: Make
    column: str
    truth: str = "delay"
    factor: float = 1e3
    unit: str = "ms"


DELAYS = (
    Reading("broadband", BroadbandDelayIndicator, "broadband_delay"),
    Reading("FDB", FrequencyDomainIndicator, "fdb_delay"),
    Reading("PAEI", PhaseAmplitudeIndices, "paei_delay"),
    Reading("adaptive PAEI", AdaptivePhaseAmplitudeIndices, "paei_adaptive_delay"),
    Reading("correlation", BroadbandDelayIndicator, "xcorr_delay"),
    Reading("FEI", FrequencyEvaluationIndex, "fei_delay", "definition"),
    Reading("TI", TrackingIndicator, "ti_angle", "definition", 1e3, "mrad"),
)
RATIOS = (
    Reading("broadband", BroadbandDelayIndicator, "broadband_ratio", "ratio", 1e2, "%"),
    Reading("FDB", FrequencyDomainIndicator, "fdb_ratio", "definition", 1e2, "%"),
    Reading("PAEI", PhaseAmplitudeIndices, "paei_ratio", "ratio", 1e2, "%"),
    Reading("adaptive PAEI", AdaptivePhaseAmplitudeIndices, "paei_adaptive_ratio", "ratio", 1e2, "%"),
)
READINGS = (*DELAYS, *RATIOS)


@dataclass(frozen=True)
class Truth:
    """What became of one reading in one class; errors in the reading's unit, NaN where nothing is valid or known.

    ``valid`` is the share of windows with a value; ``sharp`` the share of windows that are valid with a standard
    deviation under a tenth of the value; ``one`` and ``two`` are the shares of errors within one and two of them.
    """

    motion: str
    label: str
    quantity: str
    unit: str
    valid: float
    sharp: float
    bias: float
    median: float
    most: float
    one: float
    two: float


def run(quick: bool) -> list[Truth]:
    """Return every reading in every class."""
    names = ("tone", "earthquake, two modes", "unrelated noise") if quick else (*CLASSES, *UNRELATED)
    return [row for name in names for row in judge(name, 6 if quick else PAIRS)]


def judge(name: str, number: int, seed: int = 0, readings: tuple[Reading, ...] = READINGS) -> Iterator[Truth]:
    """Yield how far the readings are from the truth for pairs of one class."""
    pairs = known_pairs(name, number, seed, RATE)
    command, measured = (
        np.stack([getattr(pair, signal) for pair in pairs], axis=1) for signal in ("command", "measured")
    )
    found: dict[Make, tuple[list[str], Samples]] = {}
    for reading in readings:
        if reading.make not in found:
            found[reading.make] = _follow(reading.make, command, measured)
        columns, rows = found[reading.make]
        value, sd = (rows[:, :, columns.index(reading.column + end)] for end in ("", "_sd"))
        if reading.truth == "definition" or is_mixed(name):
            clean = (
                np.stack([getattr(pair, signal) for pair in pairs], axis=1) for signal in ("clean_command", "clean")
            )
            known = _follow(reading.make, *clean)[1][:, :, columns.index(reading.column)]
        else:
            known = np.array([getattr(pair, reading.truth) for pair in pairs])
        yield _compare(name, reading, known, value, sd)


def _follow(make: Make, command: Samples, measured: Samples) -> tuple[list[str], Samples]:
    """Return the names of the results, and what they are at the instants, (n_instants, n_pairs, n_results)."""
    indicator = make(RATE, WINDOW, n_pairs=command.shape[1])
    rows = indicator.update_block(command, measured).reshape(len(command), command.shape[1], -1)
    return [output.name for output in indicator.outputs], rows[[round(instant * RATE) for instant in INSTANTS]]


def _compare(name: str, reading: Reading, known: Samples, value: Samples, sd: Samples) -> Truth:
    valid = np.isfinite(value) & np.isfinite(sd) & (np.isfinite(known) | (name in UNRELATED))
    sharp = valid & (sd < 0.1 * np.abs(value))
    scale = known if reading.unit == "%" else np.ones_like(known)
    error, doubt = ((value - known) / scale)[valid], (sd / scale)[valid]
    quantity = reading.column.removesuffix("_sd").rpartition("_")[2]
    head = (name, reading.label, quantity, reading.unit, float(valid.mean()), float(sharp.mean()))
    if not valid.any() or name in UNRELATED:
        return Truth(*head, *[float("nan")] * 5)
    sizes = reading.factor * np.abs(error)
    return Truth(
        *head,
        reading.factor * float(np.median(error)),
        float(np.median(sizes)),
        float(np.percentile(sizes, 95.0)),
        float(np.mean(np.abs(error) <= doubt)),
        float(np.mean(np.abs(error) <= 2.0 * doubt)),
    )


def is_mixed(name: str) -> bool:
    """Whether each frequency of a class has a delay of its own, so that a delay of all is a matter of definition."""
    return name in CLASSES and CLASSES[name].several_delays


def is_honest(row: Truth) -> bool:
    """Whether the standard deviations hold; nothing is asked where half of the windows have no value."""
    if row.motion in UNRELATED:
        return row.valid <= 0.05
    return row.valid < 0.5 or (0.6 <= row.one <= 0.8 and row.two >= 0.9)


def table(rows: list[Truth]) -> Table:
    """Return them as one table for a terminal."""
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in (
        "motion",
        "indicator",
        "",
        "valid",
        "bias",
        "median error",
        "95 %",
        "",
        "within 1, 2 sd",
        "honest",
    ):
        grid.add_column(heading, justify="left" if heading in ("motion", "indicator", "") else "right")
    before = ""
    for row in rows:
        if before and row.motion != before:
            grid.add_section()
        numbers = [f"{x:.3f}" if np.isfinite(x) else "—" for x in (row.bias, row.median, row.most)]
        within = f"{row.one:.2f} / {row.two:.2f}" if np.isfinite(row.one) else f"sharp {row.sharp:.3f}"
        word = "yes" if is_honest(row) else "[bold red]NO[/]"
        first = "" if row.motion == before else row.motion
        grid.add_row(first, row.label, row.quantity, f"{row.valid:.2f}", *numbers, row.unit, within, word)
        before = row.motion
    return grid
