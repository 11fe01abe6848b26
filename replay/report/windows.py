"""The windows in which an actuator tracked best and worst, and what the worst one means for the damping."""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitor.indicators.parts.swept_area import loop_damping
from monitor.messages.blocks import units_differ
from monitor.messages.headline import HEADLINE, is_right
from monitor.text.numbers import plus_minus
from replay.assessment import Assessment, PairAssessment
from replay.assessment.results import delay_varies, late_or_early, milliseconds
from replay.assessment.warnings import TIMES_SHARE, added_damping, is_closed_loop

# windows with a standard deviation above so many medians are in weak motion, and not compared
_CERTAIN = 3.0
# of a window, after its end: by then its delay is published
_LATEST = 0.3
# fraction of critical, below which added damping is zero
_NO_DAMPING = 5e-4


@dataclass(frozen=True, slots=True)
class TrackedWindow:
    """Tracking in one window; NaN where unknown.

    Parameters
    ----------
    start, stop : s after the record's first sample.
    delay, delay_sd : s, > 0: late; with its standard deviation.
    ratio : command/measured.
    frequency : of the dominant motion, Hz.
    error : NRMSE of the window; where it was not computed, |measured - command| / |command| of the dominant motion,
        of the phase alone where the units differ.
    is_nrmse : the error is the NRMSE.
    certain : the delay is known about as well as in most windows.
    added_damping : fraction of critical, < 0: feeds energy in; without a share in the settings per unit of that.
    from_force : the added damping is of the measured force, else of phase and ratio.
    """

    start: float
    stop: float
    delay: float
    delay_sd: float
    ratio: float
    frequency: float
    error: float
    is_nrmse: bool
    certain: bool
    added_damping: float
    from_force: bool


def best_and_worst(
    found: PairAssessment, assessment: Assessment, time: NDArray[np.float64]
) -> tuple[TrackedWindow, TrackedWindow] | None:
    """Return the windows with the smallest relative and the largest absolute error; None where none has a value.

    Windows in which the command rests are not compared. The error is the NRMSE, which needs no delay; where it was
    not computed it is that of the delay and the ratio, and windows with an uncertain delay are not compared. The
    worst window has the largest error times the amplitude of its motion: the relative error is largest where noise is
    all that moves.

    Parameters
    ----------
    time : (n,), s after the record's first sample, of the results.
    """
    values = assessment.series.of(found.pair.actuator)
    nothing = np.full(len(time), np.nan)
    frequency, amplitude = (values.get(f"fdb_{name}", nothing) for name in ("frequency", "amplitude"))
    name = HEADLINE if np.isfinite(values.get(f"{HEADLINE}_delay", nothing)).any() else "fdb"
    delay, ratio, sd = (values.get(f"{name}_{key}", nothing) for key in ("delay", "ratio", "delay_sd"))
    phase = -2.0 * np.pi * frequency * delay
    channels = assessment.stream.channels
    plain = not units_differ(channels[found.pair.command], channels[found.pair.measured])
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.abs(np.exp(1j * phase) / (ratio if plain else 1.0) - 1.0)
    nrmse = values.get("nrmse", nothing)
    is_nrmse = plain and bool(np.isfinite(nrmse).any())
    if is_nrmse:
        error = nrmse
    valid = np.isfinite(error) & (amplitude >= assessment.settings.relative_gate * np.nanmax(amplitude, initial=0.0))
    if not valid.any():
        return None
    known = valid & np.isfinite(delay)
    certain = known & ~(sd > _CERTAIN * (np.nanmedian(sd[known]) if np.isfinite(sd[known]).any() else np.inf))
    rows = np.flatnonzero(valid if is_nrmse or not certain.any() else certain)
    force = values.get("hsem_added_damping", nothing)
    window = assessment.settings.window

    def at(window_row: int) -> TrackedWindow:
        # the broadband delay of a window is published after its end, a quarter and a thirty-second of it at most
        late = time - time[window_row]
        soon = np.flatnonzero(np.isfinite(delay) & (late >= 0.0) & (late <= _LATEST * window))
        row = int(soon[0]) if len(soon) else window_row
        motion = cmath.rect(1.0 / float(ratio[row]), float(phase[row])) if plain else complex(math.nan, math.nan)
        of_phase = loop_damping(motion.real, motion.imag, assessment.settings.share or 0.0)
        from_force = bool(np.isfinite(force[row]))
        return TrackedWindow(
            max(float(time[0]), float(time[window_row]) - window),
            float(time[window_row]),
            float(delay[row]),
            float(sd[row]),
            float(ratio[row]),
            float(frequency[row]),
            float(error[window_row]),
            is_nrmse,
            bool(certain[row]),
            float(force[row] if from_force else of_phase),
            from_force,
        )

    size = error[rows] * (amplitude[rows] if np.isfinite(amplitude[rows]).all() else 1.0)
    return at(int(rows[np.argmin(error[rows])])), at(int(rows[np.argmax(size)]))


