"""The impact test's motion: Runge-Kutta of order four between events, which end a step where they happen; compiled.

Contacts, lift-off and a slack bolt switch the equations. A step in which one of them switches is halved until it ends
at the switch, so that every step is of smooth equations and keeps its order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sim.arrays import Samples
from sim.kernels import kernel

# columns of the parameters
(
    CARRIAGE, IMPACTOR, INERTIA, HALF_WIDTH, FLOOR, CHI, AREA, THICKNESS, SHEAR, EXPONENT, TRANSVERSE, VISCOUS,
    RELAXATION, BOLT, PRELOAD, GRAVITY,
) = range(16)  # fmt: skip
N_PARAMETERS = 16
# heave of the carriage and its tilt, compression of the pad by the impactor, their rates, overstress and own strain
# of the pad, dissipated energy
HEAVE, TILT, COMPRESSION, HEAVE_RATE, TILT_RATE, COMPRESSION_RATE, OVERSTRESS, STRAIN, DISSIPATED = range(9)
N_STATES = 9
# contacts of the carriage's edges with the floor, of the impactor with the pad; the bolt is taut
RIGHT, LEFT, PAD, TAUT = range(4)
_HALVINGS = 40
_MOST_EVENTS = 200

Switches = NDArray[np.bool_]


@kernel
def pad_stress(strain: float, p: Samples) -> float:
    """Return the long-term nominal stress, compression positive, of Storakers' foam in uniaxial compression."""
    stretch = 1.0 - strain
    side: float = stretch ** (-p[TRANSVERSE] * p[EXPONENT] - 1.0) - stretch ** (p[EXPONENT] - 1.0)
    stress: float = 2.0 * p[SHEAR] / p[EXPONENT] * side
    return stress


@kernel
def _pad_modulus(strain: float, p: Samples) -> float:
    stretch = 1.0 - strain
    a, b = p[EXPONENT] - 1.0, -p[TRANSVERSE] * p[EXPONENT] - 1.0
    slope: float = a * stretch ** (a - 1.0) - b * stretch ** (b - 1.0)
    modulus: float = 2.0 * p[SHEAR] / p[EXPONENT] * slope
    return modulus


@kernel
def _floor_force(y: Samples, p: Samples, side: float) -> tuple[float, float, float]:
    """Return depth and speed of one edge in the floor, and the force there (Hunt and Crossley 1975)."""
    depth = -(y[HEAVE] + side * p[HALF_WIDTH] * y[TILT])
    speed = -(y[HEAVE_RATE] + side * p[HALF_WIDTH] * y[TILT_RATE])
    return depth, speed, 0.5 * p[FLOOR] * depth * (1.0 + p[CHI] * speed)


@kernel
def _forces(y: Samples, on: Switches, p: Samples) -> tuple[float, float, float, float]:
    """Return the forces of floor (right, left), pad and bolt, N."""
    right = _floor_force(y, p, 1.0)[2] if on[RIGHT] else 0.0
    left = _floor_force(y, p, -1.0)[2] if on[LEFT] else 0.0
    pad = p[AREA] * (pad_stress(y[COMPRESSION] / p[THICKNESS], p) + y[OVERSTRESS]) if on[PAD] else 0.0
    bolt = p[PRELOAD] - p[BOLT] * y[COMPRESSION] if on[TAUT] else 0.0
    return right, left, pad, bolt


@kernel
def _rates(y: Samples, on: Switches, p: Samples, dy: Samples) -> None:
    right, left, pad, bolt = _forces(y, on, p)
    carriage = (right + left - pad + bolt) / p[CARRIAGE]
    dy[HEAVE], dy[TILT], dy[COMPRESSION] = y[HEAVE_RATE], y[TILT_RATE], y[COMPRESSION_RATE]
    dy[HEAVE_RATE] = carriage - p[GRAVITY]
    dy[TILT_RATE] = p[HALF_WIDTH] * (right - left) / p[INERTIA]
    dy[COMPRESSION_RATE] = carriage - (pad - bolt) / p[IMPACTOR]
    relaxed = y[OVERSTRESS] / p[RELAXATION]
    if on[PAD]:
        strain_rate = y[COMPRESSION_RATE] / p[THICKNESS]
    else:
        # a free surface: long-term stress and overstress remain in balance
        strain_rate = relaxed / (_pad_modulus(y[STRAIN], p) + p[VISCOUS])
    dy[STRAIN] = strain_rate
    dy[OVERSTRESS] = p[VISCOUS] * strain_rate - relaxed
    lost = p[AREA] * p[THICKNESS] * y[OVERSTRESS] * relaxed / p[VISCOUS] if p[VISCOUS] > 0.0 else 0.0
    for side, contact in ((1.0, on[RIGHT]), (-1.0, on[LEFT])):
        if contact:
            depth, speed, _ = _floor_force(y, p, side)
            lost += 0.5 * p[FLOOR] * p[CHI] * depth * speed * speed
    dy[DISSIPATED] = lost


