"""What keeps the figures of a record from being what they seem: every check, over every actuator and the record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from monitor.config import IndicatorSettings
from replay.assessment.delay_checks import actuator_warnings, delay_warnings
from replay.assessment.record_signals import RecordSignals, read_signals
from replay.assessment.result_checks import result_warnings
from replay.assessment.results import PairAssessment, RecordWarning, Series
from replay.assessment.signal_checks import signal_warnings
from replay.formats import Recording

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
    recording: Recording, settings: IndicatorSettings, pairs: Sequence[PairAssessment], series: Series
) -> tuple[RecordWarning, ...]:
    """Return the warnings about each actuator in turn, then those about the record as a whole."""
    signals = read_signals(recording)
    return tuple(_find(recording, settings, pairs, series, signals))


def worst(warnings: Sequence[RecordWarning]) -> RecordWarning | None:
    """Return the gravest of several warnings; None of none."""
    return min(warnings, key=lambda warning: WORST_FIRST.index(warning.code), default=None)


def _find(
    recording: Recording,
    settings: IndicatorSettings,
    pairs: Sequence[PairAssessment],
    series: Series,
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
        values = series.of(found.pair.actuator)
        time = series.time - series.time[:1] + signals.time[:1]
        yield from delay_warnings(found, time, values, settings.window)
    yield from signals.warnings(rate)
    yield from actuator_warnings(pairs)
