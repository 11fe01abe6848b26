"""The study of the impact test as tables, data and figures, with the numbers of the paper's figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple
from functools import partial
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from monitor.messages.blocks import Samples
from monitor.text.blocks import Block, Column, Data, Figure, Table, Text, Tone, words
from replay.papers.nonlinear.impact import ImpactStudy, Prediction
from replay.papers.nonlinear.impact_records import (
    CONFIGURATIONS,
    FREQUENCIES,
    NOMINAL,
    SAMPLE_RATE,
    SPECIMEN,
    UNITS,
    Configuration,
)
from replay.pictures import new_drawing
from sim.models.impact_test import GRAVITY, INCH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

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
_TESTS, _NOMINAL, _UPDATED = "black", "tab:orange", "tab:blue"


def study_blocks(study: ImpactStudy) -> Iterator[Block]:
    """Yield the tests, what the models predict of them before and after the update, and the updated pad.

    In JSON everything but `seconds` is the same for the same seed and number of runs.
    """
    yield Data(_record(study))
    yield Text(_BEGINNING)
    yield _data_sets(study)
    yield Text(_SPEEDS)
    yield Figure("impact-accelerations", partial(_accelerations, study))
    yield _peaks(study)
    yield Text(_PEAKS)
    yield Figure("impact-peaks", partial(_peak_distributions, study))
    yield _parameters(study)
    for doubt in study.pad.fit.doubts() if study.pad.settled else (_UNSETTLED,):
        yield Text(doubt, Tone.WARNING)
    yield Text(
        f"Features: means of the logarithms of the shock spectra and their scatter in two directions; "
        f"{study.pad.evaluations} sets of parameters in {study.seconds:.0f} s."
    )
    yield _angles(study)
    yield _medians(study)
    yield Figure("impact-shock-spectra", partial(_spectra, study))
    ratios = [(each.label, study.ratios[each]) for each in CONFIGURATIONS]
    yield Table(
        "ARX error ratio",
        (words(), words("orders"), Column("other tests"), Column("torn pad")),
        [(label, "{} and {}".format(*each.orders), _range(each.sound), _range(each.torn)) for label, each in ratios],
    )
    yield Text(_RATIOS)


def _record(study: ImpactStudy) -> dict[str, Any]:
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
                    "nominal": _peaks_record(study.nominal[each]),
                    "updated": _peaks_record(study.updated[each]),
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


def _peaks_record(prediction: Prediction) -> dict[str, Any]:
    return {
        "percentiles": np.percentile(prediction.peaks, [2.5, 50.0, 97.5]),
        "tests_inside": prediction.inside,
        "area": prediction.area,
    }


def _data_sets(study: ImpactStudy) -> Table:
    rows = []
    for each in CONFIGURATIONS:
        height = _HEIGHTS[each.drop]
        speeds = each.speed, sqrt(2.0 * GRAVITY * height * INCH)
        rows.append((each.label, each.thickness, height, *speeds, each.repeats, len(study.records[each].peaks)))
    names = words("configuration"), Column("pad", "mm", ".2f", 1e3), Column("paper: drop", "in", ".0f")
    speed = Column("paper", "m/s", ".2f"), Column("sqrt(2 g h)", "m/s", ".2f")
    columns = *names, *speed, Column("paper: data sets"), Column("ours")
    return Table("Data sets of each configuration (Table 2 of the paper)", columns, rows)


def _peaks(study: ImpactStudy) -> Table:
    rows: list[Sequence[object] | None] = []
    for each in CONFIGURATIONS:
        rows += [None] if rows else []
        tests = study.records[each].peaks
        rows.append((each.label, f"{each.repeats} tests", *_percentiles(tests, (0.0, 50.0, 100.0)), "", ""))
        for name, found in (("nominal", study.nominal[each]), ("updated", study.updated[each])):
            cells = _percentiles(found.peaks, (2.5, 50.0, 97.5))
            rows.append(("", f"{name} model", *cells, f"{found.inside} of {each.repeats}", found.area))
    numbers = (Column(title, form=".0f") for title in ("low", "middle", "high", "mean", "sd", "tests inside", "area"))
    return Table(
        "Peak acceleration [g] of the impactor",
        (words("configuration"), words(), *numbers),
        rows,
        "Low to high: least, median and largest of the tests, 2.5, 50 and "
        f"97.5 % of {study.runs} tests of each model.",
    )


def _parameters(study: ImpactStudy) -> Table:
    rows = []
    for (name, (unit, factor)), nominal, found, interval, specimen in zip(
        UNITS.items(),
        astuple(NOMINAL),
        astuple(study.pad.parameters),
        study.pad.intervals,
        astuple(SPECIMEN),
        strict=True,
    ):
        low, high = factor * interval
        known = f"{low:.3g} to {high:.3g}" if low <= high else None
        rows.append((name.replace("_", " "), unit, factor * nominal, factor * found, known, factor * specimen))
    numbers = (Column(title, form=".3g") for title in ("nominal", "updated", "95 %", "specimen"))
    title = "Pad, preload (mean) and angle of impact (standard deviation), updated by the distribution of all tests"
    return Table(title, (words("parameter"), words("unit"), *numbers), rows)


def _angles(study: ImpactStudy) -> Table:
    rows = []
    for each in CONFIGURATIONS:
        records, found = study.records[each], study.angles[each]
        apart, error = np.ptp(records.sensors, axis=0).max(axis=0), found - records.tilt
        sides = f"{int(np.sum(np.sign(found) == np.sign(records.tilt)))} of {each.repeats}"
        deviations = (float(np.sqrt(np.mean(values**2))) for values in (records.tilt, found, error))
        rows.append((each.label, float(np.median(apart)), float(apart.max()), *deviations, sides))
    titles = (("true", "rms"), ("by sensors", "found_rms"), ("error", "error_rms"))
    columns = (
        *(words("configuration", "configuration"), Column("median", "g", ".0f", key="median_g")),
        Column("largest", "g", ".0f", key="largest_g"),
        *(Column(title, "mrad", ".3f", 1e3, key=f"{key}_rad") for title, key in titles),
        words("side", "side_right"),
    )
    note = (
        "How far the sensors differ at an instant; rms of the angles: true, by the sensors with the turning of the "
        "nominal model's tests, and the error. Side: the edge that touches first is the right one."
    )
    return Table("Three sensors on the impactor, and the angle of impact", columns, rows, note, key="angles")


def _medians(study: ImpactStudy) -> Table:
    rows = []
    for each in CONFIGURATIONS:
        tests = np.median(study.records[each].spectra, axis=0)
        rows.append((f"{each.label}: tests, g", *(f"{value:.0f}" for value in tests)))
        for name, prediction in (("nominal", study.nominal[each]), ("updated", study.updated[each])):
            ratio = 100.0 * (prediction.spectra[1] / tests - 1.0)
            rows.append((f"  {name} model", *(f"{round(value):+d} %" if round(value) else "0 %" for value in ratio)))
    columns = words("medians"), *(Column(f"{frequency:g}", "Hz") for frequency in FREQUENCIES)
    return Table("Shock response spectra of the impactor, 5 % damping", columns, rows)


def _percentiles(peaks: Samples, percent: tuple[float, float, float]) -> list[float]:
    """Return three percentiles, the mean and the standard deviation."""
    return [*np.percentile(peaks, percent).tolist(), float(peaks.mean()), float(peaks.std(ddof=1))]


def _range(values: Samples) -> str:
    return f"{values.min():.2f} to {values.max():.2f}"


def _accelerations(study: ImpactStudy) -> Drawing:
    title = "Virtual tests, as Fig. 12 (one test at the low speed) and Fig. 13 (repeats) of the paper"
    figure = new_drawing(11.0, 8.0, title)
    (thin, thick), (repeats, fast) = figure.subplots(2, 2)
    for axis, place in ((thin, 0), (thick, 2)):
        records = study.records[CONFIGURATIONS[place]]
        time = 1e3 * np.arange(len(records.impactor)) / SAMPLE_RATE
        axis.plot(time, records.carriage[:, 0], color="tab:green", label="carriage (input)")
        axis.plot(time, records.impactor[:, 0], color=_TESTS, label="impactor (output)")
        axis.set_title(f"Fig. 12: {CONFIGURATIONS[place].label}", fontsize="medium")
        axis.legend(fontsize="small")
    for axis, place in ((repeats, 0), (fast, 1)):
        records = study.records[CONFIGURATIONS[place]]
        time = 1e3 * np.arange(len(records.impactor)) / SAMPLE_RATE
        axis.plot(time, records.impactor, linewidth=0.9)
        number = "Fig. 13: " if place == 0 else ""
        axis.set_title(f"{number}{CONFIGURATIONS[place].label}, {records.impactor.shape[1]} tests", fontsize="medium")
    for axis in (thin, thick, repeats, fast):
        axis.set(xlabel="time from the first touch [ms]", ylabel="acceleration [g]")
        axis.grid(alpha=0.3)
    return figure


def _peak_distributions(study: ImpactStudy) -> Drawing:
    title = "Peak acceleration of the impactor: distribution functions of the tests and of the models"
    figure = new_drawing(11.0, 7.0, title)
    for axis, each in zip(figure.subplots(2, 2).flat, CONFIGURATIONS, strict=True):
        for peaks, colour, label in (
            (study.nominal[each].peaks, _NOMINAL, f"nominal model, {study.runs} tests"),
            (study.updated[each].peaks, _UPDATED, f"updated model, {study.runs} tests"),
            (study.records[each].peaks, _TESTS, f"specimen, {each.repeats} tests"),
        ):
            ordered = np.sort(peaks)
            share = np.arange(len(ordered) + 1) / len(ordered)
            axis.step(np.append(ordered[:1], ordered), share, where="post", color=colour, label=label)
        axis.set_title(each.label, fontsize="medium")
        axis.set(xlabel="peak acceleration [g]", ylabel="probability")
        axis.grid(alpha=0.3)
        axis.legend(fontsize="small", loc="upper left")
    return figure


def _spectra(study: ImpactStudy) -> Drawing:
    title = "Shock response spectra of the impactor, 5 % damping: tests, and 95 % of the models' tests"
    figure = new_drawing(11.0, 7.5, title)
    for axis, each in zip(figure.subplots(2, 2).flat, CONFIGURATIONS, strict=True):
        _spectrum(axis, study, each)
    return figure


def _spectrum(axis: Axes, study: ImpactStudy, configuration: Configuration) -> None:
    for prediction, colour, label in (
        (study.nominal[configuration], _NOMINAL, "nominal model"),
        (study.updated[configuration], _UPDATED, "updated model"),
    ):
        low, middle, high = prediction.spectra
        axis.fill_between(FREQUENCIES, low, high, color=colour, alpha=0.25)
        axis.plot(FREQUENCIES, middle, color=colour, label=label)
    tests = study.records[configuration].spectra
    axis.plot(FREQUENCIES, tests.T, ".", color=_TESTS, markersize=3.0)
    axis.plot([], [], ".", color=_TESTS, label="tests")
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    for which in (axis.yaxis.set_major_formatter, axis.yaxis.set_minor_formatter):
        which("{x:g}")
    axis.set_xticks(FREQUENCIES, [f"{frequency:g}" for frequency in FREQUENCIES])
    axis.set_title(configuration.label, fontsize="medium")
    axis.set(xlabel="natural frequency [Hz]", ylabel="maximax acceleration [g]")
    axis.grid(alpha=0.3, which="both")
    axis.legend(fontsize="small")
