"""An example with a delay with what one knows beforehand: that the disturbance is small and the system stable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from monitor.blocks import Samples
from replay.studies.delays.examples import Example
from sim.identification.bayesian import Posterior, sample_posterior
from sim.identification.fit import fit
from sim.identification.stability import stable

# a disturbance is as likely positive as negative, and hardly larger than this
DISTURBANCE = 0.5
_MARGIN = 0.02
_STEPS = 3000


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """The posterior of one run, and what it says of later.

    Parameters
    ----------
    posterior : of Method 2's parameters.
    steady_state : (n_samples,).
    """

    posterior: Posterior
    steady_state: Samples


def with_prior(example: Example, observed: Samples, sigma: float, seed: int) -> Prior:
    """Sample the posterior of a run: omega is normal beforehand, the rates are anything that is stable.

    Raises
    ------
    ValueError : emcee is not installed.
    """
    model = example.disturbed
    inside = stable(model, _MARGIN)
    start = fit(inside, observed, inside.of(example.start(2)))
    # at a bound no standard error is known
    spread = np.clip(np.nan_to_num(start.standard_errors, nan=_MARGIN), 1e-3, DISTURBANCE)
    priors = {"omega": norm(0.0, DISTURBANCE)}
    found = sample_posterior(
        model,
        observed,
        start.parameters,
        spread,
        priors,
        sigma=sigma,
        support=example.is_stable,
        n_steps=_STEPS,
        seed=seed,
    )
    return Prior(found, example.steady_states(found.samples))