@kernel
def _stepped(y: Samples, on: Switches, p: Samples, h: float, work: Samples, later: Samples) -> None:
    """Fill `later` with the state a step later."""
    _rates(y, on, p, work[0])
    for i in range(N_STATES):
        later[i] = y[i] + 0.5 * h * work[0, i]
    _rates(later, on, p, work[1])
    for i in range(N_STATES):
        later[i] = y[i] + 0.5 * h * work[1, i]
    _rates(later, on, p, work[2])
    for i in range(N_STATES):
        later[i] = y[i] + h * work[2, i]
    _rates(later, on, p, work[3])
    for i in range(N_STATES):
        later[i] = y[i] + h / 6.0 * (work[0, i] + 2.0 * (work[1, i] + work[2, i]) + work[3, i])


@kernel
def _switched(y: Samples, on: Switches, p: Samples, wanted: Switches) -> bool:
    """Fill `wanted` with what the switches should be in this state; return whether one of them is another."""
    for which, side in ((RIGHT, 1.0), (LEFT, -1.0)):
        depth, _, force = _floor_force(y, p, side)
        wanted[which] = force >= 0.0 and depth >= 0.0 if on[which] else depth > 0.0 and force > 0.0
    if on[PAD]:
        wanted[PAD] = pad_stress(y[COMPRESSION] / p[THICKNESS], p) + y[OVERSTRESS] >= 0.0
    else:
        wanted[PAD] = y[COMPRESSION] > p[THICKNESS] * y[STRAIN]
    slack = p[PRELOAD] - p[BOLT] * y[COMPRESSION]
    wanted[TAUT] = slack >= 0.0 if on[TAUT] else slack > 0.0
    found = False
    for i in range(4):
        found = found or wanted[i] != on[i]
    return found


@kernel
def drop(
    parameters: Samples,
    states: Samples,
    dt: float,
    impactor: Samples,
    carriage: Samples,
    turning: Samples,
    events: Samples,
) -> None:
    """Move each state to the last instant; fill what accelerometers on impactor and carriage read, and the turning.

    Parameters
    ----------
    parameters : (m, 16), see the columns; the bolt's preload is the force that it would have at no compression.
    states : (m, 9), changed in place; a NaN in it: the step is too long for so violent an impact.
    dt : s.
    impactor, carriage, turning : (n_times, m), filled, m/s^2 and rad/s^2: nothing in free fall.
    events : (m, 4), filled: s of the first touch of the right edge and of the left, of the first lift-off of
        the impactor from the pad and of the first slack of the bolt; NaN for never.
    """
    n_times, m = impactor.shape
    work, later, wanted, on = (
        np.empty((4, N_STATES)),
        np.empty(N_STATES),
        np.empty(4, np.bool_),
        np.empty(4, np.bool_),
    )
    best = np.empty(N_STATES)
    for i in range(m):
        p, y = parameters[i], states[i]
        on[:] = False
        on[PAD] = pad_stress(y[COMPRESSION] / p[THICKNESS], p) + y[OVERSTRESS] >= 0.0
        on[TAUT] = p[PRELOAD] >= p[BOLT] * y[COMPRESSION]
        for k in range(4):
            events[i, k] = np.nan
        for now in range(n_times):
            right, left, pad, bolt = _forces(y, on, p)
            impactor[now, i] = (pad - bolt) / p[IMPACTOR]
            carriage[now, i] = (right + left - pad + bolt) / p[CARRIAGE]
            turning[now, i] = p[HALF_WIDTH] * (right - left) / p[INERTIA]
            if now == n_times - 1:
                break
            done, seen = 0.0, 0
            while done < dt:
                _stepped(y, on, p, dt - done, work, later)
                if not _switched(later, on, p, wanted):
                    y[:] = later
                    break
                seen += 1
                if seen > _MOST_EVENTS:
                    y[:] = np.nan
                    break
                low, high = 0.0, dt - done
                best[:] = later
                for _ in range(_HALVINGS):
                    middle = 0.5 * (low + high)
                    _stepped(y, on, p, middle, work, later)
                    if _switched(later, on, p, wanted):
                        high = middle
                        best[:] = later
                    else:
                        low = middle
                y[:] = best
                done += high
                _switched(y, on, p, wanted)
                at = now * dt + done
                for k in range(4):
                    if wanted[k] != on[k]:
                        if k < 2 and wanted[k] and np.isnan(events[i, k]):
                            events[i, k] = at
                        if k >= 2 and not wanted[k] and np.isnan(events[i, k]):
                            events[i, k] = at
                    on[k] = wanted[k]
