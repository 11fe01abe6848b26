"""The study of the impact test as tables and as JSON."""

from __future__ import annotations

from dataclasses import astuple
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.text import Text

from monitor.text.numbers import DASH
from replay.studies.nonlinear.impact_records import CONFIGURATIONS, FREQUENCIES, NOMINAL, SPECIMEN, UNITS
from replay.tables import print_table, report_console
from sim.models.impact_test import GRAVITY, INCH

if TYPE_CHECKING:
    from monitor.messages.blocks import Samples
    from replay.studies.nonlinear.impact import ImpactStudy, Prediction

# Table 2: in, and what "the analytical formula" gives from there
_HEIGHTS = {"low": 13.0, "high": 155.0}
_BEGINNING = (
    "A carriage of 433 kg is dropped on a rigid floor; on it a steel cylinder of 11 kg bears on a foam pad, held by "
    "a bolt. Paper: Hemez and Doebling, 3.3. The tests are virtual, as the records of the paper are not public. Both "
    "model and specimen are lumped, with a visco-hyperelastic pad, ours: the paper prints no number of its finite "
    "elements. Preload and angle of impact vary from test to test; the update does not know the specimen."
)
_SPEEDS = (
    "The paper says that the speeds, integrated from the measured acceleration, match sqrt(2 g h). They do not: the "
    "measured speeds are used here, and the heights are names."
)
_PEAKS = (
    'Paper, Figure 12: "over a thousand g\'s" at the low speed; Figure 13: "a significant spread". Inside: tests '
    "between the model's 2.5 % and 97.5 %. Area: between the distributions of model and tests (Ferson et al.)."
)
_RATIOS = (
    "Residual error of an ARX model, from the carriage to the impactor, of the first test: in other tests over that "
    "in its own. 1 is the same system. On a torn pad the impactor moves more slowly, and the error is smaller: of a "
    "transient it is other than 1 that counts, not more."
)


_UNSETTLED = "the response surfaces did not settle on an estimate: it has no intervals"


def as_json(study: ImpactStudy) -> dict[str, Any]:
    """Return the study; everything but `seconds` is the same for the same seed and number of runs."""
    configurations = []
    for each in CONFIGURATIONS:
        records, ratios = study.records[each], study.ratios[each]
        configurations.append(
            {
                "pad": each.pad,
                "drop": each.drop,
                "thickness_m": each.thickness,
                "speed_m_per_s": each.speed,
                "data_sets": each.repeats,
                "peak_g": {
                    "tests": records.peaks,
                    "nominal": _peaks_json(study.nominal[each]),
                    "updated": _peaks_json(study.updated[each]),
                },
                "shock_spectrum_g": {
                    "frequencies_hz": FREQUENCIES,
                    "tests_median": np.median(records.spectra, axis=0),
                    "nominal_percentiles": study.nominal[each].spectra,
                    "updated_percentiles": study.updated[each].spectra,
                },
                "arx_error_ratio": {"orders": ratios.orders, "sound": ratios.sound, "torn": ratios.torn},
            }
        )
    pad, intervals = study.pad, study.pad.intervals
    parameters = {
        name: {"nominal": nominal, "updated": found, "interval": interval, "specimen": specimen}
        for name, nominal, found, interval, specimen in zip(
            UNITS, astuple(NOMINAL), astuple(pad.parameters), intervals, astuple(SPECIMEN), strict=True
        )
    }
    return {
        "study": "impact",
        "seed": study.seed,
        "runs": study.runs,
        "configurations": configurations,
        "parameters": parameters,
        "update": {
            "residual_deviation": pad.fit.sigma,
            "surface_error": pad.surface_error,
            "evaluations": pad.evaluations,
            "converged": pad.fit.converged and pad.settled,
        },
        "seconds": study.seconds,
    }


def _peaks_json(prediction: Prediction) -> dict[str, Any]:
    return {
        "percentiles": np.percentile(prediction.peaks, [2.5, 50.0, 97.5]),
        "tests_inside": prediction.inside,
        "area": prediction.area,
    }


