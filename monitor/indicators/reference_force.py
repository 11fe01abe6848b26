"""What needs the force, of HSEM and of the specimen, by its definition in plain numpy: continues `reference`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.indicators.reference import Vector, hann_averages, sine_of_step

_RATE = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0.0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
"""The derivative by nine samples, the oldest first."""


def viscous_loops() -> tuple[Vector, Vector, Vector]:
    """Return command, measured and force of the examples, (600,) each: 1.5 Hz at 200 Hz, stiffness 5, damping 4 %."""
    t, w = np.arange(600) / 200.0, 3.0 * np.pi
    x_c, x_m = np.sin(w * t), 0.8 * np.sin(w * (t - 0.012))
    return x_c, x_m, 5.0 * x_m + 2.0 * 0.04 * 5.0 / w * 0.8 * w * np.cos(w * (t - 0.012)) + 0.5


def energy_error(x_c: Vector, x_m: Vector, f_m: Vector) -> float:
    """Return HSEM's energy: between the loops of the force against measured and against the commanded displacement.

    Mosqueda, Stojadinovic and Mahin 2007, doi:10.1061/(ASCE)0733-9445(2007)133:8(1100). A lag makes it positive:
    ``pi k A_c A_m sin(lag)`` a cycle of a spring.

    >>> x_c, x_m, _ = viscous_loops()
    >>> print(f"{energy_error(x_c, x_m, 5.0 * x_m):.3f}, of 4.5 cycles {4.5 * np.pi * 4.0 * np.sin(0.1131):.3f}")
    6.374, of 4.5 cycles 6.382
    """
    return float(_work(f_m, x_m)[-1] - _work(f_m, x_c)[-1])


def normalized_energy_error(x_c: Vector, x_m: Vector, f_m: Vector) -> Vector:
    """Return (n,): the energy error so far over the span so far of the work along the command (ours).

    >>> x_c, x_m, _ = viscous_loops()
    >>> print(f"{normalized_energy_error(x_c, x_m, 5.0 * x_m)[-1]:.3f}")
    0.798
    """
    along = _work(f_m, x_c)
    span: Vector = np.maximum.accumulate(along) - np.minimum.accumulate(along)
    with np.errstate(invalid="ignore"):
        return (_work(f_m, x_m) - along) / span


def added_damping(x_c: Vector, x_m: Vector, f_m: Vector) -> float:
    """Return minus the energy error of a cycle over 4 pi times the strain energy of the command (ours).

    Of a spring it is ``sin(phase) / (2 ratio)``, per unit of the specimen's share of the stiffness.

    >>> x_c, x_m, _ = viscous_loops()
    >>> print(f"{added_damping(x_c, x_m, 5.0 * x_m):.4f} {0.5 * 0.8 * np.sin(-0.1131):.4f}")
    -0.0451 -0.0451
    """
    per_radian = hann_averages(f_m, x_m - x_c)[0] / sine_of_step(x_c)
    _, common, _, measured = hann_averages(f_m, x_m)
    strain_energy = common / measured * hann_averages(x_c, x_c)[1]
    return float(-2.0 * np.pi * per_radian / (4.0 * np.pi * strain_energy))


def _work(force: Vector, x: Vector) -> Vector:
    """Return the work of a force along a displacement, (n,), from the first sample on."""
    return np.concatenate([[0.0], np.cumsum(0.5 * (force[1:] + force[:-1]) * np.diff(x))])


class EquivalentStiffness(NamedTuple):
    """``force = offset + stiffness x + viscosity x'``; viscosity in force times s; ``omega`` rad/s of the command."""

    stiffness: float
    viscosity: float
    omega: float
    residual: float

    @property
    def damping(self) -> float:
        """Equivalent viscous damping ratio: of whole cycles the energy of one over 4 pi times the strain energy."""
        return self.viscosity * self.omega / (2.0 * self.stiffness)


def equivalent_stiffness(x_c: Vector, x_m: Vector, f_m: Vector, sample_rate: float) -> EquivalentStiffness:
    """Return stiffness and damping of a specimen on any motion, and the displacement at which it has no force.

    The equivalent linear system of force against displacement, whose damping is that of closed loops (Jacobsen 1930);
    by instrumental variables (Soderstrom and Stoica 1989): the command and its rate under Hann weights, which know
    nothing of the noise of the displacement sensor. Ours is the combination.

    Parameters
    ----------
    x_c, x_m, f_m : (n,), command, measured and force; the first and last four only give the rate.
    sample_rate : Hz.

    Examples
    --------
    >>> found = equivalent_stiffness(*viscous_loops(), 200.0)
    >>> print(f"{found.stiffness:.4f}, damping {found.damping:.4f}, no force at {found.residual:.4f}")
    5.0000, damping 0.0400, no force at -0.1000
    """
    command_rate, rate = (np.convolve(x, _RATE[::-1], "valid") * sample_rate for x in (x_c, x_m))
    c, x, f = (each[4:-4] for each in (x_c, x_m, f_m))
    hann = np.hanning(2 * len(c) + 1)[1::2]
    instruments = np.stack([hann, hann * c, hann * command_rate])
    offset, stiffness, viscosity = np.linalg.solve(
        instruments @ np.stack([np.ones(len(c)), x, rate]).T, instruments @ f
    )
    c, command_rate = (each - np.average(each, weights=hann) for each in (c, command_rate))
    omega = np.sqrt(np.sum(hann * command_rate**2) / np.sum(hann * c**2))
    return EquivalentStiffness(float(stiffness), float(viscosity), float(omega), float(-offset / stiffness))


def closed_loop(x: Vector, f: Vector) -> tuple[float, float, float]:
    """Return secant stiffness, equivalent viscous damping ratio and energy of one closed loop of force against x.

    The line between the largest and the smallest displacement, and the area over 4 pi times the strain energy at half
    of their distance: Chopra, Dynamics of Structures, 3.9; effective stiffness and damping of isolators in ASCE 7.

    >>> _, x, f = (signal[:134] for signal in viscous_loops())
    >>> print(*(f"{value:.2f}" for value in closed_loop(x, f)), f"{np.pi * 2 * 0.04 * 5 * 0.8**2:.2f}")
    5.00 0.04 0.80 0.80
    """
    high, low = np.argmax(x), np.argmin(x)
    secant, half = (f[high] - f[low]) / (x[high] - x[low]), 0.5 * (x[high] - x[low])
    energy = float(np.sum(0.5 * (f[1:] + f[:-1]) * np.diff(x)))
    return float(secant), float(energy / (2.0 * np.pi * secant * half**2)), energy
