"""The examples of the paper on time-domain reliability, with reference values, tables, and the paper's figures."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr

from monitor.messages.blocks import Samples
from monitor.reliability.curves import NAMES, Reliability
from monitor.reliability.ensemble import Ensemble, sort_ensemble
from monitor.reliability.site import SiteReliability
from monitor.reliability.tolerance import Tolerance, TolerancePolicy
from monitor.text.blocks import Block, Column, Data, Figure, Row, Table, Text, Tone, words
from replay import Progress, silent
from replay.pictures import new_drawing
from replay.simulations.models import ensemble_model, realizations
from replay.validation.validation import OF_WHAT
from sim.ensembles import EnsembleModel, replicates
from sim.models.beam import StochasticBeam

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

# for each of the two dimensions; twice as many change the result by less than one realization
_NODES = 48


@dataclass(frozen=True, slots=True, eq=False)
class Oracle:
    """The reliabilities over the instants, (n_times,) each.

    Parameters
    ----------
    instantaneous, first_passage, accumulated : the values.
    errors : their standard errors at the last instant, in that order; zero where a value is exact.
    method : in words.
    """

    instantaneous: Samples
    first_passage: Samples
    accumulated: Samples
    errors: tuple[float, float, float]
    method: str


def oracle(model: EnsembleModel, response: Samples, measured: Samples, tolerance: Samples) -> Oracle:
    """Return the reliabilities by the definition, and those of the beam by quadrature where that can be.

    Parameters
    ----------
    model : the model that is validated.
    response : (n_times, n_realizations), an ensemble that is independent of the validated one.
    measured, tolerance : (n_times, n_replicates).
    """
    steps = np.arange(1, len(measured) + 1)
    n_realizations = response.shape[1]
    instantaneous, first_passage = np.zeros((2, len(measured)))
    # of each realization, at the last instant
    at_end = np.zeros((3, n_realizations))
    for measurement, eps in zip(measured.T, tolerance.T, strict=True):
        within = np.abs(response - measurement[:, None]) < eps[:, None]
        at_end[[0, 2]] += within[-1], within.mean(axis=0)
        instantaneous += within.mean(axis=1)
        survives = np.logical_and.accumulate(within, axis=0)
        at_end[1] += survives[-1]
        first_passage += survives.mean(axis=1)
    n_replicates = measured.shape[1]
    instantaneous, first_passage = instantaneous / n_replicates, first_passage / n_replicates
    accumulated = np.cumsum(instantaneous) / steps
    errors = [float(share.std(ddof=1)) / n_realizations**0.5 / n_replicates for share in at_end]
    method = f"the definition, on {n_realizations} other realizations"
    if isinstance(model, StochasticBeam):
        instantaneous = instantaneous_by_quadrature(model, measured, tolerance).mean(axis=1)
        accumulated = np.cumsum(instantaneous) / steps
        errors[0] = errors[2] = 0.0
        method = f"Gauss-Hermite quadrature; first-passage: {method}"
    return Oracle(instantaneous, first_passage, accumulated, (errors[0], errors[1], errors[2]), method)


def instantaneous_by_quadrature(
    beam: StochasticBeam, measured: Samples, tolerance: Samples, nodes: int = _NODES
) -> Samples:
    """Return the probability that the beam is within the tolerance, (n_times, n_replicates).

    Given width and height the deflection is normal, so that only the section is to be integrated over: by
    Gauss-Hermite in the standard normal deviates of both logarithms.

    Parameters
    ----------
    beam : the model.
    measured, tolerance : (n_times, n_replicates), m.
    nodes : of each of the two dimensions.
    """
    (widths, weights), (heights, _) = beam.width.nodes(nodes), beam.height.nodes(nodes)
    total: Samples = np.zeros(measured.shape)
    for width, of_width in zip(widths.tolist(), weights.tolist(), strict=True):
        for height, of_height in zip(heights.tolist(), weights.tolist(), strict=True):
            mean, deviation = beam.conditional(width, height)
            away, spread = measured - mean[:, None], deviation[:, None]
            within = ndtr((away + tolerance) / spread) - ndtr((away - tolerance) / spread)
            total += of_width * of_height * within
    return total


TOLERANCES = (0.08, 0.16)
THRESHOLDS = tuple(np.round(np.arange(0.02, 0.31, 0.04), 2).tolist())
REPLICATES = 3
REALIZATIONS = {"beam": 100_000, "sandia": 10_000}
# of a response that crosses zero nothing is within a fraction of itself
POLICIES = {"beam": TolerancePolicy.LITERAL, "sandia": TolerancePolicy.FLOORED}

# realizations that are recomputed for the oracle
_ORACLE_SHARE = 5
# of the instants, in the windowed reliability
_WINDOW_SHARE = 5


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A model, good or bad, at a tolerance.

    Parameters
    ----------
    bad : the measurements have a bias that the model does not know.
    tolerance, policy : how far it may be off.
    reliability : over the instants.
    oracle : of the same measurements; None where there is none.
    """

    bad: bool
    tolerance: float
    policy: TolerancePolicy
    reliability: Reliability
    oracle: Oracle | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ReliabilityStudy:
    """The example as a whole.

    Parameters
    ----------
    name : beam or sandia.
    ensemble : of the model.
    good, bad : measurements that the model describes well and badly, (n_times, n_replicates) each.
    cases : good and bad, at both tolerances.
    literal : the same with the tolerance as it is printed; empty where the cases are so.
    thresholds : good cases at many tolerances.
    """

    name: str
    ensemble: Ensemble
    good: Samples
    bad: Samples
    cases: tuple[Case, ...]
    literal: tuple[Case, ...]
    thresholds: tuple[Case, ...]


