"""Warnings of an assessment, from the results of each actuator and of the record."""

from __future__ import annotations

import cmath
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from monitor.config import IndicatorSettings
from monitor.indicators.parts.swept_area import loop_damping
from monitor.messages.blocks import Channel, ratio_unit, units_differ
from monitor.messages.headline import LABELS
from monitor.messages.reasons import Reason
from monitor.text.numbers import percent
from replay.assessment.record_survey import RecordSurvey
from replay.assessment.results import (
    Contradiction,
    PairAssessment,
    RecordWarning,
    delay_changes,
    delay_varies,
    departure_words,
    lasting_delay,
    late_or_early,
    milliseconds,
    phase_at_dominant,
    segment_words,
)
from replay.assessment.signal_checks import signal_warnings
from replay.formats import Recording
from replay.formats.times import UNUSUAL_RATE

# amplitudes that differ by this factor do not belong to one actuator
_UNLIKE = 10.0
# added damping below this gives a warning
_NEGATIVE = -0.002
# standard deviations, and samples, by which measured must lead
_LEAD_SDS, _LEAD_SAMPLES = 2.0, 1.0
# rad, from which lag and lead, or sign and delay, are easily confused
_LARGE_PHASE = 0.5 * math.pi
# rms of measured less command, % of that of the command, and phase, rad, of a sign that is opposite
_OPPOSITE, _HALF_TURN = 170.0, 0.83 * math.pi
_RARELY = 0.2  # of the record


