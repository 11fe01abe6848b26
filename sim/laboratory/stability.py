"""When a loop loses stability: its critical delay, analytic and simulated, and the energy that is fed into it."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi

import numpy as np
from numpy.typing import ArrayLike

from sim.arrays import Samples, check_not_negative, check_positive
from sim.laboratory.elements import LinearSpring
from sim.laboratory.loop import HybridLoop, LoopRecord
from sim.laboratory.structure import Structure, product
from sim.laboratory.transfer import Delay, TransferChain

_STEPS_PER_PERIOD, _PERIODS = 100, 30
_DELAYS, _ROUNDS = 8, 5
# real part of a root on the imaginary axis, as a share of the highest angular frequency: rounding
_ON_AXIS = 1e-7
_CROSSING = 1e-3


def analytic_critical_delay(
    mass: ArrayLike, damping: ArrayLike, stiffness: ArrayLike, specimen: ArrayLike
) -> Samples:
    """Return the smallest delay [s] at which a root of m s^2 + c s + k + k_e exp(-s tau) is on the imaginary axis.

    At s = i w: (k - m w^2)^2 + c^2 w^2 = k_e^2, quadratic in w^2, and tau = atan2(c w, m w^2 - k)/w. Infinite where
    no delay makes the loop unstable.

    Parameters
    ----------
    mass, damping, stiffness : of the structure, kg, N s/m and N/m; arrays broadcast.
    specimen : k_e, N/m.
    """
    m, c, k, k_e = np.broadcast_arrays(
        *(np.asarray(v, dtype=np.float64) for v in (mass, damping, stiffness, specimen))
    )
    what = "structure of one degree of freedom (critical_delay takes matrices),"
    check_positive(what, mass=m)
    check_not_negative(what, damping=c, stiffness=k, specimen=k_e)
    b = c**2 - 2.0 * m * k
    discriminant = b**2 - 4.0 * m**2 * (k**2 - k_e**2)
    critical = np.full(m.shape, np.inf)
    for sign in (1.0, -1.0):
        with np.errstate(invalid="ignore", divide="ignore"):
            w = np.sqrt((-b + sign * np.sqrt(discriminant)) / (2.0 * m**2))
            delay = np.arctan2(c * w, m * w**2 - k) / w
        critical = np.fmin(critical, np.where(w > 0.0, delay, np.inf))
    return critical


def critical_delay(structure: Structure, specimen: ArrayLike, coupling: ArrayLike | None = None) -> Samples:
    """Return the smallest delay [s] at which a loop with one actuator has a root on the imaginary axis.

    The roots are those of det(M s^2 + C s + K + k_e exp(-s tau) T^T T), and at s = i w: k_e G(i w) exp(-i w tau) = -1
    with G = T (M s^2 + C s + K)^-1 T^T. The frequencies at which |k_e G| = 1 are the imaginary eigenvalues of a
    Hamiltonian matrix (Boyd, Balakrishnan and Kabamba 1989, Math. Control Signals Systems 2), exact to rounding.
    Infinite where no delay makes the loop unstable, 0 where it is not stable without one.

    Parameters
    ----------
    structure : of any number of degrees of freedom, with draws as leading axes; its springs count with their largest
        stiffness.
    specimen : k_e, N/m, one or one for each draw.
    coupling : T, (n,) or (1, n): displacement of the actuator per displacement of the structure; None for one degree
        of freedom.

    Raises
    ------
    ValueError : more than one actuator, or a coupling that does not fit.
    """
    n = structure.dofs
    row = np.eye(n) if coupling is None else np.atleast_2d(np.asarray(coupling, dtype=np.float64))
    if row.shape != (1, n):
        raise ValueError(f"coupling of shape {row.shape}: give (1, {n}), the critical delay is that of one actuator")
    k_e = np.asarray(specimen, dtype=np.float64)
    check_not_negative("critical delay", specimen=k_e)
    mass, damping, _ = structure.matrices
    parts = mass, damping, structure.tangent()
    shape = np.broadcast_shapes(k_e.shape, *(part.shape[:-2] for part in parts))
    matrices = [np.broadcast_to(part, (*shape, n, n)) for part in parts]
    found = np.empty(shape)
    for draw in np.ndindex(shape):
        m, c, k = (part[draw] for part in matrices)
        found[draw] = _first_crossing(m, c, k, float(np.broadcast_to(k_e, shape)[draw]), row[0])
    return found


def _first_crossing(m: Samples, c: Samples, k: Samples, k_e: float, row: Samples) -> float:
    """Return the smallest delay [s] of one loop."""
    n = len(m)
    stiff, damped, push = (np.linalg.solve(m, part) for part in (k, c, k_e * row))
    # in units of the fastest motion, so that all matrices are near one
    unit = float(np.sqrt(np.max(np.abs(np.linalg.eigvals(stiff + np.outer(push, row))), initial=1e-300)))
    rate = np.block([[np.zeros((n, n)), np.eye(n)], [-stiff / unit**2, -damped / unit]])
    entry, reading = np.concatenate([np.zeros(n), push / unit**2]), np.concatenate([row, np.zeros(n)])
    if np.max(np.linalg.eigvals(rate - np.outer(entry, reading)).real) > _ON_AXIS:
        return 0.0
    hamiltonian = np.block([[rate, np.outer(entry, entry)], [-np.outer(reading, reading), -rate.T]])
    roots = np.linalg.eigvals(hamiltonian)
    delays = [np.inf]
    for w in roots.imag[(np.abs(roots.real) < _ON_AXIS) & (roots.imag > _ON_AXIS)]:
        gain = reading @ np.linalg.solve(1j * w * np.eye(2 * n) - rate, entry)
        if abs(abs(gain) - 1.0) < _CROSSING:  # or a mode without damping that the actuator does not move
            phase = float(np.angle(-gain))
            # without damping the crossing is at no delay, and the phase zero but for rounding
            delays.append((phase % (2.0 * pi) if phase < -_ON_AXIS else abs(phase)) / (w * unit))
    return float(min(delays))


def simulated_critical_delay(
    mass: ArrayLike, damping: ArrayLike, stiffness: ArrayLike, specimen: ArrayLike, longest: ArrayLike | None = None
) -> Samples:
    """Return the delay [s] at which simulated loops begin to grow, by repeated division of a bracket.

    All structures and, of each, eight delays between the bounds run at once; the first that grows and the one before
    it are the next bounds. Infinite where the loop does not grow at any delay up to `longest`.

    Parameters
    ----------
    mass, damping, stiffness, specimen : as in `analytic_critical_delay`.
    longest : s, the largest delay that is looked at; a period of the coupled structure by default.
    """
    m, c, k, k_e = np.broadcast_arrays(
        *(np.asarray(v, dtype=np.float64) for v in (mass, damping, stiffness, specimen))
    )
    shape = m.shape
    m, c, k, k_e = (v.reshape(-1, 1) for v in (m, c, k, k_e))
    turn = np.sqrt((k + k_e) / m)
    low, high = (
        np.zeros_like(m),
        2.0 * pi / turn if longest is None else np.broadcast_to(longest, shape).reshape(-1, 1),
    )
    low, high, found = low.copy(), high.copy(), np.ones(m.shape, dtype=np.bool_)
    for turned in range(_ROUNDS):
        delays = low + (high - low) * np.linspace(0.0, 1.0, _DELAYS + 1)[1:]
        grows = _growth(m, c, k, k_e, delays) > 0.0
        if turned == 0:
            found = np.any(grows, axis=1, keepdims=True)
        first = np.where(np.any(grows, axis=1), np.argmax(grows, axis=1), _DELAYS - 1)[:, None]
        high = np.take_along_axis(delays, first, axis=1)
        low = np.where(first > 0, np.take_along_axis(delays, np.maximum(first - 1, 0), axis=1), low)
    return np.where(found, 0.5 * (low + high), np.inf).reshape(shape)


def _growth(m: Samples, c: Samples, k: Samples, k_e: Samples, delays: Samples) -> Samples:
    """Return (structures, delays): the logarithm of late over early motion after a push."""
    # time in units of each structure's own, so that one time step suits all
    turn = np.sqrt((k + k_e) / m)
    unit = np.ones_like(delays)[..., None, None]
    total = k + k_e
    structure = Structure(unit, (c / (m * turn))[..., None, None] * unit, (k / total)[..., None, None] * unit)
    dt = 2.0 * pi / _STEPS_PER_PERIOD
    n = _STEPS_PER_PERIOD * _PERIODS
    push = np.zeros((n, 1, 1, 1))
    push[:10] = 1.0
    loop = HybridLoop(
        structure=structure,
        specimen=LinearSpring((k_e / total)[..., None]),
        excitation=push,
        dt=dt,
        duration=n * dt,
        transfer=TransferChain((Delay((delays * turn)[..., None]),)),
        draws=delays.shape,
        stroke=1e12,
    )
    motion = np.abs(loop.run().command[..., 0])
    third = n // 3
    with np.errstate(divide="ignore"):
        growth = np.log(np.max(motion[-third:], axis=0) / np.max(motion[third : 2 * third], axis=0))
    # one that left its stroke has grown
    return np.where(np.isnan(growth), np.inf, growth)


@dataclass(frozen=True, eq=False)
class EnergyBalance:
    """Energies at the middle between two time steps, from the first middle on, each (steps - 1, ...) in J.

    Parameters
    ----------
    time : (steps - 1,) s.
    kinetic : of the masses.
    strain : stored in K.
    damped : dissipated by C.
    springs : work done on the nonlinear springs of the structure, stored and dissipated.
    specimen : work done on the specimen, where it is.
    load : work of the load.
    fed_in : work done on the specimen less the work that the structure did on it: what the transfer system adds.
    """

    time: Samples
    kinetic: Samples
    strain: Samples
    damped: Samples
    springs: Samples
    specimen: Samples
    load: Samples
    fed_in: Samples

    @property
    def deficit(self) -> Samples:
        """(steps - 1, ...) J: energy in structure and specimen, and what was dissipated, less the load's work."""
        held = self.kinetic + self.strain + self.damped + self.springs + self.specimen - self.load
        return np.asarray(held - held[0])