def run_study(
    name: str,
    *,
    n_realizations: int | None = None,
    n_replicates: int = REPLICATES,
    seed: int = 1,
    policy: TolerancePolicy | None = None,
    progress: Progress = silent,
) -> ReliabilityStudy:
    """Simulate the ensemble and the experiments, and validate the model with them.

    Parameters
    ----------
    name : beam or sandia.
    n_realizations : by default as many as are computed in some seconds; all are held in memory.
    n_replicates : experiments of each model.
    seed : of everything random.
    policy : of the tolerances; by default as printed for the beam, and floored for the structure, whose response
        starts at zero and crosses it.
    progress : called with the task, how much of it is done, and its total.

    Raises
    ------
    ValueError : there is no such example, or a number is out of range.
    """
    model = ensemble_model(name)
    m = REALIZATIONS[name] if n_realizations is None else n_realizations
    if m < 2 or n_replicates < 1:
        raise ValueError(f"{m} realizations and {n_replicates} replicates: a study needs two and one at least")
    policy = POLICIES[name] if policy is None else policy
    response = simulated(model, m, seed, progress)
    ensemble = sort_ensemble(model.time, response, model.unit, model.quantity)
    fresh = simulated(model, max(2, m // _ORACLE_SHARE), seed + 1, progress)
    good, bad = (replicates(model, n_replicates, seed, bad=is_bad) for is_bad in (False, True))

    def case(is_bad: bool, share: float, policy: TolerancePolicy, *, checked: bool = False) -> Case:
        measured = bad if is_bad else good
        tolerance = Tolerance.from_records(policy, share, measured)
        instants = np.arange(len(measured))
        site = SiteReliability(ensemble, tolerance, n_replicates, max(1, len(measured) // _WINDOW_SHARE))
        found = site.update(instants, measured).reliability
        known = oracle(model, fresh, measured, tolerance.evaluate(instants, measured)) if checked else None
        return Case(is_bad, share, policy, found, known)

    pairs = [(is_bad, share) for is_bad in (False, True) for share in TOLERANCES]
    cases = tuple(case(*pair, policy, checked=True) for pair in pairs)
    literal = tuple(case(*pair, TolerancePolicy.LITERAL) for pair in pairs if policy is not TolerancePolicy.LITERAL)
    thresholds = tuple(case(False, share, policy) for share in THRESHOLDS)
    return ReliabilityStudy(name, ensemble, good, bad, cases, literal, thresholds)


def simulated(model: EnsembleModel, n_realizations: int, seed: int, progress: Progress = silent) -> Samples:
    """Return (n_times, n_realizations), made on all cores.

    Raises
    ------
    ValueError : there is no room for them in memory, or see `realizations`.
    """
    try:
        response: Samples = np.empty((len(model.time), n_realizations))
    except (MemoryError, ValueError) as problem:
        raise ValueError(
            f"{n_realizations} realizations of {len(model.time)} instants do not fit into memory: take fewer"
        ) from problem
    done = 0
    for block in realizations(model, n_realizations, seed):
        response[:, done : done + block.shape[1]] = block
        done += block.shape[1]
        progress("realizations", done, n_realizations)
    return response


_METRICS = {name: name.replace("_", "-") for name in NAMES[:3]}
_MUST = "what it must be"
_FIRST_FIGURE = {"beam": 5, "sandia": 15}
_DRAWN = 40  # realizations
_COLOURS = {"ours": "tab:blue", "oracle": "tab:orange"}
# of the colour map's length: its end is too light for a line
_DARK = 0.9


def run(arguments: argparse.Namespace, progress: Progress) -> Iterator[Block]:
    """Run the study with the options."""
    study = run_study(
        arguments.name,
        n_realizations=arguments.realizations,
        n_replicates=REPLICATES if arguments.replicates is None else arguments.replicates,
        seed=arguments.seed,
        policy=None if arguments.policy is None else TolerancePolicy(arguments.policy),
        progress=progress,
    )
    return study_blocks(study)


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
