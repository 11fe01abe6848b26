"""The reliability examples as tables, data and figures, with the numbers of the paper's figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from monitor.reliability.curves import NAMES
from monitor.text.blocks import Block, Column, Data, Figure, Row, Table, Text, Tone, words
from replay.papers.reliability.study import Case, ReliabilityStudy
from replay.pictures import new_drawing
from replay.validation.records import OF_WHAT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

_METRICS = {name: name.replace("_", "-") for name in NAMES[:3]}
_MUST = "what it must be"
_FIRST_FIGURE = {"beam": 5, "sandia": 15}
_DRAWN = 40  # realizations
_COLOURS = {"ours": "tab:blue", "oracle": "tab:orange"}
# of the colour map's length: its end is too light for a line
_DARK = 0.9


def study_blocks(study: ReliabilityStudy) -> Iterator[Block]:
    """Yield the cases at the end of the horizon, each with its oracle, and how the tolerance decides."""
    ensemble, of_what = study.ensemble, OF_WHAT[study.cases[0].policy]
    m, n, end = ensemble.n_realizations, study.good.shape[1], float(ensemble.time[-1])
    yield Data({
        "study": study.name,
        "quantity": ensemble.name,
        "unit": ensemble.unit,
        "realizations": m,
        "replicates": n,
        "horizon_s": end,
        "cases": [_record(case) for case in study.cases],
        "as_printed": [_record(case) for case in study.literal],
        "tolerances": [_record(case) for case in study.thresholds],
    })  # fmt: skip
    yield Text(f"{ensemble.name}: {m} realizations, {n} replicates, at {end:g} s")
    yield _table(f"reliability ± standard error; tolerance: a share {of_what}", study.cases)
    known = study.cases[0].oracle
    if known is not None:
        yield Text(f"{_MUST}: {known.method}")
    if study.literal:
        of_what = OF_WHAT[study.literal[0].policy]
        yield _table(f"tolerance as the paper prints it: a share {of_what}", study.literal)
    yield _table("good model, by tolerance", study.thresholds)
    number, name = _FIRST_FIGURE[study.name], study.name
    good, bad = ([case for case in study.cases if case.bad is is_bad] for is_bad in (False, True))
    yield Figure(f"{name}-responses", partial(_responses, study, number))
    yield Figure(f"{name}-good", partial(_reliabilities, good, study, number + 1))
    yield Figure(f"{name}-bad", partial(_reliabilities, bad, study, number + 4))
    yield Figure(f"{name}-tolerances", partial(_tolerances, study, number + 7 if name == "beam" else None))


def _record(case: Case) -> dict[str, Any]:
    curves = {name: getattr(case.reliability, name) for name in _METRICS}
    found: dict[str, Any] = {
        "model": "bad" if case.bad else "good",
        "tolerance": case.tolerance,
        "policy": case.policy,
        **{name: curve.value[-1] for name, curve in curves.items()},
        "standard_error": {name: curve.standard_error[-1] for name, curve in curves.items()},
    }
    if case.oracle is not None:
        known = {name: getattr(case.oracle, name)[-1] for name in _METRICS}
        errors = dict(zip(_METRICS, case.oracle.errors, strict=True))
        found["oracle"] = {**known, "standard_error": errors, "method": case.oracle.method}
    return found


def _table(title: str, cases: Sequence[Case]) -> Table:
    rows: list[Sequence[object] | Row | None] = []
    for record in map(_record, cases):
        rows.append((record["model"], record["tolerance"], *_cells(record)))
        if "oracle" in record:
            rows.append(Row(("", _MUST, *_cells(record["oracle"])), Tone.ASIDE))
    return Table(title, (words("model"), Column("tolerance", "%", "g", 100.0), *map(Column, _METRICS.values())), rows)


def _cells(record: dict[str, Any]) -> list[str]:
    pairs = [(record[name], record["standard_error"][name]) for name in _METRICS]
    # an error of zero is that of an exact value, and keeps its place in the column
    return [f"{value:.4f} ± {error:.4f}" if error else f"{value:.4f}         " for value, error in pairs]


def _title(study: ReliabilityStudy, case: Case) -> str:
    model = "bad" if case.bad else "good"
    return f"{study.ensemble.name}, {model} model; tolerance: λ {OF_WHAT[case.policy]}"


def _responses(study: ReliabilityStudy, number: int) -> Drawing:
    drawn = study.ensemble.response[:, :_DRAWN]
    m, n = study.ensemble.n_realizations, study.good.shape[1]
    title = f"{study.ensemble.name}: {drawn.shape[1]} of {m} realizations, and {n} experiments of each kind"
    figure = new_drawing(11.0, 3.8, title)
    axes = figure.subplots(1, 2, sharey=True)
    for axis, letter, measured in zip(axes, "ab", (study.good, study.bad), strict=True):
        axis.plot(study.ensemble.time, drawn, color="tab:blue", alpha=0.25, linewidth=0.6)
        # a line of its own for the legend, where a faint one could not be seen
        axis.plot([], [], color="tab:blue", label="model")
        for line in axis.plot(study.ensemble.time, measured, color="black", linewidth=1.1)[:1]:
            line.set_label("measured")
        axis.set_title(f"Fig. {number} ({letter}): {'good' if letter == 'a' else 'bad'} model", fontsize="medium")
        axis.set_xlabel("time [s]")
        axis.legend(fontsize="small", loc="best")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel(f"response [{study.ensemble.unit}]")
    return figure


def _reliabilities(cases: Sequence[Case], study: ReliabilityStudy, number: int) -> Drawing:
    figure = new_drawing(11.0, 7.6, _title(study, cases[0]))
    axes = figure.subplots(3, 2, sharex=True, squeeze=False)
    for row, (name, title) in enumerate(_METRICS.items()):
        for axis, letter, case in zip(axes[row], "ab", cases, strict=True):
            _compare(axis, study.ensemble.time, case, name)
            which = f"Fig. {number + row} ({letter}): {title}, λ = {100.0 * case.tolerance:g} %"
            axis.set_title(which, fontsize="medium")
    for axis in axes[-1]:
        axis.set_xlabel("time [s]")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, fontsize="small", loc="outside lower center", ncols=len(labels))
    return figure


def _compare(axis: Axes, time: np.ndarray, case: Case, name: str) -> None:
    curve = getattr(case.reliability, name)
    axis.plot(time, curve.value, color=_COLOURS["ours"], linewidth=1.4, label="online, with two standard errors")
    low, high = curve.value - 2.0 * curve.standard_error, curve.value + 2.0 * curve.standard_error
    axis.fill_between(time, low, high, color=_COLOURS["ours"], alpha=0.3, linewidth=0.0)
    if case.oracle is not None:
        known = getattr(case.oracle, name)
        axis.plot(time, known, "--", color=_COLOURS["oracle"], linewidth=1.0, label=case.oracle.method)
    axis.set_ylim(-0.03, 1.03)
    axis.set_ylabel("reliability [-]")
    axis.grid(alpha=0.3)


def _tolerances(study: ReliabilityStudy, number: int | None) -> Drawing:
    from matplotlib import colormaps

    figure = new_drawing(11.0, 3.8, _title(study, study.thresholds[0]))
    axes = figure.subplots(1, 2, sharey=True)
    for place, (axis, name) in enumerate(zip(axes, ("first_passage", "accumulated"), strict=True)):
        for case in study.thresholds:
            colour = colormaps["viridis"](_DARK * case.tolerance / study.thresholds[-1].tolerance)
            value = getattr(case.reliability, name).value
            axis.plot(study.ensemble.time, value, color=colour, label=f"{100.0 * case.tolerance:g} %")
        title = _METRICS[name]
        axis.set_title(title if number is None else f"Fig. {number + place}: {title}", fontsize="medium")
        axis.set_xlabel("time [s]")
        axis.set_ylim(-0.03, 1.03)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("reliability [-]")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, title="λ", fontsize="small", loc="outside right center")
    return figure
