"""The delay at which a linear loop of one degree of freedom loses stability: analytic, and by simulation."""

from __future__ import annotations

from math import pi

import numpy as np
from numpy.typing import ArrayLike

from sim.arrays import Samples
from sim.laboratory.elements import LinearSpring
from sim.laboratory.loop import HybridLoop
from sim.laboratory.structure import Structure
from sim.laboratory.transfer import TransferChain
from sim.laboratory.transfer_linear import Delay
from sim.ranges import check_not_negative, check_positive

_STEPS_PER_PERIOD, _PERIODS = 100, 30
_DELAYS, _ROUNDS = 8, 5


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
    check_positive("structure", mass=m)
    check_not_negative("structure", damping=c, stiffness=k, specimen=k_e)
    b = c**2 - 2.0 * m * k
    discriminant = b**2 - 4.0 * m**2 * (k**2 - k_e**2)
    critical = np.full(m.shape, np.inf)
    for sign in (1.0, -1.0):
        with np.errstate(invalid="ignore", divide="ignore"):
            w = np.sqrt((-b + sign * np.sqrt(discriminant)) / (2.0 * m**2))
            delay = np.arctan2(c * w, m * w**2 - k) / w
        critical = np.fmin(critical, np.where(w > 0.0, delay, np.inf))
    return critical


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
    structure = Structure(
        unit,
        (c / (m * turn))[..., None, None] * unit,
        (k / total)[..., None, None] * unit,
    )
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
