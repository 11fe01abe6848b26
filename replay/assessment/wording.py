"""An assessment in words: headline, changes, compensator, added damping; the actuators compared."""

from __future__ import annotations

import math

from monitor.messages.blocks import ratio_unit, units_differ
from monitor.messages.headline import LABELS, is_right
from monitor.messages.reasons import Reason
from monitor.text.numbers import DASH, number, percent, plus_minus
from replay.assessment.results import (
    Assessment,
    CompensatorSummary,
    HeadlineEstimate,
    PairAssessment,
    Presence,
    delay_varies,
    departure_words,
    farthest_delay,
    late_or_early,
    milliseconds,
    phase_at_dominant,
    synchronization_error,
)
from replay.assessment.warnings import worst

# lines of the transfer function below the motion, for it to be resolved
_RESOLVED = 2.0
# what is smaller is rounding
_ROUNDING = 1e-9
# ms, from which one decimal shows a delay
_SHOWN = 0.05
_CHANGING = ", changing within the record (5 to 95 % range of the windows)"
# reasons of a missing value in every record, and the share of other ones that is worth a line
_USUAL, _LEAST_MISSING = (Reason.FILLING, Reason.GATE), 0.01
_READINGS = {**LABELS, "ti": "the angle of TI", "hsem": "the added damping of HSEM", "nrmse": "NRMSE"}
_READINGS |= {"specimen": "the stiffness of the specimen", "specimen_loop": "the newest closed loop"}
_COMPLETE = Presence(1.0, {})


def headline_words(found: PairAssessment, assessment: Assessment) -> str:
    """Return the delay and the amplitude of an actuator as one line."""
    name, headline, window = found.pair.actuator, found.headline, assessment.settings.window
    if headline is None:
        return f"{name}: no headline: the measure broadband is not selected"
    over = f"broadband over a window of {window:.4g} s"
    if not math.isfinite(headline.delay):
        return f"{name}: no {over.replace('broadband', 'broadband delay', 1)}{_fdb_words(found)}"
    delay, ratio = headline.delay_departure, headline.ratio_departure
    delay_words, ratio_words = _delay_words(headline), _ratio_words(found, assessment)
    if delay is not None:
        shown = late_or_early(delay.value)
        delay_words += f" but {departure_words(delay, headline.lasting_delay, shown)} from {delay.start:.1f} s on"
    if ratio is not None:
        ratio_words += f" but {departure_words(ratio, headline.ratio, f'{ratio.value:.3f}')}"
    words = [delay_words, ratio_words, over, f"valid in {100.0 * headline.valid_fraction:.0f} % of the record"]
    return f"{name}: {', '.join(words)}{_sd_words(headline)}"


def _sd_words(headline: HeadlineEstimate) -> str:
    """Return how well the medians are known, beside the standard deviations of one window; empty without a median."""
    known = [] if headline.delay_range is not None else [f"delay ± {_small(1e3 * headline.delay_median_sd)} ms"]
    known += [] if headline.ratio_range is not None else [f"ratio ± {_small(headline.ratio_median_sd)}"]
    return f"; ± is one window's, of the medians {', '.join(known)}" if known else ""


def _small(sd: float) -> str:
    return f"{sd:.2g}" if sd >= 1e-4 else "<0.0001"


def whole_record_notes(found: PairAssessment, rate: float) -> list[str]:
    """Return what is to be known of FEI and J1, those that have values, and what they leave out of a record."""
    whole, notes = found.whole, []
    if math.isfinite(whole.fei.delay):
        notes.append(
            "* phase over the command's mean frequency, noise included: too small where the command is noisy"
        )
    if math.isfinite(whole.criteria.j1):
        notes.append(f"J1 counts whole samples of {1e3 / rate:.3g} ms")
    if whole.left_out:
        notes.append(f"without {whole.left_out} samples, missing or no numbers")
    if whole.fei_left_out > whole.left_out:
        more = whole.fei_left_out - whole.left_out
        notes.append(f"FEI without {more} more, in stretches between them that are shorter than a window")
    return notes


def missing_words(found: PairAssessment) -> list[str]:
    """Return a line for each measure that has no value in a part of the motion: the reasons, as shares of the record.

    Measures that lack values only until the window is full, and where nothing moves, are left out.
    """
    lines = []
    for measure, label in _READINGS.items():
        presence = found.presence.get(measure, _COMPLETE)
        if sum(share for reason, share in presence.missing.items() if reason not in _USUAL) >= _LEAST_MISSING:
            reasons = (f"{reason.word} {percent(share)}" for reason, share in presence.missing.items())
            missing = percent(sum(presence.missing.values()))
            lines.append(f"{label} has no value in {missing} of the record: {', '.join(reasons)}")
    return lines


