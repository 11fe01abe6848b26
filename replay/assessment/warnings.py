"""Warnings of an assessment: every check, over every actuator and the record."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from monitor.config import IndicatorSettings
from monitor.messages.headline import LABELS
from replay.assessment.change_points import Course
from replay.assessment.result_checks import result_warnings
from replay.assessment.results import (
    Contradiction,
    PairAssessment,
    RecordWarning,
    delay_changes,
    milliseconds,
)
from replay.assessment.signal_checks import RecordSignals, signal_warnings
from replay.formats import Recording

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
