"""What the reliabilities of the beam must be, without realizations: an integral over its section."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from monitor.messages.blocks import Samples
from sim.models.beam import StochasticBeam

# for each of the two dimensions: twice as many change nothing that a realization could show
_NODES = 48


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
