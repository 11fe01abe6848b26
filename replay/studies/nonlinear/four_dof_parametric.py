"""Stiffnesses of the four masses with the cubic law known: by time histories and others, whole and reduced models."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from monitor.messages.blocks import Samples
from replay.studies.nonlinear.four_dof_record import SPRINGS, FourMassRecord, without_cubic
from sim.fitting.chain_response import ChainResponse
from sim.fitting.differentiation import Differentiated
from sim.fitting.fit import Fit, fit
from sim.fitting.regression import Regression
from sim.laboratory.structure import Structure
from sim.motion.smooth import accelerations_from_rest
from sim.updating.metric import Correlated, Metric, TimeHistories
from sim.updating.principal_components import PrincipalComponents
from sim.updating.reduction import Reduction, guyan, improved, serep

# of nominal: bounds of a stiffness
_LOWER, _UPPER = 0.5, 1.5
# of the record: what is fitted one after the other, and how closely, in standard errors
_SHARES = ((0.15, 0.1), (0.4, 0.1), (1.0, 1e-3))
# steps between two samples of a reduced model
_SUBSTEPS = 2
# of the integration: far under the noise
_TOLERANCE = 1e-7

MetricMaker = Callable[[Samples], Metric]

REDUCTIONS: dict[str, Callable[[Structure, tuple[int, ...]], Reduction]] = {
    "Guyan": guyan,
    "IRS": improved,
    "SEREP": lambda structure, sensors: serep(structure, sensors, len(sensors)),
}


@dataclass(frozen=True, slots=True, eq=False)
class StiffnessFit:
    """A fit of the four stiffnesses.

    Parameters
    ----------
    percent, standard_errors : (4,), of nominal.
    fitted : in units of the nominal stiffness.
    seconds : of the fit.
    """

    percent: Samples
    standard_errors: Samples
    fitted: Fit
    seconds: float


def fit_stiffness(
    record: FourMassRecord,
    metric: MetricMaker | None = None,
    *,
    cubic_known: bool = True,
    free: tuple[str, ...] = SPRINGS,
) -> StiffnessFit:
    """Fit stiffnesses of the whole chain to the time histories, or to another metric, of a record.

    Parameters
    ----------
    metric : makes one of a record; None: time histories, each sensor by its rms (equations 9 and 10).
    cubic_known : whether the model has the cubic spring; without, its force is ignored.
    free : what is fitted: `k1` to `k4`, `alpha1`.
    """
    chain = record.nominal if cubic_known else without_cubic(record.nominal)

    whole = ChainResponse(chain, record.load, record.dt, free, record.sensors, tolerance=_TOLERANCE)
    whole = replace(whole, lower=_LOWER * whole.nominal, upper=_UPPER * whole.nominal)

    def model(n: int) -> Regression:
        return replace(whole, load=record.load[:n])

    return _fitted(model, record, metric or time_histories, whole.nominal)


def fit_reduced(record: FourMassRecord, reduction: str) -> StiffnessFit:
    """Fit a model that is reduced to the sensors for each set of stiffnesses; the cubic spring is at sensor 1.

    Parameters
    ----------
    reduction : a name of `REDUCTIONS`.
    """
    chain, reduce = record.nominal, REDUCTIONS[reduction]
    size = np.asarray(chain.springs, dtype=np.float64)
    alpha = float(np.asarray(chain.cubic)[0])

    def cubic_force(x: Samples) -> Samples:
        force = np.zeros_like(x)
        force[:, 0] = alpha * x[:, 0] ** 3
        return force

    def model(n: int) -> Regression:
        def response(parameters: Samples) -> Samples:
            whole = (Structure(*replace(chain, springs=each).matrices) for each in parameters)
            found = [reduce(each, record.sensors) for each in whole]
            mass, damping, stiffness = map(np.stack, zip(*(one.reduced().matrices for one in found), strict=True))
            load = np.stack([record.load[:n] @ one.transformation for one in found])
            motion = accelerations_from_rest(
                Structure(mass, damping, stiffness), cubic_force, load, record.dt, _SUBSTEPS
            )
            return motion.reshape(len(parameters), -1)

        bounds = _LOWER * size, _UPPER * size
        return cast("Regression", Differentiated(response, SPRINGS, *bounds, step=1e-5 * size, vectorized=True))

    return _fitted(model, record, time_histories, size)


def time_histories(observed: Samples) -> TimeHistories:
    """Return the metric of equations 9 and 10, each sensor by its rms."""
    return TimeHistories(observed, np.sqrt(np.mean(observed**2, axis=0)))


def principal_components(observed: Samples) -> PrincipalComponents:
    """Return the metric of singular values and vectors (equations 11 to 14), all of them."""
    return PrincipalComponents(observed, count=observed.shape[1])


def _fitted(
    model: Callable[[int], Regression], record: FourMassRecord, metric: MetricMaker, start: Samples
) -> StiffnessFit:
    """Fit the first samples, then more and more: phases of the whole record are too far off at first."""
    began = time.perf_counter()
    at = start
    for share, precision in _SHARES:
        n = int(share * len(record.load))
        features = metric(record.observed[:n])
        found = fit(Correlated(model(n), features), features.observed, at, precision=precision)
        at = found.parameters
    seconds = time.perf_counter() - began
    return StiffnessFit(100.0 * at / start, 100.0 * found.standard_errors / start, found, seconds)
