"""The force that a model is missing in a recorded run: recovered, with its band, its laws, doubts, a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import norm

from monitor.indicators.parts.sample_loop import LARGEST_SAMPLE
from monitor.messages.blocks import Samples, Stream
from replay import Progress, silent
from replay.formats import Recording
from replay.identification.force_model import ForceModel, channel_factor
from replay.pictures import new_drawing
from sim.arrays import Flags
from sim.laboratory.structure import highest_frequency
from sim.missing_force.law_fit import LawFit, find_laws, fit_law, force_by_laws, motion_by_law
from sim.missing_force.recovery import RecoveredForce, evidence_for, recover_force
from sim.missing_force.smoother import ForceProblem
from sim.missing_force.state_space import QUANTITIES, Sensor

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_BLOCK = 1 << 16
# more instants cost memory and add no information: means of several are taken
_MOST_INSTANTS = 120_000
_PER_PERIOD = 20.0
_FEWEST = 8
# of the logarithms of evidences: a force is there
_STRONG = 3.0
# residuals of a law over the noise: above, the law does not explain the record, and its standard errors mean nothing
LARGEST_RESIDUAL = 1.3
# residual or noise of a sensor over its signal, rms: above, the sensor contradicts the others or the model
_LARGEST_NOISE = 0.5
_UNEXPLAINED = "no law of the dictionary explains the record: the best one"
# of terms that a linear model has itself
_PARAMETERS = {"a": ("mass", "kg"), "v": ("damping", "N s/m"), "x": ("stiffness", "N/m")}
_ELSEWHERE = (
    "Look at the picture (--pictures): the force may have a shape that no term has, or depend on something else"
)
# intervals of samples: a force is not sought that is shorter than one
_SHORT = 1.2
# e-folds of an unstable model within the record
_UNSTABLE = 20.0


@dataclass(frozen=True, slots=True, eq=False)
class FoundForce:
    """What is missing in a record.

    Parameters
    ----------
    problem, recovered : in SI units.
    laws : that were tried, the best first; () where nothing is missing or none could be fitted.
    force, force_sd : (N, f) N, over the process and the laws that explain the record; NaN where it is not known.
    weights : (1 + l,), probabilities of the process and of each law.
    share : (f,) rms of each force over that of the elastic and missing force together at its place, 0 to 1.
    nothing : (f,) whether zero is within the band of the whole record (simultaneous, 95 %), and the samples are no
        evidence of a force.
    warnings, notes : a line each.
    """

    problem: ForceProblem
    recovered: RecoveredForce
    laws: tuple[LawFit, ...]
    force: Samples
    force_sd: Samples
    weights: Samples
    share: Samples
    nothing: tuple[bool, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def noise(self) -> Samples:
        """(s,) of the sensors: the most probable law's, or that of the force without one."""
        return self.laws[int(np.argmax(self.weights[1:]))].noise if self.weights[0] < 0.5 else self.recovered.sigma

    @property
    def sees_constant(self) -> bool:
        """Whether a sensor sees a force that is constant."""
        return any(each.quantity == "displacement" for each in self.problem.sensors)

    def residual(self, law: LawFit) -> float:
        """Return what a law leaves over the noise, rms; infinite where the model with it diverges."""
        samples = np.isfinite(np.asarray(self.problem.observed)).sum(axis=0)
        ratio = law.residual / self.noise
        return float(np.sqrt(samples @ ratio**2 / samples.sum())) if law.fit is not None else np.inf

    @property
    def sampled(self) -> Flags:
        """(N,) instants with a sample of a sensor and a known load; at the others the force is interpolated."""
        known = np.isfinite(np.asarray(self.problem.load)).all(axis=1)
        return np.asarray(known & np.isfinite(np.asarray(self.problem.observed)).any(axis=1))


