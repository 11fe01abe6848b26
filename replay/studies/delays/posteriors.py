"""An example with a delay with what one knows beforehand: that the disturbance is small and the system stable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from monitor.messages.blocks import Samples
from replay.studies.delays.examples import Example, Method
from sim.identification.bayesian import Posterior, sample_posterior
from sim.identification.delay_response import stable
from sim.identification.fit import fit

# a disturbance is as likely positive as negative, and hardly larger than this
DISTURBANCE = 0.5
_MARGIN = 0.02
STEPS = 3000


@dataclass(frozen=True, slots=True, eq=False)
class PosteriorOfRun:
    """The posterior of one run, and what it says of later.

    Parameters
    ----------
    posterior : of Method 2's parameters.
    steady_state : (n_samples,).
    """

    posterior: Posterior
    steady_state: Samples


def with_prior(
    example: Example, observed: Samples, sigma: float, seed: int, *, n_steps: int = STEPS
) -> PosteriorOfRun:
    """Sample the posterior of a run: omega is normal beforehand, the rates are anything that is stable.

    Parameters
    ----------
    observed : (n,).
    sigma : of the noise.
    seed, n_steps : of the chains.

    Raises
    ------
    ValueError : emcee is not installed.
    """
    model = example.disturbed
    inside = stable(model, _MARGIN)
    start = fit(inside, observed, inside.of(example.start(Method.DISTURBANCE)))
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
        n_steps=n_steps,
        seed=seed,
    )
    return PosteriorOfRun(found, example.steady_states(found.samples))
