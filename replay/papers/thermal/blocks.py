"""The thermal challenge as tables, data and figures."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from monitor.text.blocks import Block, Column, Data, Figure, Points, Table, Text, Tone, words
from replay import Progress
from replay.papers.thermal.compliance import RULE, FailureProbability
from replay.papers.thermal.study import (
    RESAMPLED,
    VALIDATED,
    LevelStudy,
    RunFits,
    ThermalStudy,
    ToleranceResult,
    run_study,
)
from replay.pictures import new_drawing
from sim.models import thermal_tables as tables
from sim.models.thermal_population import Characterization, Conductivity, PropertyFit
from sim.models.thermal_slab import SlabTest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

_METRICS = ("instantaneous", "first_passage", "accumulated")


def run(arguments: argparse.Namespace, progress: Progress) -> Iterator[Block]:
    """Run the study with the options."""
    study = run_study(
        n_realizations=arguments.realizations,
        n_resampled=RESAMPLED if arguments.resampled is None else arguments.resampled,
        seed=arguments.seed,
        progress=progress,
    )
    return study_blocks(study)


def study_blocks(study: ThermalStudy) -> Iterator[Block]:
    """Yield every table of results of the paper next to ours, and the decision at each level of data.

    In JSON all is in SI and degC.
    """
    levels = {each.level: each for each in study.levels}
    yield Data({
        "study": "thermal",
        "realizations": study.n_units,
        "bootstrap_data_sets": study.n_resampled,
        "specimens": study.n_specimens,
        "table2_max_error": study.table2_max_error,
    })  # fmt: skip
    yield Text(_sources())
    check = (("paper", "paper"), ("ours", "ours"))
    yield Table(
        "Table 2: eq. 2 on the front of the slab of Table 1, degC",
        (
            Column("time", "s", "g", key="time_s"),
            *(Column(title, form=".6f", key=key) for title, key in check),
            Column("difference", form=".1e"),
        ),
        [(*row, row[2] - row[1]) for row in study.check.tolist()],
        key="table2",
    )
    yield from _convergence(study)
    yield from map(_properties, study.levels)
    yield _fits(study.fits)
    yield Data({
        "fits": study.fits,
        "characterization": {name: _characterization(each.characterization) for name, each in levels.items()},
        "validation": {name: _activity(each.validation) for name, each in levels.items()},
        "accreditation": {name: _activity(each.accreditation) for name, each in levels.items()},
        "share_of_model_cooler_at_the_end": {name: each.share_cooler for name, each in levels.items()},
        "failure_probability": {
            name: {which: _failure(found) for which, found in each.failure.items()} for name, each in levels.items()
        },
        "decision_rule": RULE,
        "decision": {name: _decision_record(each) for name, each in levels.items()},
        "bias_correction": {
            name: asdict(each.bias) | {"extrapolates": each.bias.extrapolates} for name, each in levels.items()
        },
    })  # fmt: skip
    yield Figure("thermal-parameter-space", parameter_space)
    yield Figure("thermal-material", partial(properties, study))
    yield _reliability(
        "validation on the fronts of configurations 1 to 4", {name: each.validation for name, each in levels.items()}
    )
    yield _reliability("accreditation at three depths", {name: each.accreditation for name, each in levels.items()})
    yield Text(
        "within: the tolerance, a share of the measured temperature in degC. Time zero, where model and specimen "
        f"agree, is left out. Each value is of {study.n_specimens} specimens of the model; its standard error is "
        f"{0.5 / sqrt(study.n_specimens):.2g} or less."
    )
    yield Figure("thermal-validation", partial(validation, study))
    yield Figure("thermal-accreditation", partial(accreditation, study))
    yield _decision(study)
    yield Text(
        f"Monte Carlo: ± one standard error (Agresti and Coull's). Bootstrap: quadrature with {study.n_resampled} "
        "data sets as they might have been measured. These three columns are of normal properties; lognormal and "
        "resampled (each property as it was measured) are by quadrature."
    )
    yield Text(RULE)
    for level in study.levels:
        verdict, *grounds = level.statement.splitlines()
        yield Text(verdict, Tone.HEADING)
        yield Points(tuple(grounds))
    yield _bias_correction(study)
    yield Figure("thermal-decision", partial(decision, study))


def _convergence(study: ThermalStudy) -> Iterator[Block]:
    found = study.convergence
    keys = "n_cells", "error_constant", "error_temperature_dependent"
    values = found.n_cells, found.constant, found.temperature_dependent
    yield Data({"convergence": dict(zip(keys, values, strict=True))})
    columns = Column("cells and steps"), Column("constant k", form=".4f"), Column("k(T)", form=".4f")
    title = "finite volumes: error of the front at 1000 s of the application, degC"
    yield Table(title, columns, list(zip(*values, strict=True)))


def _properties(level: LevelStudy) -> Table:
    known = level.characterization
    fits: Mapping[str, tuple[PropertyFit, float]] = {
        "k(T)": (known.line, 1.0),
        "k": (known.constant, 1.0),
        "rho C_p(T)": (known.capacity_line, 1e-6),
        "rho C_p": (known.capacity, 1e-6),
    }
    rows = []
    for name, (fit, unit) in fits.items():
        coefficients = [
            _within(factor * value, factor * low, factor * high)
            for factor, value, (low, high) in zip((unit, 1e3 * unit), fit.coefficients, fit.interval(), strict=False)
        ]
        low, high = fit.deviation_interval()
        deviation = _within(unit * fit.residual_deviation, unit * low, unit * high)
        p_value = fit.slope_p_value if np.isfinite(fit.slope_p_value) else ""
        rows.append((name, *[*coefficients, ""][:2], deviation, p_value))
    columns = words("fit"), Column("at 0 degC"), Column("slope per 1000 degC"), Column("deviation")
    return Table(
        f"{level.level} (Table 4): k in W/(m K), rho C_p in MJ/(m^3 K), with 95 % confidence; representative k at "
        f"{known.representative_temperature:.0f} degC",
        (*columns, Column("p of slope", form=".2g")),
        rows,
    )


def _within(value: float, low: float, high: float) -> str:
    return f"{value:.4f} ({low:.4f} to {high:.4f})"


def _fits(fits: RunFits) -> Table:
    """Return the specimen that fits each run, by each model, and how well."""
    rows = []
    for name in next(iter(fits.values())):
        for place, runs in enumerate(zip(*(fitted[name] for fitted in fits.values()), strict=True), 1):
            cells: list[object] = []
            for run in runs:
                cells.append(f"{run.conductivity:.4f} ± {run.conductivity_standard_error:.4f}")
                cells.append(f"{1e-6 * run.heat_capacity:.4f} ± {1e-6 * run.heat_capacity_standard_error:.4f}")
                cells.append(run.rms)
            rows.append((f"{name}.{place}", *cells))
    columns = [Column(f"{which.label}:\n{title}", form=".2f") for which in fits for title in ("k", "rho C_p", "rms")]
    title = "each run of Table 6 fitted by a specimen of its own: k at 0 degC, rho C_p, and the rms left in degC"
    return Table(title, (words("run"), *columns), rows)


def _reliability(title: str, levels: Mapping[str, Mapping[Conductivity, tuple[ToleranceResult, ...]]]) -> Table:
    """Return first-passage and accumulated reliability of an activity at every level."""
    rows: list[Sequence[object]] = []
    for level, models in levels.items():
        for which, reliabilities in models.items():
            for place, found in enumerate(reliabilities):
                cells = [
                    " ".join(f"{getattr(curves, metric).value[-1]:.2f}" for metric in _METRICS[1:])
                    for curves in found.all.values()
                ]
                rows.append(("" if place else f"{level}, {which.label}", found.tolerance, *cells))
    names = next(iter(next(iter(levels.values())).values()))[0].all
    return Table(
        f"{title}: first-passage and accumulated reliability over all instants",
        (words("level, model"), Column("within", "%", "g", 100.0), *map(Column, names)),
        rows,
    )


def _decision(study: ThermalStudy) -> Table:
    """Return the share of too hot units, every way."""
    rows: list[Sequence[object]] = []
    for level in study.levels:
        for place, (which, found) in enumerate(level.failure.items()):
            low, high = found.interval
            others = [value for family, value in found.families.items() if family != "normal"]
            drawn = f"{found.value:.4f} ± {found.standard_error:.4f}"
            name = "" if place else level.level
            rows.append((name, which.label, drawn, found.quadrature, f"{low:.3f} to {high:.3f}", *others))
    columns = words("level"), words("k"), Column("Monte Carlo"), Column("quadrature", form=".4f")
    return Table(
        "share of the units over 900 degC at 1000 s; allowed: 0.01; ± one standard error",
        (*columns, Column("bootstrap\n5 to 95 %"), Column("lognormal", form=".3f"), Column("resampled", form=".3f")),
        rows,
    )


def _bias_correction(study: ThermalStudy) -> Table:
    rows = []
    for level in study.levels:
        found = level.bias
        bootstrap = f"{found.low:.3f} to {found.high:.3f}"
        rise = f"{found.farthest_rise:.0f}, {found.rise:.0f}"
        flux = f"{found.farthest_flux:.0f}, {found.flux:.0f}"
        rows.append((level.level, found.shift, found.probability, bootstrap, rise, flux))
    columns = words("level"), Column("shift", "degC", ".1f"), Column("share too hot", form=".3f")
    titles = "bootstrap of\nruns, 5 to 95 %", "rise [K]: runs,\napplication", "flux [W/m^2]:\nruns, application"
    title = "constant k, corrected by what eq. 2 misses in the runs on the average: an extrapolation"
    return Table(title, (*columns, *map(Column, titles)), rows)


def _sources() -> str:
    """Return what the numbers of tables, equations and configurations are."""
    tests = tables.configurations()
    told = {name: f"{test.flux:g} W/m^2, {1e3 * test.thickness:g} mm" for name, test in tests.items()}
    numbered = "; ".join(f"{name}: {told[name]}" for name in "1234")
    return (
        "Numbers of tables and equations are those of Dowding, Pilch and Hills (2006): eq. 1 is the requirement, "
        "eq. 2 the temperature with constant properties, Table 4 the material, Table 6 the runs of validation, Table "
        f"8 those of accreditation. Configurations: {numbered}; accreditation: {told[tables.ACCREDITATION]}; "
        f"application: {told[tables.APPLICATION]}. Run 2.3 is the third of configuration 2."
    )


def _characterization(found: Characterization) -> dict[str, Any]:
    fits = {"conductivity_line": found.line, "conductivity": found.constant}
    fits |= {"heat_capacity_line": found.capacity_line, "heat_capacity": found.capacity}
    return {
        "representative_temperature": found.representative_temperature,
        **{name: _fit(fit) for name, fit in fits.items()},
    }


def _fit(fit: PropertyFit) -> dict[str, Any]:
    return {
        "coefficients": fit.coefficients,
        "standard_errors": fit.standard_errors,
        "interval_95": fit.interval(),
        "residual_deviation": fit.residual_deviation,
        "residual_deviation_95": fit.deviation_interval(),
        "slope_p_value": fit.slope_p_value,
    }


def _activity(reliabilities: Mapping[Conductivity, tuple[ToleranceResult, ...]]) -> dict[str, Any]:
    return {which: [_at_tolerance(each) for each in found] for which, found in reliabilities.items()}


def _at_tolerance(found: ToleranceResult) -> dict[str, Any]:
    return {
        "tolerance": found.tolerance,
        "first_instant_left_out": True,
        **{
            name: {metric: getattr(curves, metric).value[-1] for metric in _METRICS}
            | {"standard_error": {metric: getattr(curves, metric).standard_error[-1] for metric in _METRICS}}
            for name, curves in found.all.items()
        },
    }


def _failure(found: FailureProbability) -> dict[str, float]:
    low, high = found.interval
    return {
        "value": found.value,
        "standard_error": found.standard_error,
        "quadrature": found.quadrature,
        "bootstrap_05": low,
        "bootstrap_95": high,
    }


def _decision_record(level: LevelStudy) -> dict[str, Any]:
    return {
        "statement": level.statement,
        "verdict": level.verdict,
        "share_of_resampled_data_that_comply": {
            which: found.share_complying for which, found in level.failure.items()
        },
        "other_families": {which: found.families for which, found in level.failure.items()},
    }


# points to the right of a mark and above it
_TEXT_OFFSET = (9.0, 5.0)
_COLOURS = dict(zip(Conductivity, ("tab:orange", "tab:green", "tab:blue"), strict=True))
# the level whose data the first three pictures show
_LEVEL = tables.LEVELS[-1]
# of the specimens that a band leaves out at each side
_TAIL = 0.05
_SHARE = f"{100.0 * (1.0 - 2.0 * _TAIL):.0f} %"
_DRAWN = 1000
_SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


def parameter_space() -> Drawing:
    """Draw flux over thickness of every configuration, with how many experiments the level High has there."""
    tests, level = tables.configurations(), tables.LEVELS[-1]
    of_validation = tables.validation_runs(level)
    n_accreditation = tables.accreditation_runs(level)["front"].temperature.shape[1]
    figure = new_drawing(7.0, 4.6)
    axis = figure.subplots()
    for name, runs in of_validation.items():
        words = f"{name}: {runs.temperature.shape[1]} experiments"
        _mark(figure, tests[name], "o", "tab:blue", words, "ensemble validation" if name == "1" else "")
    _mark(figure, tests[tables.ACCREDITATION], "s", "tab:green", f"{n_accreditation} experiments", "accreditation")
    _mark(figure, tests[tables.APPLICATION], "*", "tab:red", "no experiment", "application")
    axis.set(xlabel="thickness [cm]", ylabel="heat flux [W/m²]", xlim=(1.0, 3.1), ylim=(500.0, 4000.0))
    axis.set_title(f"Level {level}: the application is an extrapolation in flux")
    axis.grid(alpha=0.3)
    axis.legend(fontsize="small", loc="upper left")
    return figure


def _mark(figure: Drawing, test: SlabTest, mark: str, colour: str, words: str, label: str) -> None:
    (axis,) = figure.axes
    at = 100.0 * test.thickness, test.flux
    axis.plot(*at, mark, color=colour, markersize=11.0, label=label or "_nolegend_")
    axis.annotate(words, at, _TEXT_OFFSET, textcoords="offset points", fontsize="small")


def properties(study: ThermalStudy) -> Drawing:
    """Draw the material's data at one level and the population that is assumed."""
    known, data = study.levels[-1].characterization, tables.material(_LEVEL)
    number = len(data.temperature)
    figure = new_drawing(11.0, 3.8, f"Level {_LEVEL}: {number} specimens (Table 4), and the assumed population")
    axes = figure.subplots(1, 2)
    ends = np.array([0.0, 1000.0])
    rows = (
        (data.conductivity, known.line, known.constant, "conductivity [W/(m K)]"),
        (data.heat_capacity, known.capacity_line, known.capacity, "heat capacity [J/(m³ K)]"),
    )
    for axis, (values, line, constant, label) in zip(axes, rows, strict=True):
        axis.plot(data.temperature, values, "k.", label="measured")
        for fit, colour, name in ((line, "tab:blue", "line"), (constant, "tab:orange", "constant")):
            mean = np.array([fit.at(end) for end in ends])
            axis.plot(ends, mean, color=colour, label=f"{name} ± deviation")
            deviation = fit.residual_deviation
            axis.fill_between(ends, mean - deviation, mean + deviation, color=colour, alpha=0.15, linewidth=0.0)
        axis.set(xlabel="temperature [°C]", ylabel=label)
        axis.grid(alpha=0.3)
        axis.legend(fontsize="small")
    return figure


