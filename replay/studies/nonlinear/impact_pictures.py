"""The impact test as pictures, with the numbers of the paper's figures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from replay.studies.nonlinear.impact import ImpactStudy
from replay.studies.nonlinear.impact_records import CONFIGURATIONS, FREQUENCIES, SAMPLE_RATE, Configuration

_TESTS, _NOMINAL, _UPDATED = "black", "tab:orange", "tab:blue"


def draw(study: ImpactStudy, folder: Path) -> tuple[Path, ...]:
    """Write the pictures into a folder that is there; return the files."""
    figures = {
        "impact-accelerations.png": _accelerations(study),
        "impact-peaks.png": _peaks(study),
        "impact-shock-spectra.png": _spectra(study),
    }
    for name, figure in figures.items():
        figure.savefig(folder / name, dpi=110)
    return tuple(folder / name for name in figures)


def _accelerations(study: ImpactStudy) -> Figure:
    figure = Figure(figsize=(11.0, 8.0), layout="constrained")
    figure.suptitle("Virtual tests, as Fig. 12 (one test at the low speed) and Fig. 13 (repeats) of the paper")
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
        axis.set_xlabel("time from the first touch [ms]")
        axis.set_ylabel("acceleration [g]")
        axis.grid(alpha=0.3)
    return figure


def _peaks(study: ImpactStudy) -> Figure:
    figure = Figure(figsize=(11.0, 7.0), layout="constrained")
    figure.suptitle("Peak acceleration of the impactor: distribution functions of the tests and of the models")
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
        axis.set_xlabel("peak acceleration [g]")
        axis.set_ylabel("probability")
        axis.grid(alpha=0.3)
        axis.legend(fontsize="small", loc="upper left")
    return figure


def _spectra(study: ImpactStudy) -> Figure:
    figure = Figure(figsize=(11.0, 7.5), layout="constrained")
    figure.suptitle("Shock response spectra of the impactor, 5 % damping: tests, and 95 % of the models' tests")
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
    axis.set_xlabel("natural frequency [Hz]")
    axis.set_ylabel("maximax acceleration [g]")
    axis.grid(alpha=0.3, which="both")
    axis.legend(fontsize="small")