def find_missing_force(recording: Recording, model: ForceModel, progress: Progress = silent) -> FoundForce:
    """Return the force that a model is missing in a recording.

    Raises
    ------
    ValueError : a channel is not there or has another unit, samples are too few, or the model diverges.
    """
    progress("reading", 0, 1)
    problem, sigma, notes, warnings = force_problem(recording, model)
    progress("reading", 1, 1)
    progress("force", 0, 2)
    recovered = recover_force(problem, sigma=sigma)
    progress("force", 1, 2)
    nothing = _nothing(problem, recovered)
    laws: tuple[LawFit, ...] = ()
    given = [place.law for place in model.missing]
    try:
        if any(law is not None for law in given):
            laws = (fit_law(problem, recovered, [law or () for law in given]),)
        elif not all(nothing):
            laws = find_laws(problem, recovered)
    except ValueError as reason:
        warnings += (f"no law was fitted: {reason}",)
    force, sd, weights = force_by_laws(problem, recovered, laws) if laws else (
        recovered.force, recovered.force_sd, np.ones(1),
    )  # fmt: skip
    progress("force", 2, 2)
    wide = np.flatnonzero(_BAND**2 * np.median(sd**2, axis=0) >= np.mean(force**2, axis=0)).tolist()
    unknown = recovered.unknown & (sd >= recovered.force_sd)
    force, sd = (np.where(unknown, np.nan, each) for each in (force, sd))
    some = unknown.any(axis=0) & ~unknown.all(axis=0)
    warnings += tuple(
        f"the force {model.missing[e].name} is not known at {unknown[:, e].sum()} of {len(unknown)} instants: the "
        "samples say no more of it than what is assumed before"
        for e in np.flatnonzero(some)
    )
    share = _share(problem, recovered)
    found = FoundForce(problem, recovered, laws, force, sd, weights, share, nothing, warnings, notes)
    doubts = (*warnings, *_doubts(model, found, wide))
    if weights[0] < 0.5:
        doubts += tuple(_wrong_parameters(model, problem, laws[0]))
    return replace(found, warnings=doubts)