def compensator_words(found: CompensatorSummary) -> str:
    """Return what a compensator did, as the rest of a line."""
    low, high = map(milliseconds, found.delay_range)
    parts = [f"compensated delay {milliseconds(found.delay)} ms in the mean (5 % to 95 %: {low} to {high} ms)"]
    shares = (found.adapting, "adapting"), (found.limited, "at its limit")
    parts += [f"{word} {100.0 * share:.3g} % of the record" for share, word in shares if math.isfinite(share)]
    if math.isfinite(found.bridged):
        parts.append(f"{found.bridged:.0f} lost samples bridged")
    return ", ".join(parts)


def change_words(found: PairAssessment, assessment: Assessment) -> list[str]:
    """Return a line for each change of the delay, the ratio and the specimen's stiffness within the record."""
    headline, quantities = found.headline, []
    if headline is not None:
        quantities += [("delay", headline.delay_segments, 1e3, " ms"), ("ratio", headline.ratio_segments, 1.0, "")]
    quantities.append(("stiffness of the specimen", found.stiffness, *_stiffness_unit(found, assessment)))
    lines = []
    for name, segmentation, factor, unit in quantities:
        subject = f"{found.pair.actuator}: {name}"
        for step in segmentation.steps:
            before, after = (
                plus_minus(factor * value, factor * sd)
                for value, sd in ((step.before, step.before_sd), (step.after, step.after_sd))
            )
            when = f"at {step.time:.1f} ± {step.time_uncertainty:.2g} s"
            if segmentation is found.stiffness:
                when += f", {abs(step.after - step.before) / math.hypot(step.before_sd, step.after_sd):.0f} sd"
            lines.append(f"{subject} changes from {before} to {after}{unit} {when}")
        for segment in segmentation.drifts:
            first, last = (plus_minus(factor * value, factor * segment.sd) for value in (segment.first, segment.last))
            when = f"between {segment.start:.1f} and {segment.stop:.1f} s"
            lines.append(f"{subject} drifts from {first} to {last}{unit} {when}")
    return lines


def _stiffness_unit(found: PairAssessment, assessment: Assessment) -> tuple[float, str]:
    """Return the factor to the unit that a stiffness is told in, and that unit after a space."""
    for column in assessment.series.columns:
        if column.name == "specimen_stiffness" and column.actuator == found.pair.actuator:
            return (1e-6, " kN/mm") if column.unit == "N/m" else (1.0, f" {column.unit}".rstrip())
    return 1.0, ""


def _fdb_words(found: PairAssessment) -> str:
    """Return FDB's delay where the headline has no value; empty where FDB has none either."""
    delay, frequency = (found.spreads.get(name) for name in ("fdb_delay", "fdb_frequency"))
    if delay is None or frequency is None or not math.isfinite(delay.median):
        return ""
    sd = found.spreads["fdb_delay_sd"].median
    late = "late" if delay.median > 0.0 else "early"
    return f"; FDB reads {plus_minus(abs(1e3 * delay.median), 1e3 * sd)} ms {late} at {frequency.median:.4g} Hz"


def _delay_words(headline: HeadlineEstimate) -> str:
    if headline.delay_range is not None:
        low, high = (f"{milliseconds(abs(value))} ms" for value in headline.delay_range)
        early, late = (" early" if 1e3 * value < -_SHOWN else "" for value in headline.delay_range)
        return f"between {low}{early} and {high}{late or ' late'}{_CHANGING}"
    right = is_right("delay", headline.delay, headline.delay_median_sd)
    delay, sd = 1e3 * headline.delay, 1e3 * headline.delay_sd
    if right is None:
        return f"delay not determined ({plus_minus(delay, sd)} ms)"
    if right:
        return f"neither late nor early ({plus_minus(delay, sd)} ms)"
    return f"{plus_minus(abs(delay), sd)} ms {'late' if delay > 0.0 else 'early'}"


def _ratio_words(found: PairAssessment, assessment: Assessment) -> str:
    headline, channels = found.headline, assessment.stream.channels
    assert headline is not None
    command, measured = channels[found.pair.command], channels[found.pair.measured]
    text, changing = f"ratio {plus_minus(headline.ratio, headline.ratio_sd)}", ""
    if headline.ratio_range is not None:
        low, high = headline.ratio_range
        text, changing = f"ratio between {low:.3f} and {high:.3f}", _CHANGING
    if units_differ(command, measured):
        return f"{text} {ratio_unit(command, measured)}{changing}"
    if changing:
        return f"{text}{changing}"
    right = is_right("ratio", headline.ratio, headline.ratio_median_sd)
    if right is None:
        return f"amplitude not determined ({text})"
    if right:
        return f"amplitude right ({text})"
    shortfall = 100.0 * (1.0 - 1.0 / headline.ratio)
    return f"{'under' if shortfall > 0.0 else 'over'}shoots by {abs(shortfall):.1f} % ({text})"


