"""Warnings of an assessment: what the results of each actuator and of the record give cause for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from monitor.config import IndicatorSettings
from monitor.messages.blocks import Channel, ratio_unit, units_differ
from monitor.messages.headline import LABELS
from replay.assessment.change_points import Course
from replay.assessment.results import (
    Contradiction,
    PairAssessment,
    RecordWarning,
    delay_changes,
    milliseconds,
    phase_at_dominant,
)
from replay.assessment.signal_checks import RecordSignals, signal_warnings
from replay.formats import Recording

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


# of the dominant motion, from which a difference between two indicators matters
_SYNCHRONIZATION_ERROR = 0.01
_MOST_SEGMENTS = 8

# s, and standard deviations of both, from which two delays are different
_APART, _APART_SDS = 1e-3, 3.0


def delay_warnings(found: PairAssessment) -> Iterator[RecordWarning]:
    """Check the delays of one actuator over the record."""
    headline = found.headline
    against = {LABELS[name]: how for name, how in found.contradicts.items() if how.often and _matters(found, how)}
    if against:
        names = ", ".join(f"{name} (by {1e3 * c.delay:.2g} ms, {100 * c.ratio:.2g} %)" for name, c in against.items())
        most = f"{'up to ' if len(against) > 1 else ''}{100 * max(c.fraction for c in against.values()):.0f} %"
        yield RecordWarning(
            "contradicted",
            f"{names} {'differ' if len(against) > 1 else 'differs'} from the broadband delay and ratio by more than "
            f"the bands in {most} of the instants: {_why(found, against)}; believe the broadband delay; "
            "see docs/indicators.md",
            found.pair.actuator,
        )
    if headline is not None and headline.delay_range is not None:
        low, high = headline.delay_range
        course = _course_words(headline.delay_course)
        yield RecordWarning(
            "delay_changes",
            f"the delay changes from {milliseconds(low)} to {milliseconds(high)} ms within the record{course}: "
            "assess its parts with --start and --stop, or look at --series",
            found.pair.actuator,
        )
    if headline is not None and headline.ratio_range is not None:
        low, high = headline.ratio_range
        yield RecordWarning(
            "ratio_changes",
            f"the amplitude ratio changes from {low:.3f} to {high:.3f} within the record: the gain or the specimen "
            "changes, the gain depends on a frequency that changes, or a limit is reached; assess its parts with "
            "--start and --stop, or look at --series",
            found.pair.actuator,
        )


def actuator_warnings(pairs: Sequence[PairAssessment]) -> Iterator[RecordWarning]:
    """Say that the actuators of a record are not equally late; those whose own delay changes are left out."""
    known = sorted(
        ((p.pair.actuator, p.headline) for p in pairs if p.headline is not None and not delay_changes(p)),
        key=lambda each: each[1].delay,
    )
    known = [(name, headline) for name, headline in known if math.isfinite(headline.delay)]
    if len(known) < 2:
        return
    (first, least), (last, most) = known[0], known[-1]
    apart = most.delay - least.delay
    if apart > max(_APART, _APART_SDS * math.hypot(least.delay_sd, most.delay_sd)):
        yield RecordWarning(
            "actuators_differ",
            f"the actuators are not equally late: {first} {milliseconds(least.delay)} ms, {last} "
            f"{milliseconds(most.delay)} ms, {milliseconds(apart)} ms apart; compensate each by its own delay",
        )


def _why(found: PairAssessment, against: Mapping[str, Contradiction]) -> str:
    if delay_changes(found):
        return "the delay changes within the record, and each sees it over a window of its own"
    if list(against) == [LABELS["paei_adaptive"]]:
        return "its window is one cycle, in which noise and a delay that depends on frequency weigh more"
    return "the actuator's delay or gain depends on frequency or amplitude, or changes within the window"


def _matters(found: PairAssessment, how: Contradiction) -> bool:
    """Whether a difference is worth a line: it would make an error of so much of the dominant motion."""
    spread = found.spreads.get("fdb_frequency")
    phase = 2.0 * np.pi * how.delay * (spread.median if spread is not None else np.inf)
    return bool(max(phase, how.ratio) > _SYNCHRONIZATION_ERROR)


def _course_words(course: Course) -> str:
    """Return where a delay has which value; empty where its course is not known, or is of very many segments."""
    if not course.changes or len(course.segments) > _MOST_SEGMENTS:
        return ""
    listed = ", ".join(
        f"{' to '.join(map(milliseconds, (s.first, s.last) if s.drifts else (s.first,)))} ms "
        f"from {s.start:.4g} to {s.stop:.4g} s"
        for s in course.segments
    )
    return f" ({listed})"


WORST_FIRST = (
    "dead_channel",
    "not_a_pair",
    "no_value",
    "stuck",
    "clipped",
    "leads",
    "large_phase",
    "delay_changes",
    "ratio_changes",
    "actuators_differ",
    "feeds_energy",
    "contradicted",
    "not_numbers",
    "gaps",
    "offset",
    "units_differ",
    "identical",
)
"""The codes of all warnings, the gravest first."""


def find_warnings(
    recording: Recording, settings: IndicatorSettings, pairs: Sequence[PairAssessment], signals: RecordSignals
) -> tuple[RecordWarning, ...]:
    """Return the warnings about each actuator in turn, then those about the record as a whole."""
    return tuple(_find(recording, settings, pairs, signals))


def worst(warnings: Sequence[RecordWarning]) -> RecordWarning | None:
    """Return the gravest of several warnings; None of none."""
    return min(warnings, key=lambda warning: WORST_FIRST.index(warning.code), default=None)


def _find(
    recording: Recording,
    settings: IndicatorSettings,
    pairs: Sequence[PairAssessment],
    signals: RecordSignals,
) -> Iterator[RecordWarning]:
    channels, rate = recording.stream.channels, recording.stream.sample_rate
    for found in pairs:
        of_signals = tuple(signal_warnings(signals, channels, rate, found))
        yield from of_signals
        # of a channel that says nothing, nothing follows
        if any(warning.code == "dead_channel" for warning in of_signals):
            continue
        shorter = settings.window * rate > recording.n_samples
        of_results = tuple(result_warnings(found, channels, settings, 1.0 / rate, shorter=shorter))
        yield from of_results
        if any(warning.code in ("not_a_pair", "no_value") for warning in of_results):
            continue
        yield from delay_warnings(found)
    yield from signals.warnings(rate)
    yield from actuator_warnings(pairs)