def force_problem(
    recording: Recording, model: ForceModel
) -> tuple[ForceProblem, Samples | None, tuple[str, ...], tuple[str, ...]]:
    """Return the problem in SI units, noise where all of it is given, notes and warnings."""
    stream = recording.stream
    # that there are no actuators is no news here
    notes = [note for note in recording.notes if not note.startswith("no command and no measured")]
    structure = model.structure()
    sensors = [_column(stream, each.channel, f"sensor {i}") for i, each in enumerate(model.sensor, 1)]
    loads = [_column(stream, each.channel, f"load {i}") for i, each in enumerate(model.load, 1)]
    ground = [] if model.ground is None else [_column(stream, model.ground.channel, "ground")]
    used = [*sensors, *loads, *ground]
    unitless = sorted({
        stream.channels[at].name
        for at, each in zip(used, (*model.sensor, *model.load, model.ground), strict=False)
        if each is not None and not each.unit and not stream.channels[at].unit
    })  # fmt: skip
    if unitless:
        notes.insert(0, f"no unit is given for {', '.join(unitless)}: SI is assumed")
    values = _whole(recording, used)
    rate = stream.sample_rate
    frequency = highest_frequency(*structure.matrices[::2])
    together = -(-len(values) // _MOST_INSTANTS)
    if together > 1:
        if rate / together < _PER_PERIOD * frequency:
            raise ValueError(
                f"{len(values)} samples are too many for a highest mode of {frequency:.4g} Hz: give a part of them"
            )
        kept = len(values) // together * together
        values = values[:kept].reshape(-1, together, values.shape[1]).mean(axis=1)
        notes.append(f"means of {together} samples each are used: {len(values)} instants")
    time = np.asarray((together * np.arange(len(values)) + 0.5 * (together - 1)) / rate, dtype=np.float64)
    observed = np.empty((len(time), len(sensors)))
    load = np.zeros((len(time), structure.dofs))
    moving = np.zeros_like(load)
    for i, (at, one) in enumerate(zip(sensors, model.sensor, strict=True)):
        observed[:, i] = values[:, i] * channel_factor(
            one.unit or stream.channels[at].unit, one.quantity, f"sensor {i + 1}"
        )
    for i, (at, each) in enumerate(zip(loads, model.load, strict=True)):
        unit = each.unit or stream.channels[at].unit
        load[:, each.dof - 1] += (
            values[:, len(sensors) + i] * each.factor * channel_factor(unit, "force", f"load {i + 1}")
        )
    if model.ground is not None:
        acceleration = values[:, -1] * channel_factor(
            model.ground.unit or stream.channels[ground[0]].unit, "acceleration", "ground"
        )
        load += structure.ground_load(acceleration)
        moving += acceleration[:, None] * np.asarray(structure.influence)
        if model.ground.absolute:
            moved = np.asarray(structure.influence)
            for i, one in enumerate(model.sensor):
                if one.quantity == "acceleration":
                    observed[:, i] -= moved[one.dof - 1] * acceleration
    _check_samples(observed, [stream.channels[at].name for at in sensors])
    warnings = []
    softest = float(np.linalg.eigvalsh(structure.matrices[2]).min())
    if softest < -1e-9 * float(np.abs(structure.matrices[2]).max()):
        warnings.append(f"the stiffness matrix has a negative eigenvalue, {softest:.4g} N/m: check its sign")
    unknown = int(np.sum(~np.isfinite(load).all(axis=1)))
    if unknown:
        warnings.append(
            f"the load is not known at {unknown} of {len(time)} instants: the motion starts again after them"
        )
    missing = int(np.sum(~np.isfinite(observed).all(axis=1))) - unknown
    if missing > 0:
        notes.append(f"{missing} of {len(time)} instants have a sample that is missing")
    noise = [one.noise for one in model.sensor]
    sigma = np.array(noise, dtype=np.float64) if all(each is not None for each in noise) else None
    if sigma is None and any(each is not None for each in noise):
        notes.append("noise is given for some sensors only: it is estimated for all")
    kinds = tuple(Sensor(one.dof, one.quantity) for one in model.sensor)
    problem = ForceProblem(structure, model.places(), time, load, kinds, observed, ground=moving)
    growth = float(np.linalg.eigvals(problem.physics.system).real.max()) * (time[-1] - time[0])
    if growth > _UNSTABLE:
        warnings.append(f"the model diverges: its motion grows by a factor of e^{growth:.3g} within the record")
    return problem, sigma, tuple(notes), tuple(warnings)


def _column(stream: Stream, channel: str | int, where: str) -> int:
    names = [each.name for each in stream.channels]
    if isinstance(channel, int):
        if 1 <= channel <= len(names):
            return channel - 1
        there = f"1 to {len(names)}, {', '.join(names)}"
    else:
        if channel in names:
            return names.index(channel)
        there = ", ".join(names)
    raise ValueError(f"{where}: channel {channel!r}: there is no such channel: the record has {there}")


def _whole(recording: Recording, columns: list[int]) -> Samples:
    """Return (N, k) of the columns from the first sample to the last, NaN in gaps and where a sample is no number."""
    pieces, expected = [], None
    for block in recording.blocks(_BLOCK):
        if expected is not None and block.index > expected:
            if block.index - expected > 50_000_000:
                raise ValueError(f"a gap of {block.index - expected} samples: give a part of the record")
            pieces.append(np.full((block.index - expected, len(columns)), np.nan))
        elif expected is not None and block.index < expected:
            # a restart: how long it took is not in the numbers of the samples
            pieces.append(np.full((1, len(columns)), np.nan))
        pieces.append(block.samples[:, columns])
        expected = block.index + len(block)
    values = np.concatenate(pieces) if pieces else np.empty((0, len(columns)))
    return np.where(np.abs(values) < LARGEST_SAMPLE, values, np.nan)


def _check_samples(observed: Samples, names: list[str]) -> None:
    for name, column in zip(names, observed.T, strict=True):
        known = column[np.isfinite(column)]
        if len(known) < _FEWEST:
            raise ValueError(f"{name}: {len(known)} samples: at least {_FEWEST} are needed")
        if np.ptp(known) == 0.0:
            raise ValueError(f"{name} is constant, {known[0]:.4g}: a dead channel, or a wrong one")


def _nothing(problem: ForceProblem, recovered: RecoveredForce) -> tuple[bool, ...]:
    # about how many independent values a force has over the record
    length = float(recovered.time[-1] - recovered.time[0]) / min(prior.length for prior in recovered.priors)
    reach = float(norm.isf(0.025 / min(1.0 + 2.0 * length, float(len(recovered.time)))))
    inside = np.all(np.abs(recovered.force) <= reach * recovered.force_sd, axis=0).tolist()
    # a wide band may contain zero where the samples all together do not
    return tuple(each and evidence_for(problem, recovered, e) < _STRONG for e, each in enumerate(inside))


def _share(problem: ForceProblem, recovered: RecoveredForce) -> Samples:
    places = np.asarray(problem.forces)
    elastic = recovered.smoothed.displacement @ problem.structure.matrices[2].T @ places / np.sum(places**2, axis=0)
    whole = np.sqrt(np.mean((elastic + recovered.force) ** 2, axis=0))
    missing = np.sqrt(np.mean(recovered.force**2, axis=0))
    return np.asarray(missing / np.maximum(whole, np.maximum(missing, 1e-300)))


def _wrong_parameters(model: ForceModel, problem: ForceProblem, law: LawFit) -> Iterator[str]:
    """Yield a line for each mass, damping or stiffness of the model that a law corrects."""
    matrices = dict(zip(_PARAMETERS, problem.structure.matrices, strict=True))
    found = iter(zip(law.coefficients.tolist(), law.standard_errors.tolist(), strict=True))
    for place, terms in zip(model.missing, law.laws, strict=True):
        for one, (change, error) in zip(terms, found, strict=False):
            if one.name not in _PARAMETERS:
                continue
            what, unit = _PARAMETERS[one.name]
            # between two dofs stands minus what acts there
            rows, columns = place.between or (place.dof or 1,) * 2
            given = abs(float(matrices[one.name][rows - 1, columns - 1]))
            true, size = given + change, "small" if change > 0.0 else "large"
            if given > 0.0 and true > 0.0:
                share, share_error = 100.0 * abs(change) / true, 100.0 * given * error / true**2
                yield (
                    f"the model's {what} {place.name} is {share:.3g} ± {share_error:.2g} % too {size}: {given:.4g} "
                    f"in place of {true:.4g} ± {error:.2g} {unit}"
                )


def _contradictions(model: ForceModel, problem: ForceProblem, recovered: RecoveredForce) -> list[str]:
    """Return a line for each sensor that the recovered motion does not follow, or that is mostly noise."""
    motion, (by_state, by_load, by_force) = recovered.smoothed, problem.physics.acceleration
    direct, state = np.asarray(problem.load) @ by_load.T, np.hstack([motion.displacement, motion.velocity])
    acceleration = state @ by_state.T + recovered.force @ by_force.T + direct
    motions = dict(zip(QUANTITIES, (motion.displacement, motion.velocity, acceleration), strict=True))
    lines = []
    for i, (sensor, given) in enumerate(zip(problem.sensors, model.sensor, strict=True)):
        observed = np.asarray(problem.observed)[:, i]
        if sensor.quantity == "acceleration":
            # the problem has it without what the load does at once
            observed = observed + direct[:, sensor.dof - 1]
        residual = observed - motions[sensor.quantity][:, sensor.dof - 1]
        known = np.isfinite(residual)
        signal, left = float(np.std(observed[known])), float(np.sqrt(np.mean(residual[known] ** 2)))
        noise = 0.0 if recovered.sigma_known else float(recovered.sigma[i])
        if max(left, noise) > _LARGEST_NOISE * signal:
            much = noise > _LARGEST_NOISE * signal
            what = f"its estimated noise is {noise:.3g}" if much else f"the recovered motion misses it by {left:.3g}"
            lines.append(
                f"sensor {i + 1}, {given.channel}: {what}, its signal {signal:.3g} (rms, SI): it contradicts the "
                "other sensors or the model: check unit, sign and dof of every channel"
            )
    return lines


def _doubts(model: ForceModel, of: FoundForce, wide: list[int]) -> tuple[str, ...]:
    problem, recovered, laws, nothing = of.problem, of.recovered, of.laws, of.nothing
    found = [
        f"the force {model.missing[e].name} is not seen by these sensors: they take away "
        f"{100.0 * recovered.seen[e]:.2g} % of its variance"
        for e in recovered.unseen()
        if not nothing[e]
    ]
    found += _contradictions(model, problem, recovered)
    spacing = float(np.median(np.diff(recovered.time)))
    found += [
        f"the force {model.missing[e].name} is noise from sample to sample: sensors contradict each other (check "
        "unit, sign and dof), or a load is left out"
        for e, prior in enumerate(recovered.priors)
        if prior.length < _SHORT * spacing and not nothing[e]
    ]
    found += [
        f"the force {model.missing[e].name} is hardly determined: its band is as wide as the force itself"
        for e in wide
        if not nothing[e] and e not in recovered.unseen()
    ]
    if not of.sees_constant:
        found.append(
            "no displacement is measured: the mean of a force is not known, nor what is slow; force and band are of "
            "what it varies by"
        )
    best = next((law for law in laws if law.fit is not None), None)
    if laws and best is None:
        found.append("the model diverges with every law that was tried")
    if best is not None and best.fit is not None:
        if of.residual(best) > LARGEST_RESIDUAL and any(best.laws):
            given = any(place.law is not None for place in model.missing)
            found.append(
                ("the given law does not explain the record: it" if given else _UNEXPLAINED)
                + f" leaves {of.residual(best):.3g} times the noise, so that standard errors mean nothing. "
                + ("Leave law out to search the dictionary" if given else _ELSEWHERE)
                + "; or the model, a place, a unit or a load is wrong"
            )
        if not model.load and model.ground is None and not all(nothing):
            found.append("the model has no load: where the structure is driven, the missing force has the load in it")
        if not any(best.laws) and not all(nothing):
            found.append("no law of the dictionary explains the force")
        if not best.fit.converged:
            found.append("the fit of the law did not converge")
    return tuple(found)


_BAND = 1.96
_MOST_POINTS = 5000


def force_drawing(found: FoundForce, places: Sequence[str]) -> Drawing:
    """Draw what was found, a row for each place."""
    rows = len(places)
    figure = new_drawing(13.0, 0.6 + 3.4 * rows)
    axes = figure.subplots(rows, 3, squeeze=False, width_ratios=(2.2, 1.0, 1.0))
    recovered = found.recovered
    every = slice(None, None, -(-len(recovered.time) // _MOST_POINTS))
    sampled = found.sampled
    gaps = recovered.time[np.flatnonzero(np.diff(sampled, prepend=True, append=True)).clip(max=len(sampled) - 1)]
    directions = np.asarray(found.problem.forces)
    law = found.laws[int(np.argmax(found.weights[1:]))] if found.weights[0] < 0.5 else None
    by_law: tuple[Samples, ...] = () if law is None else motion_by_law(found.problem, recovered, law)
    for e, (over_time, over_stretch, over_rate) in enumerate(axes):
        time, sd = recovered.time[every], found.force_sd[every, e]
        # no line through a gap
        force, unknown = (np.where(sampled, each[:, e], np.nan)[every] for each in (found.force, recovered.force))
        over_time.fill_between(
            time, force - _BAND * sd, force + _BAND * sd, alpha=0.25, color="tab:blue", label="95 %"
        )
        over_time.plot(time, force, color="tab:blue", linewidth=1.0, label="missing force")
        for i, (start, end) in enumerate(gaps.reshape(-1, 2).tolist()):
            over_time.axvspan(start, end, color="tab:gray", alpha=0.3, label="no samples" if i == 0 else None)
        over_time.margins(x=0.0)
        over_time.set_title(places[e], loc="right")
        over_time.set(xlabel="time [s]", ylabel="force [N]")
        over_time.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, frameon=False)
        for i, (axis, motion, label) in enumerate(
            (
                (over_stretch, recovered.smoothed.displacement, "stretch [m]"),
                (over_rate, recovered.smoothed.velocity, "rate [m/s]"),
            )
        ):
            along = (motion @ directions)[every, e]
            axis.plot(along, unknown, ".", markersize=3, color="tab:blue", label="without a law")
            if law is not None:
                fitted = (by_law[i] @ directions)[every, e], by_law[2][every, e]
                axis.plot(*fitted, ".", markersize=1, color="tab:orange", label="law")
            axis.set(xlabel=label, ylabel="force [N]")
            axis.set_title(", ".join(term.name for term in law.laws[e]) if law is not None else "")
            axis.legend(loc="best", markerscale=4, fontsize="small")
        for axis in (over_time, over_stretch, over_rate):
            axis.grid(alpha=0.3)
    return figure
