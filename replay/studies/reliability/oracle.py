"""Reference values of the reliability examples: by quadrature, and by the definition on other realizations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from monitor.messages.blocks import Samples
from sim.ensemble import EnsembleModel
from sim.models.beam import StochasticBeam

# for each of the two dimensions: twice as many change nothing that a realization could show
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
    deviates, weights = np.polynomial.hermite_e.hermegauss(nodes)
    weights = weights / weights.sum()
    widths, heights = beam.width.at(deviates), beam.height.at(deviates)
    total: Samples = np.zeros(measured.shape)
    for width, of_width in zip(widths.tolist(), weights.tolist(), strict=True):
        for height, of_height in zip(heights.tolist(), weights.tolist(), strict=True):
            mean, deviation = beam.conditional(width, height)
            away, spread = measured - mean[:, None], deviation[:, None]
            within = ndtr((away + tolerance) / spread) - ndtr((away - tolerance) / spread)
            total += of_width * of_height * within
    return total
