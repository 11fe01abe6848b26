"""Virtual records of the four masses, and stiffnesses: with the law known, and beside an unknown force on mass 1.

With the law known the whole model or a reduced one is fitted. Without, the likelihood of a record is that of any
smooth force.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from monitor.messages.blocks import Samples
from sim.fitting.chain_response import ChainResponse
from sim.fitting.fit import Fit, fit
from sim.fitting.regression import Differentiated, Regression, second_differences
from sim.laboratory.structure import Structure, sensor_indices
from sim.missing_force.law_fit import LawFit, fit_law
from sim.missing_force.marginal_fit import (
    Hypothesis,
    confounded_with_force,
    fit_beside_forces,
    force_on_chain,
    marginal_cost,
)
from sim.missing_force.recovery import RecoveredForce, recover_force
from sim.missing_force.smoother import ForceProblem, characteristic_rate
from sim.missing_force.state_space import Matern
from sim.models.chain import Chain, ChainMotion, chain_response
from sim.models.nonlinear_chains import FourMasses
from sim.updating.metric import Correlated, Metric, TimeHistories
from sim.updating.principal_components import PrincipalComponents
from sim.updating.reduction import Reduction, guyan, improved, serep

SENSORS = (1, 3, 4)
SPRINGS = ("k1", "k2", "k3", "k4")


@dataclass(frozen=True, slots=True, eq=False)
class FourMassRecord:
    """Accelerations of the damaged chain under its random force, with noise.

    Parameters
    ----------
    nominal : the chain before the damage: what the analyst knows, with its cubic spring.
    actual : the damaged one.
    dt : s.
    load : (n, 4) N, known.
    sensors : numbers of the masses, from 1.
    observed : (n, sensors) m/s^2.
    noise : (sensors,), standard deviations of the noise in it, m/s^2: what the analyst does not know.
    motion : of all masses, without noise.
    """

    nominal: Chain
    actual: Chain
    dt: float
    load: Samples
    sensors: tuple[int, ...]
    observed: Samples
    noise: Samples
    motion: ChainMotion = field(repr=False)

    @property
    def time(self) -> Samples:
        """(n,) s."""
        return np.asarray(self.dt * np.arange(len(self.load)))

    @property
    def rms(self) -> Samples:
        """(sensors,), of what was observed, m/s^2."""
        return np.asarray(np.sqrt(np.mean(self.observed**2, axis=0)))

    @property
    def actual_percent(self) -> Samples:
        """(4,): the stiffnesses of the damaged chain in percent of the nominal ones."""
        return np.asarray(100.0 * np.asarray(self.actual.springs) / np.asarray(self.nominal.springs))


def simulate_record(
    seed: int,
    run: int = 0,
    *,
    noise: float | None = None,
    sensors: tuple[int, ...] = SENSORS,
    band: float | None = None,
) -> FourMassRecord:
    """Return a record with a force and noise of its own.

    Parameters
    ----------
    seed, run : each pair has its own random numbers.
    noise : standard deviation over the rms of each sensor; None: that of the test bed.
    sensors : numbers of masses.
    band : Hz, above which the force has nothing, and as much less rms; None: up to half the rate of samples.

    Raises
    ------
    ValueError : a sensor is no mass of the chain, or none is given.
    """
    force_seed, noise_seed = np.random.SeedSequence([seed, run]).spawn(2)
    bed = FourMasses(seed=int(force_seed.generate_state(1)[0]))
    actual = bed.damaged
    columns = sensor_indices(sensors, actual.dofs, "masses")
    load = np.zeros((len(bed.time), 4))
    load[:, bed.driven - 1] = bed.force()
    if band is not None:
        spectrum = np.fft.rfft(bed.force())
        spectrum[np.fft.rfftfreq(len(load), bed.dt) > band] = 0.0
        load[:, bed.driven - 1] = np.fft.irfft(spectrum, len(load))
    motion = chain_response(actual, load, bed.dt)
    # all four have noise, so that that of a sensor does not depend on which others there are
    drawn = np.random.default_rng(noise_seed).standard_normal(motion.acceleration.shape)[:, columns]
    exact = motion.acceleration[:, columns]
    level = (bed.noise if noise is None else noise) * np.sqrt(np.mean(exact**2, axis=0))
    return FourMassRecord(bed.chain, actual, bed.dt, load, sensors, exact + level * drawn, level, motion)


def without_cubic(chain: Chain) -> Chain:
    """Return the chain as an analyst has it who does not know of the cubic spring."""
    return replace(chain, cubic=0.0)


# of nominal: bounds of a stiffness
_LOWER, _UPPER = 0.5, 1.5
# of the record: what is fitted one after the other, and how closely, in standard errors
_SHARES = ((0.15, 0.1), (0.4, 0.1), (1.0, 1e-3))
# steps between two samples of a reduced model
_SUBSTEPS = 2
# of the integration: far under the noise
_TOLERANCE = 1e-7
# on mass 1, on the internal side
PLACE = np.eye(4)[:, :1]
# amplitude of the force's prior over the inertia force, and its length times the rate of the motion: so wide that
# stiffnesses are not drawn to where the missing force is least, as the amplitude that fits best would do
_WIDE, _LENGTH, _ORDER = 50.0, 3.0, 2
# for second differences: of stiffnesses relative to nominal, and of the logarithm of the noise
_STIFFNESS_STEP, _NOISE_STEP = 1e-3, 1e-2
_FIRST_NOISE = 0.05  # over the rms of a sensor

MetricMaker = Callable[[Samples], Metric]

REDUCTIONS: dict[str, Callable[[Structure, tuple[int, ...]], Reduction]] = {
    "Guyan": guyan,
    "IRS": improved,
    "SEREP": serep,
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


def accelerations_from_rest(
    structure: Structure, force: Callable[[Samples], Samples], load: Samples, dt: float, substeps: int
) -> Samples:
    """Return accelerations, (m, n_times, n), by Runge and Kutta's method of order four in Nystroem's form.

    Parameters
    ----------
    structure : of m draws and n degrees of freedom.
    force : (m, n) m to (m, n) N, on the internal side of the equation beside the springs of the structure.
    load : (m, n_times, n) N at the samples, linear between them.
    dt : s between samples.
    substeps : steps between two samples.
    """
    mass, damping, stiffness = structure.matrices
    inverse = np.linalg.inv(mass)
    m, n_times, n = load.shape
    step = dt / substeps
    ends = load @ np.swapaxes(inverse, 1, 2)
    transposed = np.swapaxes(inverse, 1, 2).copy()
    internal = np.swapaxes(inverse @ np.concatenate([stiffness, damping], axis=2), 1, 2).copy()

    def acceleration(x: Samples, v: Samples, push: Samples) -> Samples:
        restoring = np.concatenate([x, v], axis=1)[:, None] @ internal + force(x)[:, None] @ transposed
        return np.asarray(push - restoring[:, 0])

    x, v, found = np.zeros((m, n)), np.zeros((m, n)), np.empty((m, n_times, n))
    for i in range(n_times):
        found[:, i] = acceleration(x, v, ends[:, i])
        if i + 1 == n_times:
            break
        for j in range(substeps):
            first, middle, last = (
                ends[:, i] + (j + part) / substeps * (ends[:, i + 1] - ends[:, i]) for part in (0.0, 0.5, 1.0)
            )
            a1 = acceleration(x, v, first)
            a2 = acceleration(x + 0.5 * step * v, v + 0.5 * step * a1, middle)
            a3 = acceleration(x + 0.5 * step * v + 0.25 * step**2 * a1, v + 0.5 * step * a2, middle)
            a4 = acceleration(x + step * v + 0.5 * step**2 * a2, v + step * a3, last)
            x = x + step * v + step**2 / 6.0 * (a1 + a2 + a3)
            v = v + step / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
    return found


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


@dataclass(frozen=True, slots=True, eq=False)
class JointEstimate:
    """Stiffnesses found while the force on mass 1 is unknown.

    Parameters
    ----------
    percent, standard_errors : (4,), of nominal; NaN for what cannot be distinguished from a force on mass 1.
    confounded : in words, which cannot.
    noise : found, over the rms of each sensor.
    problem : of the force that the chain with these stiffnesses is missing.
    sigma : (sensors,) noise in m/s^2.
    evaluations : of the likelihood in the search.
    seconds : of the search and the standard errors.
    """

    percent: Samples
    standard_errors: Samples
    confounded: tuple[str, ...]
    noise: float
    problem: ForceProblem = field(repr=False)
    sigma: Samples
    evaluations: int
    seconds: float


def identify_jointly(record: FourMassRecord, held: float = 100.0) -> JointEstimate:
    """Find stiffnesses by the marginal likelihood of the record, with an unknown force on mass 1.

    The force is a Gaussian process of so wide a prior that only its smoothness is assumed, and it is integrated out
    (Kalman filter); scipy's BFGS searches, and standard errors are of the inverse of the second derivatives.

    Parameters
    ----------
    record : of which the cubic spring is not used.
    held : percent of nominal, where stiffnesses that cannot be identified are held.

    Raises
    ------
    ValueError : these sensors distinguish no stiffness from the force.
    """
    start = time.perf_counter()
    chain, size = without_cubic(record.nominal), record.rms
    blind = confounded_with_force(chain, PLACE, record.load, record.sensors)
    # where a sum of parameters is determined one of them stays free
    confounded = {name for group in blind for name in group.names}
    leading = {each.weights[0][0] for group in blind for each in group.determined}
    free = [i for i, name in enumerate(SPRINGS) if name not in confounded or name in leading]
    if not free:
        raise ValueError(
            f"four-dof: sensors {', '.join(map(str, record.sensors))} distinguish no stiffness from an unknown "
            "force on mass 1: add a sensor"
        )
    inertia = float(np.max(np.asarray(chain.masses))) * float(size.max())
    prior = Matern(_WIDE * inertia, _LENGTH / characteristic_rate(record.time, record.observed), _ORDER)

    def hypothesis(parameters: Samples) -> Hypothesis:
        share = np.full(len(SPRINGS), held / 100.0)
        share[free] = parameters[:-1]
        problem = force_problem(replace(chain, springs=chain.springs * share), record)
        return Hypothesis(problem, [prior], np.exp(parameters[-1]) * size)

    first = np.append(np.ones(len(free)), np.log(_FIRST_NOISE))
    found = fit_beside_forces(hypothesis, first, gtol=0.1)
    steps = np.append(np.full(len(free), _STIFFNESS_STEP), _NOISE_STEP)
    curvature = second_differences(marginal_cost(hypothesis), found.parameters, steps)
    variance = np.diag(np.linalg.inv(curvature))
    percent, errors = np.full(4, np.nan), np.full(4, np.nan)
    for i, value, spread in zip(free, found.parameters[:-1], variance[:-1], strict=True):
        if SPRINGS[i] not in confounded:
            percent[i], errors[i] = 100.0 * value, 100.0 * np.sqrt(spread)
    noise = float(np.exp(found.parameters[-1]))
    seconds = time.perf_counter() - start
    words = tuple(
        f"{group}: a force on mass 1 does what a change of {'it' if len(group.names) == 1 else 'them'} does"
        for group in blind
    )
    problem, _, sigma = found.hypothesis
    return JointEstimate(percent, errors, words, noise, problem, sigma, found.evaluations, seconds)


@dataclass(frozen=True, slots=True, eq=False)
class ForceLaw:
    """The recovered force on mass 1, and the law a x + b x^3 of it.

    Parameters
    ----------
    held : percent of nominal at which k1 was held.
    recovered : the force, with its band.
    fitted : refined on the samples; the standard errors hold the stiffnesses found for known.
    seconds : of all of it.
    """

    held: float
    recovered: RecoveredForce
    fitted: LawFit
    seconds: float


def recover_law(record: FourMassRecord, held: float = 100.0) -> ForceLaw:
    """Return the force on mass 1 that the jointly identified chain is missing, and its law.

    Parameters
    ----------
    held : percent of nominal, of k1; what it is wrong by is in the linear term.
    """
    start = time.perf_counter()
    found = identify_jointly(record, held)
    recovered = recover_force(found.problem, sigma=found.sigma)
    law = fit_law(found.problem, recovered, [("x", "x^3")])
    return ForceLaw(held, recovered, law, time.perf_counter() - start)


def force_problem(chain: Chain, record: FourMassRecord) -> ForceProblem:
    """Return the problem of the force on mass 1 that a linear chain is missing."""
    return force_on_chain(chain, PLACE, record.time, record.load, record.sensors, record.observed)
