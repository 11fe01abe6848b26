"""A comparison in words: which run tracks better, how much later it is, and whether it is within tolerances."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from monitor.text.numbers import plus_minus
from replay.assessment.results import milliseconds
from replay.comparison import ActuatorComparison, Quantity, RunComparison

# a difference with a smaller probability is not put down to chance
_SIGNIFICANT = 0.05
LABELS = {
    "delay_ms": "delay, ms",
    "ratio": "ratio command/measured",
    "fdb_delay_ms": "delay by FDB, ms",
    "fdb_ratio": "ratio by FDB",
    "paei_delay_ms": "delay by PAEI, ms",
    "paei_ratio": "ratio by PAEI",
    "rms_error_percent": "rms error J2, %",
    "peak_error_percent": "largest error J3, %",
    "command_rms_percent": "difference of commands, rms, %",
    "command_peak_percent": "difference of commands, peak, %",
    "measured_rms_percent": "difference of measured signals, rms, %",
    "measured_peak_percent": "difference of measured signals, peak, %",
    "duration_s": "duration of the file, s",
    "lost_samples": "lost samples",
    "alarms": "alarms",
}
"""Figures by their keys, with their units."""


def lead_sentences(base: str, runs: Sequence[tuple[str, RunComparison]]) -> Iterator[str]:
    """Yield the sentences in front: a verdict on each run, then on tolerances."""
    for name, one in runs:
        if len(one.actuators) == 1:
            yield run_words(base, name, one, one.actuators[0])
        else:
            yield f"{name} beside {base}: {'; '.join(f'{each.actuator} {_short(each)}' for each in one.actuators)}."
        checked = [each for each in one.all_quantities() if each.result]
        failed = [each for each in checked if each.result != "within"]
        if checked and not failed:
            yield f"{name} is within {'the tolerance' if len(checked) == 1 else f'all {len(checked)} tolerances'}."
        elif failed:
            listed = ", ".join(dict.fromkeys(LABELS[each.key].partition(",")[0] for each in failed))
            yield f"{name} is not within {len(failed)} of {len(checked)} tolerances: {listed}."
    if not any(each.result for _, one in runs for each in one.all_quantities()):
        yield "No tolerances were given."


def _compared_by(each: ActuatorComparison) -> tuple[Quantity, float, float]:
    """Return the figure by which runs are ranked, the rms error or else the delay, and how bad it is in both."""
    error, delay = each.quantity("rms_error_percent"), each.quantity("delay_ms")
    if math.isfinite(error.difference):
        return error, error.reference, error.value
    if not math.isfinite(delay.difference):
        delay = each.quantity("fdb_delay_ms")
    return delay, abs(delay.reference), abs(delay.value)


def _short(each: ActuatorComparison) -> str:
    if each.motions_differ:
        return "has another motion"
    by, before, after = _compared_by(each)
    if not math.isfinite(by.difference):
        return "is unknown"
    return "tracks alike" if by.probability >= _SIGNIFICANT else _better(before, after)


def _better(before: float, after: float) -> str:
    return "tracks alike" if before == after else f"tracks {'worse' if after > before else 'better'}"


def run_words(base: str, name: str, one: RunComparison, each: ActuatorComparison) -> str:
    """Return which run tracks better, how much later it is, and whether its delay changes."""
    parts = [_verdict(base, name, each)]
    # where the units differ, the verdict is on the delay
    if _compared_by(each)[0].key.endswith("percent"):
        parts.append(_delay_words(base, each))
    return " ".join(filter(None, [*parts, _change_words(one, each)]))


def _verdict(base: str, name: str, each: ActuatorComparison) -> str:
    """Return which run tracks better, by how much against chance, as a sentence."""
    if each.motions_differ:
        differ = _digits(each.quantity("command_rms_percent").value)
        return (
            f"{name} and {base} are not the same motion: the commands differ by {differ} % rms. Which tracks better "
            "is unknown, for errors differ by the motion too."
        )
    by, before, after = _compared_by(each)
    if not math.isfinite(by.difference):
        return f"Whether {name} tracks better than {base} is unknown: no error and no delay is known of both."
    unit = "%" if by.key.endswith("percent") else "ms"
    what = LABELS[by.key].partition(",")[0]
    amounts = f"{what} {_digits(after)} against {_digits(before)} {unit}"
    difference = f"{plus_minus(abs(by.difference), by.estimate.difference_sd, digits=2, most=9)} {unit}"
    if by.difference == 0.0:
        return f"{name} tracks as {base} does: {amounts}."
    if math.isnan(by.probability):
        return f"{name} {_better(before, after)} than {base}: {amounts}; whether by more than chance is unknown."
    if by.probability < _SIGNIFICANT:
        return (
            f"{name} {_better(before, after)} than {base}: {amounts}, {difference} apart, which is more than chance."
        )
    return f"{name} tracks neither better nor worse than {base}: {amounts}, {difference} apart, no more than chance."


def _delay_words(base: str, each: ActuatorComparison) -> str:
    """Return how much later it is, as a sentence."""
    delay = each.quantity("delay_ms")
    if not math.isfinite(delay.difference):
        return "A delay is not known of both."
    amounts = f"({_digits(delay.value)} against {_digits(delay.reference)} ms)"
    if abs(delay.difference) < 5e-4:
        return f"It is as late as {base} {amounts}."
    late = "later" if delay.difference > 0.0 else "earlier"
    difference = plus_minus(abs(delay.difference), delay.estimate.difference_sd, digits=2, most=9)
    words = f"It is {difference} ms {late} {amounts}"
    return f"{words}, no more than chance." if delay.probability >= _SIGNIFICANT else f"{words}."


def _change_words(one: RunComparison, each: ActuatorComparison) -> str:
    """Return between which delays a run changes, as a sentence; empty where it does not."""
    headline = next(found for found in one.run.assessment.pairs if found.pair == each.theirs).headline
    if headline is None or headline.delay_range is None:
        return ""
    low, high = map(milliseconds, headline.delay_range)
    return f"Its delay changes within the run, between {low} and {high} ms."


def _digits(value: float) -> str:
    """Return a number with three digits, also where the last are zeros."""
    return f"{value:#.3g}".rstrip(".")
