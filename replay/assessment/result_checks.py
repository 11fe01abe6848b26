"""Warnings that the results of one actuator give: no value, no pair, other units, a lead, energy fed in."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from monitor.config import IndicatorSettings
from monitor.messages.blocks import Channel, ratio_unit, units_differ
from replay.assessment.results import PairAssessment, RecordWarning, delay_changes, phase_at_dominant

# an amplitude that is so many times the other one: nothing that tracks
_UNLIKE = 10.0
# added damping below this is worth a warning
_NEGATIVE = -0.002
# standard deviations, and samples, by which measured must lead
_LEAD_SDS, _LEAD_SAMPLES = 2.0, 1.0
# rad, from which lag and lead, or sign and delay, are easily taken for each other
_LARGE_PHASE = 0.5 * math.pi


def result_warnings(
    found: PairAssessment, channels: Sequence[Channel], settings: IndicatorSettings, dt: float, *, shorter: bool
) -> Iterator[RecordWarning]:
    """Check what the indicators say of one actuator.

    Parameters
    ----------
    dt : s between two samples.
    shorter : the record is shorter than the window.
    """
    command, measured = channels[found.pair.command], channels[found.pair.measured]
    for code, text in _checks(found, command, measured, settings, dt, shorter=shorter):
        yield RecordWarning(code, text, found.pair.actuator)


def _checks(
    found: PairAssessment,
    command: Channel,
    measured: Channel,
    settings: IndicatorSettings,
    dt: float,
    *,
    shorter: bool,
) -> Iterator[tuple[str, str]]:
    missing = _no_value(found, settings, shorter=shorter)
    if missing:
        yield "no_value", missing
    ratio = _median(found, "broadband_ratio", "fdb_ratio", "paei_ratio")
    if units_differ(command, measured):
        yield (
            "units_differ",
            f"{command.name} is in {command.unit}, {measured.name} in {measured.unit}: the ratio is in "
            f"{ratio_unit(command, measured)} and says nothing of under- or overshoot, and errors have no meaning; "
            "name the displacement command if the file has one, or read the delay and the phase only",
        )
    elif math.isfinite(ratio) and not 1.0 / _UNLIKE < ratio < _UNLIKE:
        which, times = ("smaller", ratio) if ratio > 1.0 else ("larger", 1.0 / ratio)
        yield (
            "not_a_pair",
            f"the measured signal is {times:.3g} times {which} than the command: other units, a dead channel or a "
            "wrong column; the rest means little until --command and --measured name a pair in one unit",
        )
        return
    yield from _large_phase(found)
    yield from _lead(found, dt)
    yield from _energy(found)


def _no_value(found: PairAssessment, settings: IndicatorSettings, *, shorter: bool) -> str:
    if shorter:
        return f"the record is shorter than the window of {settings.window:g} s: give a shorter --window"
    delay = _median(found, "fdb_delay", "paei_delay")
    if found.headline is not None and found.headline.valid_fraction == 0.0 and math.isfinite(delay):
        reach = min(settings.max_delay, 0.25 * settings.window)
        beyond = (
            f"the delay of {1e3 * delay:.4g} ms that FDB or PAEI reads is beyond the {1e3 * reach:.3g} ms that it "
            f"looks through in a window of {settings.window:.3g} s"
        )
        little = "the two signals are too little alike"
        return (
            f"the broadband delay has no value: {beyond if abs(delay) > 0.95 * reach else little}; take a longer "
            "--window and --max-delay, from a longer record if need be, or read FDB, which knows half a period"
        )
    if found.valid_fraction or (found.headline is not None and found.headline.valid_fraction):
        return ""
    if not any(name.startswith(("broadband", "fdb", "paei")) for name in found.spreads):
        return ""
    return (
        "no delay has a value: the window holds less than one cycle of the motion, the command stands still or is "
        "under the gate, or the measured signal does not follow it; check the columns, then try a longer --window"
    )


def _lead(found: PairAssessment, dt: float) -> Iterator[tuple[str, str]]:
    headline = found.headline
    if headline is None or not headline.delay < -_LEAD_SDS * headline.delay_sd:
        return
    if not headline.delay < -_LEAD_SAMPLES * dt:
        return
    yield (
        "leads",
        f"measured leads the command by {-1e3 * headline.delay:.3g} ms: are the columns swapped? If not, the "
        "compensation asks for too much, or a lag of more than half a period is read as a lead: look at the phase",
    )


def _large_phase(found: PairAssessment) -> Iterator[tuple[str, str]]:
    phase, frequency = phase_at_dominant(found)
    if not math.isfinite(phase):
        phase, frequency = _median(found, "fdb_phase"), _median(found, "fdb_frequency")
    if not abs(phase) > _LARGE_PHASE:
        return
    yield (
        "large_phase",
        f"the phase at {frequency:.4g} Hz is {math.degrees(phase):.0f} deg, more than a quarter of a period: from a "
        "tone a sensor of the wrong sign, or an actuator past its own resonance, looks the same as a delay; check "
        "the polarity and the transfer function before a delay is compensated",
    )


def _energy(found: PairAssessment) -> Iterator[tuple[str, str]]:
    name, damping = _added_damping(found)
    falls = "falls to" if delay_changes(found) else "is"
    if damping < _NEGATIVE:
        yield (
            "feeds_energy",
            f"the lag feeds energy into the test: {name} {falls} {100 * damping:.2g} % of critical, to be compared "
            "with the structure's own, weighted by the specimen's share of the stiffness; compensate the delay",
        )


def _added_damping(found: PairAssessment) -> tuple[str, float]:
    """Return what tells the added damping, the force where there is one, else the phase; and the damping.

    Where the delay changes it is the most negative that lasts.
    """
    phase, frequency = phase_at_dominant(found)
    changes = delay_changes(found)
    for name in ("hsem_added_damping", "fdb_added_damping"):
        damping = found.spreads[name].p05 if changes and name in found.spreads else _median(found, name)
        fdb = found.contradicts.get("fdb")
        if name.startswith("fdb") and found.headline is not None and fdb is not None and fdb.often:
            # of an elastic specimen, as FDB's own, but from the delay that is to be believed
            damping = 0.5 * found.headline.ratio * math.sin(phase) if math.isfinite(damping) else math.nan
            name = f"the added damping by the broadband delay at {frequency:.3g} Hz"
        if math.isfinite(damping):
            return name, damping
    return "", math.nan


def _median(found: PairAssessment, *names: str) -> float:
    """Return the first median that is a number; NaN if there is none."""
    medians = (found.spreads[name].median for name in names if name in found.spreads)
    return next(filter(math.isfinite, medians), math.nan)
