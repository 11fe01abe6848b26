"""What a case of the reliability examples must come to, found another way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitor.messages.blocks import Samples
from replay.studies.reliability.beam_quadrature import instantaneous_by_quadrature
from sim.ensemble import EnsembleModel
from sim.models.beam import StochasticBeam


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
    model : what is judged.
    response : (n_times, n_realizations), an ensemble that the judged one has nothing in common with.
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