def validation(study: ThermalStudy) -> Drawing:
    """Draw the measured fronts over the predictions of two models."""
    title = f"Level {_LEVEL}: fronts measured (Table 6), and {_SHARE} of the specimens of two models"
    figure = new_drawing(11.0, 7.6, title)
    axes = figure.subplots(2, 2, sharex=True)
    for axis, (name, runs) in zip(axes.ravel(), tables.validation_runs().items(), strict=True):
        test = tables.configurations()[name]
        _experiments(axis, study.levels[-1].characterization, test, runs, 0.0)
        axis.set_title(f"configuration {name}: {test.flux:g} W/m², {1e3 * test.thickness:g} mm", fontsize="medium")
    axes[0, 0].legend(fontsize="small")
    for axis in axes[1]:
        axis.set_xlabel("time [s]")
    for axis in axes[:, 0]:
        axis.set_ylabel("temperature of the front [°C]")
    return figure


def accreditation(study: ThermalStudy) -> Drawing:
    """Draw the measurements at three depths over the predictions of two models."""
    test = tables.configurations()[tables.ACCREDITATION]
    figure = new_drawing(
        11.0,
        4.2,
        f"Level {_LEVEL}: accreditation (Table 8), {test.flux:g} W/m², {1e3 * test.thickness:g} mm, "
        f"and {_SHARE} of the specimens of two models",
    )
    axes = figure.subplots(1, len(tables.DEPTHS))
    for axis, (name, depth) in zip(axes, tables.DEPTHS.items(), strict=True):
        _experiments(axis, study.levels[-1].characterization, test, tables.accreditation_runs()[name], depth)
        axis.set_title(name, fontsize="medium")
        axis.set_xlabel("time [s]")
    axes[0].legend(fontsize="small")
    axes[0].set_ylabel("temperature [°C]")
    return figure


