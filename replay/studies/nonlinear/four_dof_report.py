"""The study of four masses as tables and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from rich.text import Text

from monitor.text.numbers import DASH
from replay.studies.nonlinear.four_dof_record import SPRINGS
from replay.tables import print_table, report_console

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.messages.blocks import Samples
    from replay.studies.nonlinear.four_dof import FourMassStudy
    from replay.studies.nonlinear.four_dof_joint import JointEstimate
    from replay.studies.nonlinear.four_dof_parametric import StiffnessFit

_PAPER_HOURS = 70.0
# of a normal distribution: half the width of an interval of 95 %
_REACH = 1.96
_BEGINNING = (
    "Four masses on the ground with a cubic spring below mass 1, under a random force on mass 4: accelerations of "
    "masses {sensors}, {n} samples in {duration:g} s, noise of {noise:g} % of their rms; spring 3 has lost "
    "{damage:.0f} % of its stiffness. {runs}. Stiffnesses in percent of the nominal ones. Paper: Hemez and Doebling "
    "print no table for this test bed, only the reduction of 15 %, the three sensors, and about 70 h for stiffnesses "
    "and force together."
)


def as_json(study: FourMassStudy) -> dict[str, Any]:
    """Return the study; everything but `seconds` is the same for the same seed and number of runs."""
    confirmed = study.confirmed
    return {
        "study": "four-dof",
        "seed": study.seed,
        "runs": len(study.parametric),
        "actual_percent": _named(study.record.actual_percent),
        **_estimates(study, study.parametric),
        "joint": {
            **_estimates(study, study.joint),
            "confounded": list(study.joint[0].confounded),
            "noise_percent": 100.0 * float(np.mean([each.noise for each in study.joint])),
            "evaluations": int(np.median([each.evaluations for each in study.joint])),
        },
        "force_law": [
            {
                "k1_held_percent": each.held,
                "linear_n_per_m": each.fitted.coefficients[0],
                "linear_standard_error": each.fitted.standard_errors[0],
                "linear_true": _linear(study, each.held),
                "cubic_n_per_m3": each.fitted.coefficients[1],
                "cubic_standard_error": each.fitted.standard_errors[1],
                "cubic_true": _cubic(study),
                "curve_fit": each.curve.coefficients,
                "curve_fit_standard_errors": each.curve.standard_errors,
                "seconds": each.seconds,
            }
            for each in study.laws
        ],
        "law_confirmed": {
            "stiffness_percent": _named(confirmed.percent[:4]),
            "standard_error_percent": _named(confirmed.standard_errors[:4]),
            "cubic_percent": confirmed.percent[4],
            "cubic_standard_error_percent": confirmed.standard_errors[4],
        },
        "variants": [
            {
                "features": each.features,
                "sensors": each.sensors,
                "noise_percent": 100.0 * each.noise,
                "cubic_law": each.law,
                "records": len(each.percent),
                "stiffness_percent": _named(each.percent.mean(axis=0)),
                "standard_deviation_percent": _named(_scatter(each.percent)),
            }
            for each in study.variants
        ],
        "paper": {"hours": _PAPER_HOURS, "k3_percent": 85.0, "sensors": list(study.record.sensors)},
    }


def _cubic(study: FourMassStudy) -> float:
    """Return the true coefficient, N/m^3."""
    return float(np.asarray(study.record.actual.cubic)[0])


def _linear(study: FourMassStudy, held: float) -> float:
    """Return by how much k1 as it is held is too soft, N/m."""
    return float(
        np.asarray(study.record.actual.springs)[0] - held / 100.0 * np.asarray(study.record.nominal.springs)[0]
    )


def _estimates(study: FourMassStudy, found: Sequence[StiffnessFit] | Sequence[JointEstimate]) -> dict[str, Any]:
    percent, errors = _stacked(found)
    return {
        "stiffness_percent": _named(percent.mean(axis=0)),
        "standard_deviation_percent": _named(_scatter(percent)),
        "standard_error_percent": _named(errors.mean(axis=0)),
        "coverage_95": _named(_coverage(study, percent, errors)),
        "seconds": float(np.median([each.seconds for each in found])),
    }


def _stacked(found: Sequence[StiffnessFit] | Sequence[JointEstimate]) -> tuple[Samples, Samples]:
    """Return estimates and standard errors, (runs, 4) each."""
    return np.array([each.percent for each in found]), np.array([each.standard_errors for each in found])


def _scatter(percent: Samples) -> Samples:
    """Return (4,) standard deviations over runs; NaN of one."""
    return percent.std(axis=0, ddof=1) if len(percent) > 1 else np.full(percent.shape[1], np.nan)


def _coverage(study: FourMassStudy, percent: Samples, errors: Samples) -> Samples:
    """Return (4,): the fraction of runs in which an interval of 95 % has the truth in it; NaN without intervals."""
    inside = np.abs(percent - study.record.actual_percent) <= _REACH * errors
    return np.asarray(np.where(np.isnan(errors).any(axis=0), np.nan, inside.mean(axis=0)))


def _named(values: Samples) -> dict[str, float]:
    return dict(zip(SPRINGS, np.asarray(values).tolist(), strict=True))


def print_study(study: FourMassStudy) -> None:
    """Print what each way found, beside the paper."""
    console, runs, record = report_console(wrap=True), len(study.parametric), study.record
    console.print(
        _BEGINNING.format(
            sensors=", ".join(map(str, record.sensors)),
            n=len(record.time),
            duration=record.time[-1],
            noise=round(100.0 * float(np.mean(record.noise / record.rms)), 1),
            damage=100.0 - record.actual_percent[2],
            runs="1 record" if runs == 1 else f"{runs} records, each with a force and noise of its own",
        )
    )
    console.print()
    headings = ["cubic spring", "", *SPRINGS, "one takes"]
    known, unknown = (_stacked(found) for found in (study.parametric, study.joint))
    rows: list[list[str] | None] = [
        ["truth", "", *_cells(record.actual_percent, ".1f"), ""],
        ["paper", "aim", DASH, DASH, "85", DASH, f"{_PAPER_HOURS:g} h"],
        None,
        *_rows(study, "law known", *known, [each.seconds for each in study.parametric]),
        None,
        *_rows(study, "unknown, found too", *unknown, [each.seconds for each in study.joint]),
        None,
        *_confirmed(study),
    ]
    print_table(console, "Stiffnesses found", headings, rows, texts=2)
    for line in study.joint[0].confounded:
        console.print(Text(f"{line}.", "yellow"))
    console.print()
    _print_laws(study)
    console.print()
    _print_variants(study)


def _rows(
    study: FourMassStudy, words: str, percent: Samples, errors: Samples, seconds: list[float]
) -> list[list[str] | None]:
    number = len(percent)
    rows: list[list[str] | None] = [
        [words, "mean", *_cells(percent.mean(axis=0), ".2f"), f"{np.median(seconds):.2g} s"]
    ]
    if number > 1:
        rows.append(["", "sd over records", *_cells(_scatter(percent), ".3f"), ""])
    rows.append(["", "mean standard error", *_cells(errors.mean(axis=0), ".3f"), ""])
    inside = _coverage(study, percent, errors)
    counts = [DASH if np.isnan(each) else f"{round(each * number)} of {number}" for each in inside.tolist()]
    return [*rows, ["", "95 % has the truth", *counts, ""]]


def _confirmed(study: FourMassStudy) -> list[list[str] | None]:
    found = study.confirmed
    law = f"cubic {found.percent[4]:.1f} ± {found.standard_errors[4]:.1f} %"
    return [
        [f"fitted: {law}", "record 1", *_cells(found.percent[:4], ".2f"), f"{found.seconds:.2g} s"],
        ["", "standard error", *_cells(found.standard_errors[:4], ".3f"), ""],
    ]


def _print_laws(study: FourMassStudy) -> None:
    rows: list[list[str] | None] = []
    for each in study.laws:
        curve = zip(each.curve.coefficients, each.curve.standard_errors, strict=True)
        fitted = zip(each.fitted.coefficients, each.fitted.standard_errors, strict=True)
        truth = f"{_linear(study, each.held):g}", f"{_cubic(study):g}"
        cells = [
            f"{value:.{digits}f} ± {error:.{digits}f}" for (value, error), digits in zip(curve, (1, 0), strict=True)
        ]
        cells += [
            f"{value:.{digits}f} ± {error:.{digits}f}" for (value, error), digits in zip(fitted, (2, 1), strict=True)
        ]
        rows.append([f"{each.held:g} %", truth[0], cells[0], cells[2], truth[1], cells[1], cells[3]])
    headings = ["k1 held at", "a true", "a over x", "a on samples", "b true", "b over x", "b on samples"]
    title = (
        "Law a x + b x^3 of the force recovered from record 1 [N/m, N/m^3], as a curve and on the samples; "
        "k2 to k4 as found"
    )
    print_table(report_console(wrap=True), title, headings, rows)


def _print_variants(study: FourMassStudy) -> None:
    from replay.studies.nonlinear.four_dof import KNOWN

    number = len(study.variants[0].percent)
    rows: list[list[str] | None] = []
    for each in study.variants:
        mean, scatter = each.percent.mean(axis=0), _scatter(each.percent)
        cells = [_with_scatter(*pair) for pair in zip(mean.tolist(), scatter.tolist(), strict=True)]
        features = each.features if each.law == KNOWN else f"{each.features}, {each.law}"
        rows.append([features, each.sensors, f"{100.0 * each.noise:g} %", *cells])
    title = (
        f"Features, sensors, noise and reduced models: mean ± sd of {number} record{'s' * (number > 1)}; the cubic "
        "law is known, or ignored or unknown where that is added"
    )
    print_table(report_console(wrap=True), title, ["features", "sensors", "noise", *SPRINGS], rows, texts=3)


def _with_scatter(mean: float, scatter: float) -> str:
    if np.isnan(mean):
        return DASH
    digits = 1 if scatter >= 1.0 else 2
    return f"{mean:.{digits}f}±{scatter:.{digits}f}" if np.isfinite(scatter) else f"{mean:.{digits}f}"


def _cells(values: Samples, form: str) -> list[str]:
    return [DASH if np.isnan(each) else format(each, form) for each in values.tolist()]