# differences in ms and as a fraction of the command that do not show in what is printed
_EQUAL_MS, _EQUAL_ERROR = 0.05, 5e-4


def worst_actuator(assessment: Assessment) -> str:
    """Return a line with the worst actuator and the range of the delays; empty where no delay is known.

    The worst has the largest error at the dominant frequency or, if units differ, the largest delay.
    """
    known = [p for p in assessment.pairs if math.isfinite(farthest_delay(p))]
    if len(known) < 2:
        return ""
    delays = {p.pair.actuator: 1e3 * farthest_delay(p) for p in known}
    errors = {p.pair.actuator: synchronization_error(p) for p in known}
    by_error = all(map(math.isfinite, errors.values())) and not any(_units_differ(p, assessment) for p in known)
    changing = [p.pair.actuator for p in known if delay_varies(p)]
    delay_range = max(delays.values()) - min(delays.values())
    if delay_range < _EQUAL_MS and not changing and (not by_error or max(errors.values()) < _EQUAL_ERROR):
        return "all actuators track alike: equal delays, no errors"
    name = max(delays, key=lambda one: errors[one] if by_error else abs(delays[one]))
    error = f", an error of {100.0 * errors[name]:.3g} % of its command's dominant motion" if by_error else ""
    spread = ""
    if changing:
        spread = f"; the delay of {', '.join(changing)} changes"
    elif delay_range >= _SHOWN:
        spread = f"; the delays are up to {delay_range:.1f} ms apart"
    return f"worst: {name}, delay {'up to ' if name in changing else ''}{delays[name]:.1f} ms{error}{spread}"


def unresolved_transfer(found: PairAssessment, assessment: Assessment) -> str:
    """Return why the transfer function of a short record is not shown; empty where it is, or was not computed."""
    if assessment.transfer is None:
        return ""
    frequency = found.spreads["fdb_frequency"].median if "fdb_frequency" in found.spreads else math.nan
    resolution = float(assessment.transfer.frequency[1] - assessment.transfer.frequency[0])
    if not frequency < _RESOLVED * resolution:
        return ""
    return (
        f"transfer function: not shown, the record is too short: its frequency resolution is {resolution:.3g} Hz "
        f"and the motion is at {frequency:.3g} Hz"
    )


COMPARED_AS = ("actuator", "delay ms", "farthest", "ratio", "phase °", "at Hz", "error %", "J2 %", "worst warning")
"""Headings of `comparison_row`."""


def comparison_row(found: PairAssessment, assessment: Assessment) -> tuple[str, ...]:
    """Return delay, ratio, phase and error at the dominant frequency, and the most severe warning of an actuator."""
    phase, frequency = phase_at_dominant(found, farthest_delay(found))
    most_severe = worst(assessment.warnings_of(found.pair.actuator))
    error = math.nan if _units_differ(found, assessment) else synchronization_error(found)
    values = math.degrees(phase), frequency, 100.0 * error, found.whole.criteria.j2
    numbers = tuple(number(value, rounding=_ROUNDING) for value in values)
    warning = "" if most_severe is None else most_severe.code
    return (found.pair.actuator, _delay_cell(found), _farthest_cell(found), _ratio_cell(found), *numbers, warning)


def _delay_cell(found: PairAssessment) -> str:
    if found.headline is None:
        return DASH
    if found.headline.delay_range is not None:
        return " to ".join(map(milliseconds, found.headline.delay_range))
    return plus_minus(1e3 * found.headline.delay, 1e3 * found.headline.delay_sd)


def _farthest_cell(found: PairAssessment) -> str:
    return milliseconds(farthest_delay(found)) if math.isfinite(farthest_delay(found)) else DASH


def _ratio_cell(found: PairAssessment) -> str:
    if found.headline is None:
        return DASH
    if found.headline.ratio_range is not None:
        return " to ".join(f"{ratio:.3f}" for ratio in found.headline.ratio_range)
    return plus_minus(found.headline.ratio, found.headline.ratio_sd)


def _units_differ(found: PairAssessment, assessment: Assessment) -> bool:
    channels = assessment.stream.channels
    return units_differ(channels[found.pair.command], channels[found.pair.measured])
