"""Virtual tests of the eight masses, and updates by each metric of a linear model, or of one with both forces."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np

from monitor.messages.blocks import Samples
from sim.fitting.chain_response import ChainResponse
from sim.fitting.fit import Fit, fit
from sim.fitting.least_squares import spread_starts
from sim.fitting.solvers import Solver
from sim.laboratory.structure import Structure
from sim.missing_force.marginal_fit import Hypothesis, fit_beside_forces, force_on_chain
from sim.missing_force.state_space import Matern
from sim.models.nonlinear_chains import EightMasses
from sim.updating.metric import Correlated, Metric, TimeHistories
from sim.updating.modal_residues import ForceResidue, HybridResidue, OutputResidue, ParameterizedStructure
from sim.updating.modes import Modes, compare_modes, identify_modes, natural_modes
from sim.updating.principal_components import PrincipalComponents

MODAL_SENSORS, TIME_SENSORS = (1, 4, 7), (1, 5, 6)
# of the paper's tables
N_MODES = 5
# of a local error: next to noise of a hundredth it is nothing
_TOLERANCE = 1e-6


class Case(StrEnum):
    """What acts in a test that the linear model does not have."""

    NEITHER = "neither"
    FRICTION = "friction"
    BOTH = "friction and impact"


@dataclass(frozen=True, slots=True, eq=False)
class VirtualTest:
    """One test.

    Parameters
    ----------
    bed : the chain.
    case : what acts in it.
    seed : of the force and of the noise.
    load : (n_times, 8) N.
    acceleration : (n_times, 8) m/s^2, with noise.
    noise : (8,), standard deviation of the noise of each sensor.
    """

    bed: EightMasses
    case: Case
    seed: int
    load: Samples
    acceleration: Samples
    noise: Samples

    def at(self, sensors: tuple[int, ...], n: int | None = None) -> tuple[Samples, Samples]:
        """Return the records of sensors, (n, s), and the deviations of their noise, (s,)."""
        columns = [sensor - 1 for sensor in sensors]
        return self.acceleration[:n, columns], self.noise[columns]


def virtual_test(case: Case, seed: int, *, damaged: bool = True, rms: float | None = None) -> VirtualTest:
    """Return a test of eight seconds.

    Parameters
    ----------
    damaged : spring 5 has lost 14 %.
    rms : of the force, N; by default the chain's.
    """
    bed = virtual_bed(case, seed, rms)
    force = bed.force()
    load = np.zeros((len(force), 8))
    load[:, bed.driven - 1] = force
    motion = bed.motion(bed.damaged if damaged else bed.chain, _TOLERANCE).acceleration
    noise = bed.noise * np.sqrt(np.mean(motion**2, axis=0))
    generator = np.random.default_rng((seed, 1))
    return VirtualTest(bed, case, seed, load, motion + noise * generator.standard_normal(motion.shape), noise)


def virtual_bed(case: Case, seed: int = 1, rms: float | None = None) -> EightMasses:
    """Return the chain of a case, whose springs do not vary from specimen to specimen."""
    nominal = EightMasses()
    impact = case is Case.BOTH
    return EightMasses(
        friction=0.0 if case is Case.NEITHER else nominal.friction,
        contact_stiffness=nominal.contact_stiffness if impact else 0.0,
        contact_damping=nominal.contact_damping if impact else 0.0,
        rms=nominal.rms if rms is None else rms,
        seed=seed,
        variation=0.0,
    )


def model_modes(springs: Samples | None = None, sensors: tuple[int, ...] | None = MODAL_SENSORS) -> Modes:
    """Return the lowest five elastic modes of the linear model, with its own or other springs, (7,) N/m."""
    chain = virtual_bed(Case.NEITHER).chain
    chain = chain if springs is None else replace(chain, springs=springs)
    return natural_modes(Structure(*chain.matrices), sensors).chosen(slice(0, N_MODES))


def identified_modes(test: VirtualTest) -> Modes:
    """Return the modes of a record at sensors 1, 4 and 7 that belong to the lowest five of the nominal model.

    Raises
    ------
    ValueError : fewer than five are seen.
    """
    record, _ = test.at(MODAL_SENSORS)
    found = identify_modes(record, 1.0 / test.bed.dt)
    pairs = compare_modes(found, model_modes()).pairs
    if len(pairs) < N_MODES:
        raise ValueError(f"{len(pairs)} of {N_MODES} modes are identified in the record")
    return found.chosen(pairs[np.argsort(pairs[:, 1]), 0])


# s: of the unknown forces, shorter than the shortest period; of order 0, as friction jumps
_LENGTH, _ORDER = 6e-3, 0
# at first, N s/m and N, and within which they are sought
_DAMPER, _FORCE = (5.0, 0.1, 50.0), (0.5, 1e-3, 50.0)
_OPTIONS = {"maxiter": 25, "ftol": 1e-5}


@dataclass(frozen=True, slots=True, eq=False)
class UnknownForceFit:
    """Springs found while the forces are unknown.

    Parameters
    ----------
    springs : (7,), N/m.
    damper : N s/m, of all.
    force : N, standard deviation of the unknown force on each mass.
    converged : whether the search did.
    """

    springs: Samples
    damper: float
    force: float
    converged: bool


def fit_with_unknown_forces(test: VirtualTest, window: int, spread: float) -> UnknownForceFit:
    """Return the springs of the most probable linear model with eight unknown forces.

    Parameters
    ----------
    test : whose masses are at rest at first.
    window : number of samples.
    spread : of the springs, relative to the nominal ones: bounds, and standard deviation of their prior.

    Raises
    ------
    ValueError : the likelihood is not finite at the nominal springs.
    """
    record, noise = test.at(TIME_SENSORS, window)
    nominal = virtual_bed(Case.NEITHER).chain
    stiffness, n = np.asarray(nominal.springs), nominal.dofs
    time: Samples = test.bed.dt * np.arange(window, dtype=np.float64)

    def hypothesis(parameters: Samples) -> Hypothesis:
        shares, (damper, force) = parameters[:-2], np.exp(parameters[-2:]).tolist()
        chain = replace(nominal, springs=shares * stiffness, dampers=damper)
        problem = force_on_chain(chain, np.eye(n, dtype=np.float64), time, test.load[:window], TIME_SENSORS, record)
        return Hypothesis(problem, [Matern(force, _LENGTH, _ORDER)] * n, noise)

    def penalty(parameters: Samples) -> float:
        return 0.5 * float(np.sum(((parameters[:-2] - 1.0) / spread) ** 2))

    start = np.concatenate([np.ones(len(stiffness)), np.log([_DAMPER[0], _FORCE[0]])])
    bounds = [(1.0 - spread, 1.0 + spread)] * len(stiffness) + [
        (float(np.log(low)), float(np.log(high))) for _, low, high in (_DAMPER, _FORCE)
    ]
    found = fit_beside_forces(hypothesis, start, penalty=penalty, bounds=bounds, **_OPTIONS)
    damper, force = np.exp(found.parameters[-2:]).tolist()
    return UnknownForceFit(found.parameters[:-2] * stiffness, damper, force, found.converged)


SPRINGS = tuple(f"k{i}" for i in range(1, 8))
# stiffnesses may vary by 30 % (section 4.1)
RANGE = 0.3
# samples: the paper's window of 0.168 s
WINDOW = 173
# of frequencies and of the components of unit shapes: what the identification is good for
_FREQUENCY_ERROR, _SHAPE_ERROR = 0.01, 0.05
# beside the nominal springs, of modal residues: the hybrid one has several minima
_STARTS = 7
# beside the springs: start and upper bound; the starts are not the values of the test
_UNKNOWN = {
    "c": (5.0, 50.0),
    "friction": (0.3, 5.0),
    "gap": (5e-5, 2e-3),
    "contact_stiffness": (1e5, 1e6),
    "contact_damping": (20.0, 200.0),
}
_LEAST_CONTACT = 1e3
# standard errors, and steps: sampled accelerations jump where friction turns round, no sum of squares is least
_PRECISION, _MOST_STEPS = 0.02, 25


class DamageMetric(StrEnum):
    """How far a model is from a test."""

    OUTPUT = "output_residue"
    FORCE = "force_residue"
    HYBRID = "hybrid_residue"
    PCD = "pcd_linear"
    RMS = "rms_linear"
    UNKNOWN = "unknown_forces"
    ROUGH = "rms_friction_impact"


WORDS = {
    DamageMetric.OUTPUT: "output residue (4)",
    DamageMetric.FORCE: "force residue (5)",
    DamageMetric.HYBRID: "hybrid residue (6, 7)",
    DamageMetric.PCD: "principal comp. (13)",
    DamageMetric.RMS: "time histories (10)",
    DamageMetric.UNKNOWN: "unknown forces",
    DamageMetric.ROUGH: "with friction, impact",
}
"""Names for tables, with the equation of the paper."""
MODAL = (DamageMetric.OUTPUT, DamageMetric.FORCE, DamageMetric.HYBRID)


@dataclass(frozen=True, slots=True, eq=False)
class Update:
    """A model updated by one metric of one test.

    Parameters
    ----------
    metric : which.
    loss : (7,), of each spring, % of its stiffness; NaN where the update failed.
    fit : None where it failed, and where the forces are unknown.
    problem : why it failed, in words.
    """

    metric: DamageMetric
    loss: Samples
    fit: Fit | None
    problem: str = ""

    @property
    def bounds(self) -> tuple[Samples, Samples]:
        """Lower and upper of its parameters, (p,) each."""
        assert self.fit is not None
        return _bounds(self.fit.names)

    def response(self, load: Samples, parameters: Samples) -> Samples:
        """Return the histories under a load of (m, p) parameters, (m, n, s), at the sensors of the time domain."""
        assert self.fit is not None
        return _model(load, self.fit.names).histories(parameters)

    @property
    def spring(self) -> int:
        """Number of the spring that has lost most; 0 where the update failed or none has lost any."""
        return int(np.argmax(self.loss)) + 1 if np.nanmax(self.loss, initial=-1.0) > 0.0 else 0


def update(metric: DamageMetric, test: VirtualTest, modes: Modes | None = None) -> Update:
    """Update the nominal model by one metric of a test, whose modes need not be identified again."""
    try:
        if metric is DamageMetric.UNKNOWN:
            springs = fit_with_unknown_forces(test, WINDOW, RANGE).springs
            return Update(metric, 100.0 * (1.0 - springs / test.bed.stiffness), None)
        if metric in MODAL:
            found = fit_modes(metric, identified_modes(test) if modes is None else modes)
        else:
            found = _in_time(metric, test)
    except ValueError as problem:
        return Update(metric, np.full(7, np.nan), None, str(problem))
    return Update(metric, 100.0 * (1.0 - found.parameters[:7] / test.bed.stiffness), found)


def fit_modes(
    metric: DamageMetric, modes: Modes, solver: Solver = Solver.LEVENBERG_MARQUARDT, more_starts: int = _STARTS
) -> Fit:
    """Return the springs of the linear model by a modal residue, from the nominal ones and more starts."""
    bed = virtual_bed(Case.NEITHER)
    between = [(i, i + 1) for i in range(1, 8)]
    nominal = np.full(7, bed.stiffness)
    structure = ParameterizedStructure.of_springs(bed.masses, between, nominal, lower=1.0 - RANGE, upper=1.0 + RANGE)
    residue: OutputResidue | ForceResidue
    if metric is DamageMetric.OUTPUT:
        residue = OutputResidue(structure, modes, MODAL_SENSORS, _FREQUENCY_ERROR, _SHAPE_ERROR)
    else:
        residue = (ForceResidue if metric is DamageMetric.FORCE else HybridResidue)(structure, modes, MODAL_SENSORS)
    starts = [nominal, *(spread_starts(structure.lower, structure.upper, more_starts) if more_starts else ())]
    return fit(residue, residue.observed, np.array(starts), solver=solver)


def _in_time(metric: DamageMetric, test: VirtualTest) -> Fit:
    rough = metric is DamageMetric.ROUGH
    free = (*SPRINGS, *(tuple(_UNKNOWN) if rough else ("c",)))
    model = _model(test.load[:WINDOW], free)
    record, noise = test.at(TIME_SENSORS, WINDOW)
    compared: Metric = PrincipalComponents(record) if metric is DamageMetric.PCD else TimeHistories(record, noise)
    correlated = Correlated(model, compared)
    start = np.concatenate([np.full(7, test.bed.stiffness), [_UNKNOWN[name][0] for name in free[7:]]])
    limits: dict[str, Any] = {"precision": _PRECISION, "most_iterations": _MOST_STEPS} if rough else {}
    return fit(correlated, compared.observed, start, **limits)


def _bounds(free: tuple[str, ...]) -> tuple[Samples, Samples]:
    stiffness = virtual_bed(Case.NEITHER).stiffness
    lower = {**dict.fromkeys(SPRINGS, (1.0 - RANGE) * stiffness), "contact_stiffness": _LEAST_CONTACT}
    upper = {
        **dict.fromkeys(SPRINGS, (1.0 + RANGE) * stiffness),
        **{name: end for name, (_, end) in _UNKNOWN.items()},
    }
    return np.array([lower.get(name, 0.0) for name in free]), np.array([upper[name] for name in free])


def _model(load: Samples, free: tuple[str, ...]) -> ChainResponse:
    rough = "gap" in free
    bed = virtual_bed(Case.BOTH if rough else Case.NEITHER)
    lower, upper = _bounds(free)
    return ChainResponse(bed.chain, load, bed.dt, free, TIME_SENSORS, lower=lower, upper=upper, tolerance=_TOLERANCE)
