"""What the paper on tracking indicators prints of its cases, and what we find in the same place."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from replay.papers.tracking.study import CaseStudy

_DEGREES = 180.0 / math.pi
_ELSEWHERE = "a virtual stand-in for a record that is not public: the value is not expected to be the same"
_OTHER_SIGN = "the paper's sign is command less measured, ours measured less command"


@dataclass(frozen=True)
class PrintedFigure:
    """One printed number, with the paper's own sign, and ours, both in `unit`; `where` in the paper it is."""

    name: str
    label: str
    unit: str
    printed: float
    ours: float
    where: str
    remark: str = ""


def printed_figures(study: CaseStudy) -> tuple[PrintedFigure, ...]:
    """Return every number that the paper prints of a case, with ours."""
    return tuple(_FIGURES[study.case.name](study))


def _lead(study: CaseStudy) -> Iterator[PrintedFigure]:
    printed, delay = study.case.printed, _mean(study, "paei_delay")
    where = "Table 1 and text; PAEI, mean of the record"
    yield PrintedFigure("phase", "phase lead", "rad", printed["phase"], _mean(study, "paei_phase"), where)
    yield PrintedFigure(
        "amplitude_error",
        "amplitude error, command less measured",
        "mm",
        1e3 * printed["amplitude_error"],
        1e3 * _mean(study, "paei_amplitude_error"),
        where,
    )
    steps = -delay * study.case.sample_rate
    yield PrintedFigure("time_steps", "time lead", "steps of 1/1024 s", printed["time_steps"], steps, where)


def _linear(study: CaseStudy) -> Iterator[PrintedFigure]:
    case = study.case
    delay = _mean(study, "broadband_delay")
    yield _delay(study, delay, "Table 1; broadband delay, mean of the record")
    low, high = np.nanpercentile(-study.values("paei_phase"), [5.0, 95.0])
    for name, which, frequency in zip(
        ("lag_driven", "lag_natural"), ("forcing", "natural"), case.frequencies, strict=True
    ):
        lag = 2.0 * math.pi * frequency * delay
        remark = (
            f"{2.0 * math.pi * frequency * case.printed['delay']:.4f} exactly, which the print cuts off; PAEI, of "
        )
        remark += f"both frequencies together, reads {low:.3f} to {high:.3f} rad (5 to 95 %)"
        where = f"Fig. 7i-j and text; at {frequency:.3f} Hz, broadband delay"
        yield PrintedFigure(
            name, f"phase lag at the {which} frequency", "rad", case.printed[name], lag, where, remark
        )
    largest = -float(np.nanmin(study.values("paei_amplitude_error")))
    yield PrintedFigure(
        "largest_overshoot",
        "largest overshoot",
        "mm",
        1e3 * case.printed["largest_overshoot"],
        1e3 * largest,
        "Fig. 7k-l and text; PAEI, largest of the windows",
        "the paper says roughly from 0 to this; a window's is the mean over a beat",
    )


def _yielding(study: CaseStudy) -> Iterator[PrintedFigure]:
    case, ratio = study.case, study.values("paei_ratio")
    switch, window = case.printed["switch_time"], study.assessment.settings.window
    yield _delay(study, _mean(study, "broadband_delay"), "Table 1; broadband delay, mean but for the switch")
    for name, label, inside, sign in (
        ("overshoot", "overshoot before the switch", study.time < switch, 1.0),
        ("undershoot", "undershoot after it", study.time >= switch + window, -1.0),
    ):
        gain = 1.0 / float(np.nanmedian(ratio[inside]))
        where = "Table 1; PAEI's ratio, median of the windows without the switch"
        yield PrintedFigure(name, label, "%", 100.0 * case.printed[name], 100.0 * sign * (gain - 1.0), where)
    adaptive = study.values("paei_adaptive_ratio")
    crossed = float(study.time[np.flatnonzero((adaptive > 1.0) & (study.time > 0.5 * switch))[0]])
    where = "Table 1; when adaptive PAEI's ratio passes one"
    remark = "an indicator follows as its window fills"
    yield PrintedFigure("switch_time", "switch to undershoot", "s", switch, crossed, where, remark)


def _late(study: CaseStudy) -> Iterator[PrintedFigure]:
    printed = study.case.printed
    at = printed["overshoot_time"]
    for name, ours, where in (
        ("overshoot_seen", _peak_overshoot(study, at), f"Fig. 11a; difference of the peaks nearest {at:g} s"),
        ("overshoot", -_at(study, "paei_amplitude_error", at), f"Fig. 11b; PAEI's amplitude error at {at:g} s"),
    ):
        yield PrintedFigure(name, "overshoot", "mm", 1e3 * printed["overshoot"], 1e3 * ours, where, _ELSEWHERE)
    yield _delay(study, _at(study, "broadband_delay", at), f"Fig. 11a; broadband delay at {at:g} s", _ELSEWHERE)


