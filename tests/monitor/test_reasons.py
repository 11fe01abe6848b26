"""Why a measure has no value, for the motions and faults that take values away in laboratories."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from monitor import EmbeddedTracking, FixedInverse, IndicatorDriven, step_tracking
from monitor.config import IndicatorSettings
from monitor.engine.actuators import ActuatorMonitor
from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from monitor.messages.reasons import REASONS, Reason, reason_word

RATE, WINDOW, DELAY = 256.0, 2.0, 0.012
SECONDS = 16.0
TIMES = np.arange(round(SECONDS * RATE)) / RATE
TONES = ((0.7, 1.0, 0.0), (1.6, 0.6, 1.0), (2.9, 0.4, 2.0))
DELAYS = ("fdb", "paei", "paei_adaptive", "xcorr", "broadband")


def three_tones(times: np.ndarray) -> np.ndarray:
    return sum(0.01 * size * np.sin(2.0 * np.pi * hertz * times + start) for hertz, size, start in TONES)


def sine(times: np.ndarray, hertz: float = 2.0) -> np.ndarray:
    return 0.01 * np.sin(2.0 * np.pi * hertz * times)


def noise(seed: int) -> np.ndarray:
    """Return a motion between 0.5 and 4 Hz."""
    spectrum = np.fft.rfft(np.random.default_rng(seed).normal(size=len(TIMES)))
    hertz = np.fft.rfftfreq(len(TIMES), 1.0 / RATE)
    return np.fft.irfft(np.where((hertz > 0.5) & (hertz < 4.0), spectrum, 0.0))


@cache
def shares(case: str) -> dict[str, dict[Reason, float]]:
    """Return for each measure the share of rows by reason, once the first window is full."""
    command, measured = sine(TIMES), sine(TIMES - DELAY)
    units, force = ("mm", "mm"), True
    if case == "three tones":
        command, measured = three_tones(TIMES), three_tones(TIMES - DELAY)
    elif case == "gap":
        # one lost sample every second: no window is without
        measured[:: round(RATE)] = np.nan
    elif case == "quiet":
        loud = np.where(TIMES < 6.0, 1.0, 1e-3)
        command, measured = loud * command, loud * measured
    elif case == "dead":
        measured = np.full_like(measured, 0.3)
    elif case == "unrelated":
        command, measured = noise(1), noise(2)
    elif case == "late":
        # 0.1 s is searched
        command, measured = noise(1), np.roll(noise(1), round(0.13 * RATE))
    elif case == "half a cycle":
        command, measured = sine(TIMES, 0.25), sine(TIMES - DELAY, 0.25)
    elif case == "units and force":
        units, force = ("mm", "V"), False
    roles = (Role.COMMAND, Role.MEASURED) + (Role.FORCE,) * force
    given = zip(roles, (*units, "kN"), strict=False)
    other = (Channel("oc", Role.COMMAND, "mm", "o"), Channel("om", Role.MEASURED, "mm", "o"))
    other += (Channel("of", Role.FORCE, "kN", "o"),)
    stream = Stream("r", 0, RATE, (*(Channel(role.value, role, unit, "a") for role, unit in given), *other))
    own = (command, measured) + (2.0 * measured,) * force
    samples = np.stack([*own, sine(TIMES), sine(TIMES), sine(TIMES)], axis=1)
    monitor = ActuatorMonitor(IndicatorSettings(window=WINDOW), stream)
    rows = monitor.advance(SignalBlock(stream, 0, 0.0, samples), broken=False)
    rows = rows[round((WINDOW + 1.0) * RATE) :]
    if case == "quiet":
        rows = rows[TIMES[round((WINDOW + 1.0) * RATE) :] > 9.0]
    found = {}
    for i, column in enumerate(monitor.columns):
        if column.actuator == "a" and column.name.endswith("_reason"):
            codes, counts = np.unique(rows[:, i], return_counts=True)
            found[column.name.removesuffix("_reason")] = {
                REASONS[code]: count / len(rows) for code, count in zip(codes, counts, strict=True)
            }
    return found


@pytest.mark.parametrize(
    ("case", "measures", "reason"),
    [
        ("three tones", ("fdb", "paei", "broadband", "xcorr"), Reason.VALID),
        ("gap", (*DELAYS[:2], "ti", "nrmse", "hsem", "xcorr", "broadband", "fei"), Reason.BAD_SAMPLE),
        ("quiet", (*DELAYS, "ti", "hsem"), Reason.GATE),
        ("dead", (*DELAYS, "ti", "nrmse", "hsem", "fei"), Reason.CONSTANT),
        ("unrelated", ("fdb", "paei", "xcorr", "broadband", "fei"), Reason.UNRELATED),
        ("late", ("xcorr", "broadband"), Reason.LAG),
        ("half a cycle", ("fdb", "paei_adaptive", "ti", "hsem"), Reason.FEW_CYCLES),
        ("units and force", ("hsem",), Reason.NO_FORCE),
        ("units and force", ("nrmse", "peak_error"), Reason.UNITS),
        ("units and force", DELAYS, Reason.VALID),
    ],
)
def test_each_measure_tells_the_reason(case: str, measures: tuple[str, ...], reason: Reason) -> None:
    found = shares(case)
    # noise is not alike in all windows
    least = {"three tones": 0.95, "unrelated": 0.9, "late": 0.5}.get(case, 1.0)
    assert {measure: found[measure] for measure in measures if found[measure].get(reason, 0.0) < least} == {}


def test_a_code_of_a_later_version_is_told_as_a_number() -> None:
    assert reason_word(Reason.GATE) == "too little motion"
    assert reason_word(77.0) == "reason 77"


@pytest.mark.parametrize("indicator", ["fdb", "paei"])
def test_the_loop_of_the_documentation_learns_on_three_tones(indicator: str) -> None:
    settings = IndicatorSettings(measures=("fdb", "paei"), window=WINDOW)
    tracking = EmbeddedTracking(settings, RATE)
    delay, reason = (tracking.index(f"{indicator}_{name}") for name in ("delay", "reason"))
    row, no_force, actuator, lead, silent = tracking.new_row(), np.empty(0), np.zeros(3), 0.0, []
    for number in range(len(TIMES)):
        target = np.array([three_tones(TIMES[number : number + 1] - 0.0)[0]])
        velocity = (three_tones(TIMES[number] + 1e-5) - three_tones(TIMES[number] - 1e-5)) / 2e-5
        measured = actuator[number % 3 : number % 3 + 1].copy()
        actuator[number % 3] = target[0] + lead * velocity
        step_tracking(tracking.state, target, measured, no_force, number, row)
        assert np.isnan(row[delay]) == (row[reason] != Reason.VALID)
        if np.isfinite(row[delay]):
            lead += 0.5 / RATE * row[delay]
        elif number > WINDOW * RATE:
            silent.append(row[reason])
    assert lead == pytest.approx(3 / RATE, abs=3e-4)
    assert len(silent) < 0.1 * len(TIMES)


def test_a_compensator_that_does_not_adapt_tells_why() -> None:
    compensator = IndicatorDriven(nominal=FixedInverse.of_delay(0.0), lead="series", window=1.0).begin(1.0 / RATE)
    names = [column.name for column in compensator.columns]
    told = []
    for number, command in enumerate(np.concatenate([sine(TIMES[: round(4.0 * RATE)]), np.zeros(round(3.0 * RATE))])):
        sent = compensator.compensate(np.array([command]))
        compensator.observe(np.array([command]), 0.9 * sent if number < 3.0 * RATE else [np.nan])
        values = dict(zip(names, compensator.values[0], strict=True))
        assert bool(values["compensator_adapting"]) == (values["compensator_reason"] == Reason.VALID)
        told.append(values["compensator_reason"])
    assert list(dict.fromkeys(told)) == [Reason.FILLING, Reason.VALID, Reason.BAD_SAMPLE]
