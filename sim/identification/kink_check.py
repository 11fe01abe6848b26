"""Searches that stall: whether nothing beside them is better, as at a kink of the sum of squares."""

from __future__ import annotations

import numpy as np

from sim.arrays import Flags, Samples
from sim.identification.steps import damped_step

# how far to each side to look, in standard errors
BESIDE = 0.01


def places_beside(at: Samples, normal: Samples, gradient: Samples, held: Flags, sigma: float) -> Samples:
    """Return (3 p, p) parameters beside one set, among which there is a better one unless it is a minimum.

    The minimum may be a kink: a solution with a delay has one wherever the delay is an observed instant, and a step
    along the gradient ends on the wrong side of it, however short. So each parameter is taken a hundredth of its
    standard error up and down, the others following as in a linear model; and each is kept, the others as in one.

    Parameters
    ----------
    at, gradient, held : (p,); what is held by a bound stays.
    normal : (p, p), J'J.
    sigma : standard deviation of the errors.
    """
    p = len(at)
    one = np.eye(p)
    normal, held = np.broadcast_to(normal, (p, p, p)), np.broadcast_to(held, (p, p))
    # the columns of the inverse of J'J
    columns = damped_step(normal, one, held, np.zeros(p))
    variance = np.diag(columns)
    size = np.where(variance > 0.0, BESIDE * sigma / np.sqrt(np.where(variance > 0.0, variance, 1.0)), 0.0)
    aside = columns * size[:, None]
    others = damped_step(normal, np.broadcast_to(gradient, (p, p)), held | (one > 0.0), np.zeros(p))
    return np.asarray(at + np.concatenate([aside, -aside, others]))
