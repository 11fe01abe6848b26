"""The seven cases of the paper on tracking indicators: every indicator on each, with known and printed values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitor.config import IndicatorSettings
from monitor.messages.blocks import Samples
from replay import Progress, silent
from replay.assessment import Assessment, assess
from replay.assessment.run import choose_window
from replay.papers.tracking.paei_noise import NoisyPhase, paei_in_noise
from replay.papers.tracking.plant import PlantStudy, study_plant
from replay.simulations.tracking_tests import case_recording
from sim.cases.tracking_cases import CASES, TrackingCase, tracking_case

# column of the results, and what of the truth it should be
_TRUTH_OF = {
    "fdb_ratio": "ratio",
    "fdb_phase": "phase",
    "fdb_delay": "delay",
    "paei_ratio": "ratio",
    "paei_amplitude_error": "amplitude_error",
    "paei_phase": "phase",
    "paei_delay": "delay",
    "paei_adaptive_ratio": "ratio",
    "paei_adaptive_amplitude_error": "amplitude_error",
    "paei_adaptive_phase": "phase",
    "paei_adaptive_delay": "delay",
    "xcorr_delay": "delay",
    "broadband_ratio": "ratio",
    "broadband_delay": "delay",
}
_STILL = 1e-9
_UNIFORM = "v-uniform"
# case (v) with either noise that its sentence may mean
STUDIED = tuple(part for name in CASES for part in ((name, _UNIFORM) if name == "v" else (name,)))
PARTS = (*STUDIED, "noise", "plant")
_TOGETHER = {"ii": ("ii-a", "ii-b"), "v": ("v", _UNIFORM)}


@dataclass(frozen=True)
class IndicatorAccuracy:
    """One indicator against the truth, where the truth did not change within the window; SI and rad.

    ``mean`` and ``deviation`` of the values, ``error`` the root mean square deviation from the truth, ``worst`` the
    largest; NaN where there is nothing to compare.
    """

    column: str
    unit: str
    known: float
    mean: float
    deviation: float
    error: float
    worst: float


@dataclass(frozen=True)
class CaseStudy:
    """One case: its signals, the results of the indicators, and their errors."""

    case: TrackingCase
    assessment: Assessment
    accuracies: tuple[IndicatorAccuracy, ...]

    @property
    def time(self) -> NDArray[np.float64]:
        """(n,): s, of the values."""
        return self.assessment.series.time

    def values(self, column: str) -> NDArray[np.float64]:
        """Return (n,): one indicator over time."""
        names = [column.name for column in self.assessment.series.columns]
        return self.assessment.series.values[:, names.index(column)]


def study_case(name: str, seed: int = 1) -> CaseStudy:
    """Run one case, one of `STUDIED`, through the engine.

    Raises
    ------
    ValueError : there is no such case; the text lists those there are.
    """
    case = tracking_case("v", seed=seed, noise="uniform") if name == _UNIFORM else tracking_case(name, seed=seed)
    recording = case_recording(case)
    settings = IndicatorSettings()
    window, _ = choose_window(recording, settings.window)
    found = assess(recording, settings.model_copy(update={"window": window}), thin=False)
    return CaseStudy(case, found, tuple(_accuracies(case, found)))


@dataclass(frozen=True)
class TrackingStudy:
    """The requested cases, PAEI in noise, and the benchmark plant; None for what was not requested."""

    cases: tuple[CaseStudy, ...]
    noise: tuple[NoisyPhase, ...] | None
    plant: PlantStudy | None

    @property
    def growth(self) -> dict[str, float] | None:
        """By what factor everything is larger in case (ii-b), where the load is twice that of (ii-a)."""
        by_name = {study.case.name: study for study in self.cases}
        return growth(by_name["ii-a"], by_name["ii-b"]) if {"ii-a", "ii-b"} <= set(by_name) else None


def run_study(parts: Iterable[str], seed: int = 1, progress: Progress = silent) -> TrackingStudy:
    """Run what `parts` names: any of `PARTS`, or ``ii`` for both halves of that case; ``v`` has both its noises.

    Raises
    ------
    ValueError : a name is not one of these.
    """
    requested = [part for name in parts for part in _TOGETHER.get(name, (name,))]
    for name in requested:
        if name not in PARTS:
            raise ValueError(f"there is no case {name!r}: choose among {', '.join(PARTS)}")
    chosen = [name for name in PARTS if name in requested]
    cases, noise, plant = [], None, None
    for done, name in enumerate(chosen):
        progress("cases", done, len(chosen))
        if name == "noise":
            noise = paei_in_noise(seed=seed)
        elif name == "plant":
            plant = study_plant(seed)
        else:
            cases.append(study_case(name, seed))
    progress("cases", len(chosen), len(chosen))
    return TrackingStudy(tuple(cases), noise, plant)


def growth(small: CaseStudy, large: CaseStudy) -> dict[str, float]:
    """Return by what factor each total, and each mean reading, is larger in the second case."""
    totals = zip(small.assessment.pairs[0].totals.items(), large.assessment.pairs[0].totals.values(), strict=True)
    factors = {name: b / a for (name, a), b in totals}
    for a, b in zip(small.accuracies, large.accuracies, strict=True):
        factors[a.column] = b.mean / a.mean
    return factors


def _accuracies(case: TrackingCase, found: Assessment) -> Iterator[IndicatorAccuracy]:
    n_window = round(found.settings.window * case.sample_rate)
    # a window with a switch in it has no one truth, whichever quantity switched
    settled = _unchanged(case.true_ratio, n_window) & _unchanged(case.true_delay, n_window)
    rows = np.rint((found.series.time - found.series.time[0]) * case.sample_rate).astype(np.intp)
    for i, column in enumerate(found.series.columns):
        if column.name not in _TRUTH_OF:
            continue
        truth: Samples = getattr(case, f"true_{_TRUTH_OF[column.name]}")
        values = found.series.values[:, i]
        good = settled[rows] & np.isfinite(values) & np.isfinite(truth[rows])
        if not good.any():
            yield IndicatorAccuracy(column.name, column.unit, *[np.nan] * 5)
            continue
        known, values = truth[rows][good], values[good]
        error = values - known
        moments = known.mean(), values.mean(), values.std(), np.sqrt(np.mean(error**2)), np.abs(error).max()
        yield IndicatorAccuracy(column.name, column.unit, *map(float, moments))


def _unchanged(truth: Samples, n_window: int) -> NDArray[np.bool_]:
    """Return (n,): whether the window that ends at each sample is full and the truth the same throughout."""
    changed = np.append(True, ~(np.abs(np.diff(truth)) <= _STILL))
    since = np.arange(len(truth)) - np.maximum.accumulate(np.where(changed, np.arange(len(truth)), 0))
    return since >= n_window - 1


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