def _noisy(study: CaseStudy) -> Iterator[PrintedFigure]:
    printed, where = study.case.printed, "text before Fig. 12; FDB, mean of the record"
    yield PrintedFigure("ratio", "ratio", "1", printed["ratio"], _mean(study, "fdb_ratio"), where)
    yield PrintedFigure("phase", "phase", "rad", printed["phase"], _mean(study, "fdb_phase"), where, _OTHER_SIGN)


def _growing(study: CaseStudy) -> Iterator[PrintedFigure]:
    printed, fei = study.case.printed, study.assessment.pairs[0].whole.fei_tapered
    fdb_ratio, fdb_phase = (float(np.nanmean(study.values(f"fdb_{name}"))) for name in ("ratio", "phase"))
    known = "known; FDB, mean of the record"
    yield PrintedFigure("ratio", "ratio", "1", printed["ratio"], fdb_ratio, known)
    yield PrintedFigure("phase", "phase", "rad", printed["phase"], fdb_phase, known, _OTHER_SIGN)
    misprint = "0.277 rad is 15.871 deg: this is a misprint"
    yield PrintedFigure(
        "phase_deg", "phase, known", "°", printed["phase_deg"], _DEGREES * fdb_phase, "Table 3", misprint
    )
    for kind, ratio, phase, where in (
        ("fdb", fdb_ratio, fdb_phase, "Table 3; FDB, mean of the record"),
        ("fei", fei.ratio, fei.phase, "Table 3; FEI of the whole record under a Hann taper"),
    ):
        words = kind.upper()
        yield PrintedFigure(f"{kind}_ratio", f"{words}, ratio", "1", printed[f"{kind}_ratio"], ratio, where)
        angle = printed[f"{kind}_phase_deg"]
        yield PrintedFigure(f"{kind}_phase_deg", f"{words}, phase", "°", angle, _DEGREES * phase, where, _OTHER_SIGN)


def _lead_lag_lead(study: CaseStudy) -> Iterator[PrintedFigure]:
    printed, at = study.case.printed, study.case.printed["lag_time"]
    turns = _sign_changes(study)
    for name, label, sign in (("lead_until", "lead becomes lag", -1.0), ("lag_until", "lag becomes lead", 1.0)):
        found = [time for time, becomes in turns if becomes == sign]
        ours = min(found, key=lambda time: abs(time - printed[name]), default=math.nan)
        where = "Fig. 16a; FDB's phase, at the middle of its window"
        yield PrintedFigure(name, label, "s", printed[name], ours, where, _ELSEWHERE)
    yield _delay(study, _at(study, "fdb_delay", at), f"Fig. 14c; FDB's delay at {at:g} s", _ELSEWHERE)
    phase = _DEGREES * _at(study, "fdb_phase", at)
    where = f"text after Fig. 16; FDB's phase at {at:g} s"
    yield PrintedFigure("phase_deg", "phase", "°", printed["phase_deg"], phase, where, _ELSEWHERE)


def _delay(study: CaseStudy, ours: float, where: str, remark: str = "") -> PrintedFigure:
    return PrintedFigure("delay", "delay", "ms", 1e3 * study.case.printed["delay"], 1e3 * ours, where, remark)


def _mean(study: CaseStudy, column: str) -> float:
    (accuracy,) = (accuracy for accuracy in study.accuracies if accuracy.column == column)
    return accuracy.mean


def _at(study: CaseStudy, column: str, time: float) -> float:
    """Return an indicator at the instant nearest to `time`."""
    return float(study.values(column)[np.argmin(np.abs(study.time - time))])


def _peak_overshoot(study: CaseStudy, time: float) -> float:
    """Return by how much the measured peak stands out over the command's, within a quarter cycle of `time`, m."""
    case = study.case
    near = np.abs(case.time - time) <= 0.25 / case.frequency
    # the largest of many noisy samples is too large: of both signals the mean over 16 ms
    width = round(0.016 * case.sample_rate)
    command, measured = (
        np.convolve(signal[near], np.full(width, 1.0 / width), "valid") for signal in (case.command, case.measured)
    )
    return float(np.abs(measured).max() - np.abs(command).max())


def _sign_changes(study: CaseStudy) -> list[tuple[float, float]]:
    """Return at which times FDB's phase changes its sign, and to which, its window centred."""
    phase = study.values("fdb_phase")
    known = np.flatnonzero(np.isfinite(phase))
    sign = np.sign(phase[known])
    at = known[1:][np.diff(sign) != 0.0]
    half = 0.5 * study.assessment.settings.window
    return [(float(study.time[i] - half), float(np.sign(phase[i]))) for i in at]


_FIGURES: dict[str, Callable[[CaseStudy], Iterator[PrintedFigure]]] = {
    "i": _lead,
    "ii-a": _linear,
    "ii-b": _linear,
    "iii": _yielding,
    "iv": _late,
    "v": _noisy,
    "v-uniform": _noisy,
    "vi": _growing,
    "vii": _lead_lag_lead,
}