def print_study(study: ImpactStudy) -> None:
    """Print the tables."""
    console = report_console(wrap=True)
    console.print(_BEGINNING + "\n")
    rows = [
        [
            each.label,
            f"{1e3 * each.thickness:.2f}",
            f"{_HEIGHTS[each.drop]:.0f}",
            f"{each.speed:.2f}",
            f"{sqrt(2.0 * GRAVITY * _HEIGHTS[each.drop] * INCH):.2f}",
            f"{each.repeats}",
            f"{len(study.records[each].peaks)}",
        ]
        for each in CONFIGURATIONS
    ]
    speeds = "paper: m/s", "sqrt(2 g h)"
    headings = ["configuration", "pad, mm", "paper: drop, in", *speeds, "paper: data sets", "ours"]
    print_table(console, "Data sets of each configuration (Table 2 of the paper)", headings, rows)
    console.print(_SPEEDS + "\n")
    _print_peaks(study)
    _print_parameters(study)
    _print_spectra(study)
    rows = [
        [each.label, "{} and {}".format(*study.ratios[each].orders), _range(study.ratios[each].sound, "{:.2f}"),
         _range(study.ratios[each].torn, "{:.2f}")]
        for each in CONFIGURATIONS
    ]  # fmt: skip
    print_table(console, "ARX error ratio", ["", "orders", "other tests", "torn pad"], rows)
    console.print(_RATIOS)


def _print_peaks(study: ImpactStudy) -> None:
    console = report_console(wrap=True)
    rows: list[list[str] | None] = []
    for each in CONFIGURATIONS:
        tests = study.records[each].peaks
        rows += [[each.label, f"{each.repeats} tests", *_percentiles(tests, (0.0, 50.0, 100.0)), "", ""]]
        for name, prediction in (("nominal", study.nominal[each]), ("updated", study.updated[each])):
            cells = _percentiles(prediction.peaks, (2.5, 50.0, 97.5))
            rows += [["", name, *cells, f"{prediction.inside} of {each.repeats}", f"{prediction.area:.0f}"]]
        rows += [None]
    title = (
        f"Peak acceleration [g] of the impactor; low to high: least, median and largest of the tests, 2.5, 50 and "
        f"97.5 % of {study.runs} tests of each model"
    )
    headings = ["configuration", "", "low", "middle", "high", "mean", "sd", "tests inside", "area"]
    print_table(console, title, headings, rows[:-1], texts=2)
    console.print(_PEAKS + "\n")


def _print_parameters(study: ImpactStudy) -> None:
    console = report_console(wrap=True)
    rows = []
    ends = study.pad.intervals
    for (name, (unit, factor)), nominal, found, interval, specimen in zip(
        UNITS.items(), astuple(NOMINAL), astuple(study.pad.parameters), ends, astuple(SPECIMEN), strict=True
    ):
        low, high = factor * interval
        label = f"{name.replace('_', ' ')}{', ' if unit else ''}{unit}"
        numbers = (
            f"{factor * nominal:.3g}",
            f"{factor * found:.3g}",
            f"{low:.3g} to {high:.3g}" if low <= high else DASH,
        )
        rows.append([label, *numbers, f"{factor * specimen:.3g}"])
    title = "Pad, preload (mean) and angle of impact (standard deviation), updated by the distribution of all tests"
    print_table(console, title, ["parameter", "nominal", "updated", "95 %", "specimen"], rows)
    doubts = study.pad.fit.doubts() if study.pad.settled else (_UNSETTLED,)
    for doubt in doubts:
        console.print(Text(doubt, "yellow"))
    console.print(
        f"Features: means of the logarithms of the shock spectra and their scatter in two directions; "
        f"{study.pad.evaluations} sets of parameters in {study.seconds:.0f} s.\n"
    )


def _print_spectra(study: ImpactStudy) -> None:
    console = report_console(wrap=True)
    rows = []
    for each in CONFIGURATIONS:
        tests = np.median(study.records[each].spectra, axis=0)
        rows.append([f"{each.label}: tests, g", *(f"{value:.0f}" for value in tests)])
        for name, prediction in (("nominal", study.nominal[each]), ("updated", study.updated[each])):
            ratio = 100.0 * (prediction.spectra[1] / tests - 1.0)
            rows.append([f"  {name} model", *(f"{round(value):+d} %" if round(value) else "0 %" for value in ratio)])
    headings = ["medians", *(f"{frequency:g} Hz" for frequency in FREQUENCIES)]
    print_table(console, "Shock response spectra of the impactor, 5 % damping", headings, rows)
    console.print("")


def _percentiles(peaks: Samples, percent: tuple[float, float, float]) -> list[str]:
    """Return cells of three percentiles, the mean and the standard deviation."""
    numbers = (*np.percentile(peaks, percent), peaks.mean(), peaks.std(ddof=1))
    return [f"{value:.0f}" for value in numbers]


def _range(values: Samples, form: str) -> str:
    return f"{form.format(values.min())} to {form.format(values.max())}"