def result_warnings(
    found: PairAssessment, channels: Sequence[Channel], settings: IndicatorSettings, dt: float, *, shorter: bool
) -> Iterator[RecordWarning]:
    """Check the results of one actuator.

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
            f"{ratio_unit(command, measured)} and does not show under- or overshoot, and errors are meaningless; "
            "name the displacement command if the file has one, or read the delay and the phase only",
        )
    elif math.isfinite(ratio) and not 1.0 / _UNLIKE < ratio < _UNLIKE:
        which, times = ("smaller", ratio) if ratio > 1.0 else ("larger", 1.0 / ratio)
        yield (
            "not_a_pair",
            f"the measured signal is {times:.3g} times {which} than the command: different units, a dead channel or "
            "a wrong column; name a pair in one unit with --command and --measured",
        )
        return
    yield from _large_phase(found)
    yield from _lead(found, dt)
    yield from _energy(found, settings)
    yield from _play(found, command)


def _no_value(found: PairAssessment, settings: IndicatorSettings, *, shorter: bool) -> str:
    if shorter:
        return f"the record is shorter than the window of {settings.window:g} s: give a shorter --window"
    elsewhere = _found_elsewhere(found, settings)
    delay = _median(found, "fdb_delay", "paei_delay")
    if found.headline is not None and found.headline.valid_fraction == 0.0 and elsewhere:
        return f"the broadband delay has no value: {elsewhere}"
    if found.headline is not None and found.headline.valid_fraction == 0.0 and math.isfinite(delay):
        reach = min(settings.max_delay, 0.25 * settings.window)
        beyond = (
            f"the delay of {1e3 * delay:.4g} ms of FDB or PAEI is beyond the {1e3 * reach:.3g} ms that are "
            f"searched in a window of {settings.window:.3g} s"
        )
        little = "the two signals are not correlated enough"
        return (
            f"the broadband delay has no value: {beyond if abs(delay) > 0.95 * reach else little}; use a longer "
            "--window and --max-delay, and a longer record if necessary, or read FDB, valid up to half a period"
        )
    if not any(name.startswith(("broadband", "fdb", "paei")) for name in found.spreads):
        return ""
    missing = next(found.presence[each].missing for each in LABELS if each in found.presence)
    valid = 0.0 if found.headline is None else found.headline.valid_fraction
    if any(name.startswith(("fdb", "paei")) for name in found.spreads):
        valid = max(valid, found.valid_fraction)
    if valid > _RARELY or (valid and missing.get(Reason.UNRELATED, 0.0) < 0.5):
        return ""
    if valid:
        return (
            f"only {percent(valid)} of the record has a delay, in the rest {Reason.UNRELATED.sentence}: do not rely "
            f"on it; {elsewhere or 'check the columns'}"
        )
    # the most frequent one
    why = next((reason for reason in missing if reason is not Reason.FILLING), Reason.FILLING)
    advice = elsewhere or "check the columns, then try a longer --window and --max-delay"
    return f"no delay has a value: {why.word}: {why.sentence}; {advice}"


def _found_elsewhere(found: PairAssessment, settings: IndicatorSettings) -> str:
    """Return what the whole record says of signals that are unrelated in its windows; empty: nothing."""
    criteria, reach = found.whole.criteria, min(settings.max_delay, 0.25 * settings.window)
    if criteria.j2 > _OPPOSITE and abs(found.whole.fei.phase) > _HALF_TURN:
        return "measured has the sign opposite to the command's: check the polarity of the sensor"
    if abs(criteria.j1) > 1e3 * reach:
        seconds = abs(criteria.j1) / 1e3
        return (
            f"over the whole record measured is most like the command {criteria.j1:.4g} ms later (J1), and "
            f"{1e3 * reach:.4g} ms are searched: give --max-delay {1.5 * seconds:.2g} --window {6.0 * seconds:.2g}"
        )
    return ""


def _lead(found: PairAssessment, dt: float) -> Iterator[tuple[str, str]]:
    headline = found.headline
    if headline is None or not headline.delay < -_LEAD_SDS * headline.delay_sd:
        return
    if not headline.delay < -_LEAD_SAMPLES * dt:
        return
    yield (
        "leads",
        f"measured leads the command by {-1e3 * headline.delay:.3g} ms: are the columns swapped? If not, the "
        "actuator is over-compensated, or a lag of more than half a period is read as a lead: check the phase",
    )


def _large_phase(found: PairAssessment) -> Iterator[tuple[str, str]]:
    phase, frequency = phase_at_dominant(found, lasting_delay(found))
    if not math.isfinite(phase):
        phase, frequency = _median(found, "fdb_phase"), _median(found, "fdb_frequency")
    if not abs(phase) > _LARGE_PHASE:
        return
    yield (
        "large_phase",
        f"the phase at {frequency:.4g} Hz is {math.degrees(phase):.0f}°, more than a quarter of a period: for a "
        "sine, a sensor of the wrong sign or an actuator above its resonance looks the same as a delay; check "
        "the polarity and the transfer function before compensating a delay",
    )


def _play(found: PairAssessment, command: Channel) -> Iterator[tuple[str, str]]:
    """Tell a play that is found in most windows, and what it adds to the delay: 4 b / (pi A omega)."""
    names = "broadband_play", "fdb_amplitude", "fdb_frequency"
    play, amplitude, frequency = (_median(found, name) for name in names)
    if not play > 0.0:
        return
    unit, late = f" {command.unit}" if command.unit else "", ""
    if amplitude * frequency > 0.0:
        delay = 2e3 * play / (math.pi**2 * amplitude * frequency)
        tone = f"{amplitude:.3g}{unit} and {frequency:.3g} Hz"
        late = f", which makes a tone of {tone} {delay:.3g} ms late, a smaller or slower one more"
    yield (
        "play",
        f"a play of about ±{play:.2g}{unit} is found in most windows{late}: check joints, bolts and the valve before "
        "compensating",
    )


def _energy(found: PairAssessment, settings: IndicatorSettings) -> Iterator[tuple[str, str]]:
    words, damping = added_damping(found, settings.share)
    falls = "falls to" if delay_varies(found) else "is"
    if is_closed_loop(found, settings) and damping < _NEGATIVE:
        scale = f"at the specimen's share of {settings.share:g}" if settings.share else TIMES_SHARE
        yield (
            "feeds_energy",
            f"the lag feeds energy into the test: {words} {falls} {100 * damping:.3g} % of critical {scale}, to be "
            f"compared with the structure's own{'' if settings.share else ' (give --share)'}; compensate the delay",
        )


TIMES_SHARE = "times the specimen's share of the stiffness"
"""Scale of an added damping where the share is not given."""


def is_closed_loop(found: PairAssessment, settings: IndicatorSettings) -> bool:
    """Whether the measured motion is known to act on the command: a force is measured, or a share given."""
    return found.pair.force is not None or settings.share is not None


def added_damping(found: PairAssessment, share: float | None) -> tuple[str, float]:
    """Return the added damping, with words for it: from the force where there is one, else from the phase.

    Where the delay changes, or departs for a while, it is the 5th percentile. Without the specimen's share of the
    stiffness it is per unit of that.
    """
    phase, frequency = phase_at_dominant(found, lasting_delay(found))
    changes = delay_varies(found)
    for name, by in (("hsem_added_damping", "the force"), ("fdb_added_damping", "FDB")):
        damping = found.spreads[name].p05 if changes and name in found.spreads else _median(found, name)
        fdb = found.contradicts.get("fdb")
        if name.startswith("fdb") and found.headline is not None and fdb is not None and fdb.often:
            # of an elastic specimen, as FDB's own, but from the broadband delay
            motion = cmath.rect(1.0 / found.headline.ratio, phase)
            damping = loop_damping(motion.real, motion.imag, share or 0.0) if math.isfinite(damping) else math.nan
            by = f"the broadband delay at {frequency:.3g} Hz"
        if math.isfinite(damping):
            return f"the added damping by {by}", damping
    return "", math.nan


def _median(found: PairAssessment, *names: str) -> float:
    """Return the first median that is finite; NaN if there is none."""
    medians = (found.spreads[name].median for name in names if name in found.spreads)
    return next(filter(math.isfinite, medians), math.nan)


# error of the dominant motion from which a difference between two indicators matters
_SYNCHRONIZATION_ERROR = 0.01

# s, and standard deviations of both, from which two delays are different
_APART, _APART_SDS = 1e-3, 3.0

_ASSESS = "assess {} with --start and --stop, or write the values over time with --series"


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
            f"the bands in {most} of the instants: {_why(found, against)}; use the broadband delay; "
            "see docs/indicators.md",
            found.pair.actuator,
        )
    if headline is not None and headline.delay_range is not None:
        low, high = map(milliseconds, headline.delay_range)
        course = segment_words(headline.delay_segments)
        yield RecordWarning(
            "delay_changes",
            f"the delay changes from {low} to {high} ms within the record{course}, the 5 to 95 % range of "
            f"the windows: {_ASSESS.format('its parts')}",
            found.pair.actuator,
        )
    if headline is not None and (departure := headline.delay_departure) is not None:
        departs = departure_words(departure, headline.lasting_delay, late_or_early(departure.value))
        ends = f"end between {departure.start:.4g} and {departure.stop:.4g} s"
        yield RecordWarning(
            "delay_departs",
            f"measured is {departs}, in the windows that {ends}: a change that is "
            f"compensated or passes, or a disturbance; {_ASSESS.format('that part')}",
            found.pair.actuator,
        )
    if headline is not None and headline.ratio_range is not None:
        low, high = (f"{ratio:.3f}" for ratio in headline.ratio_range)
        yield RecordWarning(
            "ratio_changes",
            f"the amplitude ratio changes from {low} to {high} within the record, the 5 to 95 % range of the "
            "windows: the gain or the specimen changes, the gain depends on a frequency that changes, or a limit is "
            f"reached; {_ASSESS.format('its parts')}",
            found.pair.actuator,
        )


def actuator_warnings(pairs: Sequence[PairAssessment]) -> Iterator[RecordWarning]:
    """Warn of actuators with different delays; those whose own delay changes are left out."""
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
            f"the actuators have different delays: {first} {milliseconds(least.delay)} ms, {last} "
            f"{milliseconds(most.delay)} ms, {milliseconds(apart)} ms apart; compensate each by its own delay",
        )


def _why(found: PairAssessment, against: Mapping[str, Contradiction]) -> str:
    if delay_changes(found):
        return "the delay changes within the record, and each has its own window"
    if list(against) == [LABELS["paei_adaptive"]]:
        return "its window is one cycle, in which noise and a frequency-dependent delay have more influence"
    return "the actuator's delay or gain depends on frequency or amplitude, or changes within the window"


def _matters(found: PairAssessment, how: Contradiction) -> bool:
    """Whether a difference matters: the error of the dominant motion that it would make is above the threshold."""
    spread = found.spreads.get("fdb_frequency")
    phase = 2.0 * np.pi * how.delay * (spread.median if spread is not None else np.inf)
    return bool(max(phase, how.ratio) > _SYNCHRONIZATION_ERROR)


WORST_FIRST = (
    "time_unit",
    "dead_channel",
    "not_a_pair",
    "no_value",
    "stuck",
    "clipped",
    "held",
    "leads",
    "large_phase",
    "delay_changes",
    "delay_departs",
    "ratio_changes",
    "actuators_differ",
    "feeds_energy",
    "play",
    "contradicted",
    "not_numbers",
    "gaps",
    "offset",
    "units_differ",
    "identical",
)
"""The codes of all warnings, the most severe first."""


def find_warnings(
    recording: Recording, settings: IndicatorSettings, pairs: Sequence[PairAssessment], survey: RecordSurvey
) -> tuple[RecordWarning, ...]:
    """Return the warnings about the times, about each actuator, then about the record as a whole."""
    return tuple(_find(recording, settings, pairs, survey))


def worst(warnings: Sequence[RecordWarning]) -> RecordWarning | None:
    """Return the most severe of several warnings; None if there are none."""
    return min(warnings, key=lambda warning: WORST_FIRST.index(warning.code), default=None)


def _find(
    recording: Recording, settings: IndicatorSettings, pairs: Sequence[PairAssessment], survey: RecordSurvey
) -> Iterator[RecordWarning]:
    channels, rate = recording.stream.channels, recording.stream.sample_rate
    yield from (RecordWarning("time_unit", note, None) for note in recording.notes if UNUSUAL_RATE in note)
    by_actuator = signal_warnings(recording, survey, pairs)
    for found in pairs:
        of_signals = by_actuator[found.pair.actuator]
        yield from of_signals
        # a dead channel makes all other checks meaningless
        if any(warning.code == "dead_channel" for warning in of_signals):
            continue
        shorter = settings.window * rate > recording.n_samples
        of_results = tuple(result_warnings(found, channels, settings, 1.0 / rate, shorter=shorter))
        yield from of_results
        if any(warning.code in ("not_a_pair", "no_value") for warning in of_results):
            continue
        yield from delay_warnings(found)
    yield from survey.warnings(rate)
    yield from actuator_warnings(pairs)