def worst_words(found: PairAssessment, assessment: Assessment, worst: TrackedWindow | None) -> str:
    """Return when the tracking was worst, and how bad it was, as a sentence."""
    if worst is None:
        return "No window has a value: when the tracking was worst is unknown."
    channels = assessment.stream.channels
    delay = f"{late_or_early(worst.delay)}"
    if right := is_right("delay", worst.delay, worst.delay_sd):
        delay = f"neither late nor early ({milliseconds(worst.delay)} ms)"
    elif right is None:
        delay = f"delay not determined ({plus_minus(1e3 * worst.delay, 1e3 * worst.delay_sd)} ms)"
    if not math.isfinite(worst.delay):
        delay = "its delay is unknown"
    elif not worst.certain and right is not None:
        delay += " (uncertain)"
    ratio = f", ratio {worst.ratio:.3f}" if math.isfinite(worst.ratio) else ""
    if units_differ(channels[found.pair.command], channels[found.pair.measured]):
        error = f"a phase lag of {360.0 * worst.frequency * worst.delay:.3g}° at {worst.frequency:.3g} Hz"
        ratio = ""
    elif worst.is_nrmse:
        error = f"NRMSE {100.0 * worst.error:.3g} %"
    else:
        error = f"an error of {100.0 * worst.error:.3g} % of the command's motion at {worst.frequency:.3g} Hz"
    same = "" if delay_varies(found) or not math.isfinite(worst.delay) else "; the delay is about the same throughout"
    when = f"{worst.start:.4g} to {worst.stop:.4g} s"
    return f"Worst window, with the largest error in units of the motion, {when}: {error}, {delay}{ratio}{same}."


def damping_words(found: PairAssessment, assessment: Assessment, worst: TrackedWindow | None) -> str:
    """Return what the delay means for the damping of the structure, over the record and in the worst window.

    Of a delay that is the same throughout, over the record alone; nothing where the loop may be open.
    """
    share = assessment.settings.share
    if not is_closed_loop(found, assessment.settings):
        return ""
    name, usual = added_damping(found, share)
    from_force = name.endswith("the force") or (not name and worst is not None and worst.from_force)
    comparable = worst is not None and worst.from_force == from_force and (delay_varies(found) or not name)
    there = worst.added_damping if worst is not None and comparable else math.nan
    if not math.isfinite(usual) and not math.isfinite(there):
        return f"What this means for the damping is unknown: {_why_unknown(found, assessment)}."
    if max(abs(x) for x in (usual, there) if math.isfinite(x)) < _NO_DAMPING:
        return "The test neither gains nor loses damping by it: less than 0.05 % of critical."
    over = "in the worst 5 % of the record" if delay_varies(found) else "over the record"
    known = [each for each in ((usual, over), (there, "in the worst window")) if math.isfinite(each[0])]
    parts = [f"{_effect(damping)} {where}" for damping, where in known]
    if len({_effect(damping) for damping, _ in known}) == 1:
        parts = [f"{_effect(known[0][0])}, {' and '.join(where for _, where in known)}"]
    basis = "from the measured force" if from_force else "for an elastic specimen"
    basis += f", at the specimen's share of {share:g}" if share else f", {TIMES_SHARE}"
    words = f"For the damping: the error {' and '.join(parts)} ({basis})."
    if min(x for x in (usual, there) if math.isfinite(x)) < -_NO_DAMPING:
        words += (
            " A delay τ acts on the structure as the equivalent damping −k_e sin(ω τ) / (2 k r), with k_e the "
            "stiffness of the specimen, k that of the whole structure and r the ratio: where it outweighs the "
            "structure's own damping, the test diverges."
        )
    return words


def _why_unknown(found: PairAssessment, assessment: Assessment) -> str:
    command = assessment.stream.channels[found.pair.command]
    if found.pair.force is not None and units_differ(command, assessment.stream.channels[found.pair.measured]):
        return f"the command, in {command.unit or 'no unit'}, is not a displacement like the measured signal"
    return "it needs the dominant motion, in one unit, or a force"


def _effect(damping: float) -> str:
    if abs(damping) < _NO_DAMPING:
        return "adds none"
    return f"{'adds' if damping > 0.0 else 'takes away'} {100.0 * abs(damping):.2g} % of critical"


def window_words(window: TrackedWindow) -> str:
    """Return a window as the caption of a figure."""
    span = f"{window.start:.4g} to {window.stop:.4g} s"
    delay = f"delay {milliseconds(window.delay)} ms" if math.isfinite(window.delay) else "delay unknown"
    return f"{span}, {delay}" + (f", ratio {window.ratio:.3f}" if math.isfinite(window.ratio) else "")