def energy_balance(record: LoopRecord, structure: Structure, coupling: ArrayLike | None = None) -> EnergyBalance:
    """Return the balance of a record of one target a step, with the coupling of its loop.

    It is the balance that explicit Newmark fulfils exactly: its equation at a step times the mean of the
    displacement's differences before and after it. With w = (x[n+1] - x[n])/dt the energy at the middle is
    w M w / 2 + x[n+1] K x[n] / 2, and a force f[n] does the work f[n] (x[n+1] - x[n-1])/2. With a perfect transfer
    system the deficit of that integrator is rounding; that of any other is its error. With a real one it is the
    energy that was fed in.
    """
    mass, damping, stiffness = structure.matrices
    dt = float(record.time[1] - record.time[0])
    x = record.displacement
    matrix = np.eye(structure.dofs) if coupling is None else np.asarray(coupling, dtype=np.float64)
    speed = np.diff(x, axis=0) / dt
    mean = 0.5 * (speed[1:] + speed[:-1])
    by_structure = _work(record.force, x @ matrix.T)
    by_actuator = _work(record.force, record.position)
    return EnergyBalance(
        time=record.time[:-1] + 0.5 * dt,
        kinetic=0.5 * np.sum(speed * product(mass, speed), axis=-1),
        strain=0.5 * np.sum(x[1:] * product(stiffness, x[:-1]), axis=-1),
        damped=_from_zero(np.sum(mean * product(damping, mean), axis=-1) * dt),
        springs=_work(record.spring_force, x),
        specimen=by_actuator,
        load=_work(record.load, x),
        fed_in=by_actuator - by_structure,
    )


def _work(force: Samples, place: Samples) -> Samples:
    """Return (steps - 1, ...): sum of force times the mean of the differences on both sides, over the last axis."""
    return _from_zero(np.sum(force[1:-1] * 0.5 * (place[2:] - place[:-2]), axis=-1))


def _from_zero(steps: Samples) -> Samples:
    return np.concatenate([np.zeros_like(steps[:1]), np.cumsum(steps, axis=0)])
