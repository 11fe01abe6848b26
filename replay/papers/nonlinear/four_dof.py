"""Four masses with a cubic spring: which spring is damaged, and what force does the model miss?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from monitor.messages.blocks import Samples
from monitor.text.blocks import Block, Column, Data, Figure, Table, Text, Tone, words
from monitor.text.numbers import DASH, number
from replay import Progress
from replay.papers.nonlinear import four_dof_fits as fits
from replay.papers.nonlinear.four_dof_fits import FourMassRecord, StiffnessFit
from replay.pictures import new_drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


RUNS = 20
_MOST_RUNS = 1000
# records of each variant: they show differences that are far larger than their scatter
_VARIANT_RUNS = 5
# percent of nominal: k1 is 100
_HELD = (100.0, 80.0)
# Hz: between the first and the second natural frequency
_BAND = 1.2


@dataclass(frozen=True, slots=True, eq=False)
class FourMassStudy:
    """What the study found.

    Parameters
    ----------
    seed : of everything random.
    record : the first.
    parametric : of each record, the cubic spring known.
    joint : of each record, stiffnesses and the force on mass 1 unknown together.
    laws : of the force recovered from the first record, with k1 held where it is and where it is not.
    confirmed : the first record with the law that the recovered force suggests: `k1` to `k4` and `alpha1` fitted.
    variants : other ways, with (runs, 4) percent of nominal that they find; NaN for what cannot be identified.
    """

    seed: int
    record: FourMassRecord
    parametric: tuple[StiffnessFit, ...]
    joint: tuple[fits.JointEstimate, ...]
    laws: tuple[fits.ForceLaw, ...]
    confirmed: StiffnessFit
    variants: tuple[tuple[Way, Samples], ...]


def identify_four_masses(runs: int, seed: int, progress: Progress) -> FourMassStudy:
    """Identify each record in both ways, and some of them in others.

    Parameters
    ----------
    runs : records, each with a force and noise of its own.
    seed : of everything random.
    progress : receives the task, the amount done and the total.

    Raises
    ------
    ValueError : the number of runs is out of range.
    """
    if not 1 <= runs <= _MOST_RUNS:
        raise ValueError(f"--runs {runs}: give 1 to {_MOST_RUNS}")
    records = [fits.simulate_record(seed, run) for run in range(runs)]
    # kernels are compiled, or read from their cache
    fits.fit_stiffness(records[0])
    fits.identify_jointly(records[0])
    parametric, joint = [], []
    for run, record in enumerate(records):
        parametric.append(fits.fit_stiffness(record))
        joint.append(fits.identify_jointly(record))
        progress("records", run + 1, runs)
    laws = tuple(fits.recover_law(records[0], held) for held in _HELD)
    number = min(runs, _VARIANT_RUNS)
    variants = []
    for done, way in enumerate(_WAYS):
        variants.append((way, np.array([way.percent(seed, run) for run in range(number)])))
        progress("variants", done + 1, len(_WAYS))
    return FourMassStudy(
        seed, records[0], tuple(parametric), tuple(joint), laws,
        fits.fit_stiffness(records[0], free=(*fits.SPRINGS, "alpha1")), tuple(variants),
    )  # fmt: skip


class Way(NamedTuple):
    """How stiffnesses are found, and of which records; the cubic law is known, ignored, or a force found as well."""

    features: str
    law: str
    identify: Callable[[FourMassRecord], StiffnessFit | fits.JointEstimate]
    noise: float = 0.01
    sensors: tuple[int, ...] = fits.SENSORS
    band: float | None = None

    def percent(self, seed: int, run: int) -> Samples:
        """Return the stiffnesses of a record, (4,)."""
        return self.identify(
            fits.simulate_record(seed, run, noise=self.noise, sensors=self.sensors, band=self.band)
        ).percent


KNOWN, _UNKNOWN = "known", "unknown"


_WAYS = (
    *(Way("histories", KNOWN, fits.fit_stiffness, noise) for noise in (0.01, 0.05, 0.2)),
    *(Way("histories", KNOWN, fits.fit_stiffness, sensors=sensors) for sensors in ((1, 4), (4,))),
    *(
        Way("components", KNOWN, partial(fits.fit_stiffness, metric=fits.principal_components), noise)
        for noise in (0.01, 0.2)
    ),
    Way("histories", "ignored", partial(fits.fit_stiffness, cubic_known=False)),
    *(Way("likelihood", _UNKNOWN, fits.identify_jointly, noise) for noise in (0.05, 0.2)),
    Way("likelihood", _UNKNOWN, fits.identify_jointly, sensors=(3, 4)),
    *(Way(name, KNOWN, partial(fits.fit_reduced, reduction=name)) for name in fits.REDUCTIONS),
    Way(f"SEREP below {_BAND:g} Hz", KNOWN, partial(fits.fit_reduced, reduction="SEREP"), band=_BAND),
)


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


def study_blocks(study: FourMassStudy) -> Iterator[Block]:
    """Yield what each way found, beside the paper.

    In JSON everything but `seconds` is the same for the same seed and number of runs.
    """
    yield Data(_record(study))
    runs, record = len(study.parametric), study.record
    yield Text(
        _BEGINNING.format(
            sensors=", ".join(map(str, record.sensors)),
            n=len(record.time),
            duration=record.time[-1],
            noise=round(100.0 * float(np.mean(record.noise / record.rms)), 1),
            damage=100.0 - record.actual_percent[2],
            runs="1 record" if runs == 1 else f"{runs} records, each with a force and noise of its own",
        )
    )
    yield _found(study)
    for line in study.joint[0].confounded:
        yield Text(f"{line}.", Tone.WARNING)
    yield _laws(study)
    yield Figure("four-dof-force", partial(force, study))
    yield _variants(study)


def _record(study: FourMassStudy) -> dict[str, Any]:
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
                "features": way.features,
                "sensors": ", ".join(map(str, way.sensors)),
                "noise_percent": 100.0 * way.noise,
                "cubic_law": way.law,
                "records": len(percent),
                "stiffness_percent": _named(percent.mean(axis=0)),
                "standard_deviation_percent": _named(_scatter(percent)),
            }
            for way, percent in study.variants
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


def _estimates(study: FourMassStudy, found: Sequence[StiffnessFit] | Sequence[fits.JointEstimate]) -> dict[str, Any]:
    percent, errors = _stacked(found)
    return {
        "stiffness_percent": _named(percent.mean(axis=0)),
        "standard_deviation_percent": _named(_scatter(percent)),
        "standard_error_percent": _named(errors.mean(axis=0)),
        "coverage_95": _named(_coverage(study, percent, errors)),
        "seconds": float(np.median([each.seconds for each in found])),
    }


def _stacked(found: Sequence[StiffnessFit] | Sequence[fits.JointEstimate]) -> tuple[Samples, Samples]:
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
    return dict(zip(fits.SPRINGS, np.asarray(values).tolist(), strict=True))


def _found(study: FourMassStudy) -> Table:
    confirmed = study.confirmed
    law = f"cubic {confirmed.percent[4]:.1f} ± {confirmed.standard_errors[4]:.1f} %"
    rows: list[Sequence[object] | None] = [
        ("truth", "", *_cells(study.record.actual_percent, ".1f"), ""), ("paper", "aim", None, None, "85", None,
        f"{_PAPER_HOURS:g} h"), None, *_of_records(study, "law known", study.parametric), None, *_of_records(study,
        "unknown, found too", study.joint), None, (f"fitted: {law}", "record 1", *_cells(confirmed.percent[:4],
        ".2f"), f"{confirmed.seconds:.2g} s"), ("", "standard error", *_cells(confirmed.standard_errors[:4], ".3f"),
        ""),
    ]  # fmt: skip
    return Table(
        "Stiffnesses found", (words("cubic spring"), words(), *map(Column, (*fits.SPRINGS, "one takes"))), rows
    )


def _of_records(
    study: FourMassStudy, name: str, found: Sequence[StiffnessFit] | Sequence[fits.JointEstimate]
) -> Iterator[Sequence[object]]:
    """Yield the rows of one way to find stiffnesses."""
    percent, errors = _stacked(found)
    n = len(percent)
    seconds = np.median([each.seconds for each in found])
    yield name, "mean", *_cells(percent.mean(axis=0), ".2f"), f"{seconds:.2g} s"
    if n > 1:
        yield "", "sd over records", *_cells(_scatter(percent), ".3f"), ""
    yield "", "mean standard error", *_cells(errors.mean(axis=0), ".3f"), ""
    inside = _coverage(study, percent, errors).tolist()
    yield "", "95 % has the truth", *(None if np.isnan(each) else f"{round(each * n)} of {n}" for each in inside), ""


def _laws(study: FourMassStudy) -> Table:
    rows = []
    for each in study.laws:
        a, b = (
            f"{value:.{places}f} ± {error:.{places}f}"
            for value, error, places in zip(
                each.fitted.coefficients, each.fitted.standard_errors, (2, 1), strict=True
            )
        )
        rows.append((f"{each.held:g} %", _linear(study, each.held), a, _cubic(study), b))
    titles = "a true", "a", "b true", "b"
    return Table(
        "Law a x + b x^3 of the force recovered from record 1 [N/m, N/m^3]",
        (words("k1 held at"), *(Column(title, form="g") for title in titles)),
        rows,
        "Fitted to the samples; k2 to k4 as found.",
    )


def _variants(study: FourMassStudy) -> Table:
    n = len(study.variants[0][1])
    rows = []
    for way, percent in study.variants:
        mean, scatter = percent.mean(axis=0), _scatter(percent)
        cells = [_with_scatter(*pair) for pair in zip(mean.tolist(), scatter.tolist(), strict=True)]
        features = way.features if way.law == KNOWN else f"{way.features}, {way.law}"
        rows.append((features, ", ".join(map(str, way.sensors)), f"{100.0 * way.noise:g} %", *cells))
    return Table(
        "Features, sensors, noise and reduced models",
        (words("features"), words("sensors"), words("noise"), *map(Column, fits.SPRINGS)),
        rows,
        f"Mean ± sd of {n} record{'s' * (n > 1)}; the cubic law is known, or ignored or unknown where that is added.",
    )


def _with_scatter(mean: float, scatter: float) -> str:
    if np.isnan(mean):
        return DASH
    digits = 1 if scatter >= 1.0 else 2
    return f"{mean:.{digits}f}±{scatter:.{digits}f}" if np.isfinite(scatter) else f"{mean:.{digits}f}"


def _cells(values: Samples, form: str) -> list[str]:
    return [number(each, form) for each in values.tolist()]


def force(study: FourMassStudy) -> Drawing:
    """Return the recovered force over time and over the displacement of mass 1, with its law."""
    figure = new_drawing(11.0, 8.0)
    figure.suptitle(
        "The force on mass 1 that the linear model is missing, found together with k2, k3 and k4\n"
        "Accelerations do not show a slow drift: the dots are shifted by it, and by the spring force that it takes"
    )
    grid = figure.add_gridspec(2, len(study.laws))
    record, displacement = study.record, study.record.motion.displacement[:, 0]
    cubic = float(np.asarray(record.actual.cubic)[0])
    one, axis = study.laws[0], figure.add_subplot(grid[0, :])
    recovered, deviation = one.recovered.force[:, 0], one.recovered.force_sd[:, 0]
    axis.fill_between(
        record.time, recovered - _REACH * deviation, recovered + _REACH * deviation, color="tab:blue", alpha=0.25,
        linewidth=0.0, label="band of 95 %",
    )  # fmt: skip
    axis.plot(record.time, recovered, color="tab:blue", label=f"recovered, k1 held at {one.held:g} %")
    axis.plot(record.time, cubic * displacement**3, "--", color="black", linewidth=1.0, label="true")
    axis.set(xlabel="time [s]", ylabel="force [N]")
    axis.legend(fontsize="small", loc="upper left", ncols=3)
    axis.grid(alpha=0.3)
    reach = 1.05 * np.abs(displacement).max()
    x = np.linspace(-reach, reach, 201)
    for column, each in enumerate(study.laws):
        axis = figure.add_subplot(grid[1, column])
        a, b = each.fitted.coefficients
        soft = float(np.asarray(record.actual.springs)[0]) - each.held
        moved = each.recovered.smoothed.displacement[:, 0]
        axis.plot(moved, each.recovered.force[:, 0], ".", color="tab:blue", markersize=3.0, label="recovered")
        axis.plot(x, a * x + b * x**3, color="tab:orange", linewidth=4.0, label=f"law: {a:.2f} x + {b:.1f} x³")
        axis.plot(
            x, soft * x + cubic * x**3, "--", color="black", linewidth=1.0, label=f"true: {soft:g} x + {cubic:g} x³"
        )
        axis.set_title(f"k1 held at {each.held:g} % of nominal", fontsize="medium")
        axis.set(xlabel="displacement of mass 1 [m]", ylabel="force [N]")
        axis.legend(fontsize="small", loc="upper left")
        axis.grid(alpha=0.3)
    return figure