def _experiments(
    axis: Axes, known: Characterization, test: SlabTest, runs: tables.MeasuredRuns, depth: float
) -> None:
    """Draw the measurements over the predictions of the two models: an area for k(T), two lines for constant k."""
    for which in VALIDATED:
        specimens = known.population(which).sample(np.random.default_rng(1), _DRAWN)
        low, high = np.quantile(specimens.temperature(test, runs.time, (depth,))[:, 0], [_TAIL, 1.0 - _TAIL], axis=1)
        colour, words = _COLOURS[which], which.label
        if which is Conductivity.CONSTANT:
            axis.plot(runs.time, low, "--", color=colour, label=words)
            axis.plot(runs.time, high, "--", color=colour)
        else:
            axis.fill_between(runs.time, low, high, color=colour, alpha=0.3, linewidth=0.0, label=words)
    for line in axis.plot(runs.time, runs.temperature, "k", linewidth=1.0)[:1]:
        line.set_label("measured")
    axis.grid(alpha=0.3)


def decision(study: ThermalStudy) -> Drawing:
    """Draw the share of too hot units at each level, with its bootstrap interval."""
    from matplotlib.ticker import NullFormatter, PercentFormatter

    figure = new_drawing(8.0, 4.2)
    axis = figure.subplots()
    for place, which in enumerate(Conductivity):
        found = [level.failure[which] for level in study.levels]
        at = np.arange(len(found)) + 0.2 * (place - 1)
        values = np.array([each.quadrature for each in found])
        low, high = np.array([each.interval for each in found]).T
        error = np.maximum([values - low, high - values], 0.0)
        axis.errorbar(at, values, error, fmt="o", capsize=4.0, color=_COLOURS[which], label=which.label)
    axis.axhline(tables.ALLOWED, color="tab:red", label="allowed")
    axis.set_xticks(range(len(study.levels)), [level.level for level in study.levels])
    axis.set_xlim(-0.6, len(study.levels) - 0.4)
    axis.set_ylabel("units over 900 °C at 1000 s")
    axis.set_yscale("log")
    axis.set_ylim(0.5 * tables.ALLOWED, 1.0)
    axis.set_yticks(_SHARES)
    axis.yaxis.set_major_formatter(PercentFormatter(1.0, 0))
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.set_title("By quadrature, and 5 to 95 % of the bootstrap data sets", fontsize="medium")
    axis.grid(alpha=0.3, which="both")
    axis.legend(fontsize="small", ncols=2, loc="upper right")
    return figure
