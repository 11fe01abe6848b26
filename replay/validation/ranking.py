"""Ranking of fitted models by their reliability against a record, with the uncertainty of their parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from monitor.messages.blocks import Samples
from monitor.reliability.curves import NAMES
from monitor.reliability.ensemble import sort_ensemble
from monitor.text.blocks import Column, Table, words
from replay import Progress, silent
from replay.validation.records import MeasuredRecord, ToleranceChoice
from replay.validation.validation import Site, Validation, validate

if TYPE_CHECKING:
    from sim.fitting.fit import Fit

RANKED_BY = NAMES[:3]


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A fitted model.

    Parameters
    ----------
    name : for the table.
    fit : estimates and covariance of its parameters.
    response : (m, p) parameters to responses at the record's instants, (m, n_times) or (m, n_times, n_sensors).
    lower, upper : (p,), bounds of the parameters, also of those that are drawn.
    """

    name: str
    fit: Fit
    response: Callable[[Samples], Samples]
    lower: ArrayLike = -np.inf
    upper: ArrayLike = np.inf


@dataclass(frozen=True, slots=True, eq=False)
class RankedModel:
    """One candidate and how reliable it is.

    Parameters
    ----------
    name : of the candidate.
    values, standard_errors : by the name of the reliability (instantaneous, first_passage, accumulated), at the end
        of the record.
    validation : the whole comparison.
    notes : what was done to its parameters or realizations, a line each.
    """

    name: str
    values: dict[str, float]
    standard_errors: dict[str, float]
    validation: Validation
    notes: tuple[str, ...]


def rank_models(
    candidates: Sequence[Candidate],
    time: Samples,
    record: Samples,
    tolerance: ToleranceChoice,
    *,
    unit: str = "",
    realizations: int = 200,
    seed: int = 1,
    progress: Progress = silent,
) -> tuple[RankedModel, ...]:
    """Return the models, the largest accumulated reliability first; ties are broken by the others.

    A realization has parameters drawn from the normal distribution of the estimates: with the covariance for
    autocorrelated errors where it is known, else for white ones. Of several sensors one is within the tolerance where
    it is at all of them. Records that were not fitted are the best test.

    Parameters
    ----------
    time : (n_times,), s.
    record : (n_times,), or (n_times, n_sensors), in `unit`.
    tolerance : how far a model may be off.
    realizations, seed : of each model.

    Raises
    ------
    ValueError : sizes do not fit, or a model has no finite realization.
    """
    if realizations < 1:
        raise ValueError(f"ranking with {realizations} realizations of each model: give 1 or more")
    if not candidates:
        raise ValueError("ranking: there are no models to rank")
    columns = np.asarray(record, dtype=np.float64)
    columns = columns[:, None] if columns.ndim == 1 else columns
    if columns.ndim != 2 or len(columns) != len(time):
        raise ValueError(
            f"ranking record of shape {columns.shape}: must be ({len(time)},) or ({len(time)}, n_sensors)"
        )
    ranked = []
    for number, candidate in enumerate(candidates):
        progress("reliability of models", number, len(candidates))
        ranked.append(_assessed(candidate, time, columns, tolerance, unit, realizations, seed))
    progress("reliability of models", len(candidates), len(candidates))
    order = "accumulated", "first_passage", "instantaneous"
    return tuple(sorted(ranked, key=lambda model: [-model.values[name] for name in order]))


def _assessed(
    candidate: Candidate,
    time: Samples,
    record: Samples,
    tolerance: ToleranceChoice,
    unit: str,
    number: int,
    seed: int,
) -> RankedModel:
    draws, notes = parameter_draws(candidate.fit, number, seed, candidate.lower, candidate.upper)
    with np.errstate(all="ignore"):
        response = np.asarray(candidate.response(draws))
    response = response[..., None] if response.ndim == 2 else response
    if response.shape[1:] != record.shape:
        raise ValueError(
            f"{candidate.name}: response of shape {response.shape[1:]} beside a record of {record.shape}"
        )
    finite = np.isfinite(response).all(axis=(1, 2))
    if not finite.any():
        raise ValueError(f"{candidate.name}: no realization is finite, its parameters diverge")
    if not finite.all():
        notes = (*notes, f"{int(np.sum(~finite))} of {number} realizations diverge and are left out")
    sites = [
        Site(
            sort_ensemble(time, np.ascontiguousarray(response[finite, :, i].T), unit, candidate.name),
            (MeasuredRecord(f"sensor {i + 1}", time, record[:, i].copy(), unit),),
        )
        for i in range(record.shape[1])
    ]
    found = validate(sites, tolerance, joint=len(sites) > 1)
    finals = found.reliability.final_values()
    return RankedModel(
        candidate.name,
        {name: float(finals[name][0]) for name in RANKED_BY},
        {name: float(finals[name][1]) for name in RANKED_BY},
        found,
        notes,
    )


def parameter_draws(
    fit: Fit, number: int, seed: int, lower: ArrayLike = -np.inf, upper: ArrayLike = np.inf
) -> tuple[Samples, tuple[str, ...]]:
    """Return (number, p) parameters that are as uncertain as a fit, and notes.

    What is at a bound stays there; what the data do not determine is uniform within bounds, and stays without them.

    Parameters
    ----------
    fit : estimates with their covariance.
    lower, upper : (p,), within which draws are clipped.
    """
    generator = np.random.default_rng(seed)
    p = len(fit.names)
    low, high = np.broadcast_to(lower, p), np.broadcast_to(upper, p)
    white, correlated = fit.covariance, fit.correlated_covariance
    known = np.isfinite(np.diag(white))
    covariance = correlated if np.isfinite(np.diag(correlated)[known]).all() else white
    draws = np.tile(fit.parameters, (number, 1))
    values, vectors = np.linalg.eigh(_unit(covariance[np.ix_(known, known)]))
    size = np.sqrt(np.diag(covariance)[known])
    deviates = generator.standard_normal((number, int(known.sum())))
    draws[:, known] += size * ((deviates * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
    notes = []
    for i in np.flatnonzero(np.isinf(np.diag(white))).tolist():
        if np.isfinite(low[i]) and np.isfinite(high[i]):
            draws[:, i] = generator.uniform(low[i], high[i], number)
        else:
            notes.append(f"{fit.names[i]} is not determined by the data and has no bounds: held at its estimate")
    return np.clip(draws, low, high), tuple(notes)


def _unit(covariance: Samples) -> Samples:
    """Return the correlation matrix, (k, k): parameters of different units are of one size."""
    size = np.sqrt(np.diag(covariance))
    size = np.where(size > 0.0, size, 1.0)
    return np.asarray(covariance / np.outer(size, size))


def ranking_table(ranked: Sequence[RankedModel], title: str) -> Table:
    """Return a table of the models, the most reliable first."""
    rows = [
        (model.name, *(f"{model.values[name]:.3f} ± {model.standard_errors[name]:.3f}" for name in RANKED_BY))
        for model in ranked
    ]
    return Table(title, (words("model"), *(Column(name.replace("_", "-")) for name in RANKED_BY)), rows)
