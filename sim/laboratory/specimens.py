"""Specimens: elastomeric and magneto-rheological dampers, and one that changes in mid-test."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import ceil

import numpy as np

from sim.arrays import Samples, check_not_negative, check_positive
from sim.laboratory.elements import Parameter
from sim.laboratory.parts import Element, RunningElement, Shape, passed_share


@dataclass(frozen=True, eq=False)
class ElastomericDamper:
    """Elastomeric dampers: an elastic spring in parallel with a Maxwell element whose dashpot thins. Assumed, ours.

    f = k_e x + k_m z, z' = x' - (1 + (z/z_t)^2) z/tau: stiffer when moved faster, softer when moved farther.
    Raises ValueError for a value that is not positive.

    Parameters
    ----------
    elastic : k_e, N/m.
    viscous : k_m, N/m.
    relaxation : tau, s.
    thinning : z_t, m, the stretch of the Maxwell spring at which its dashpot is half as viscous.
    """

    elastic: Parameter = 1.5e6
    viscous: Parameter = 3.5e6
    relaxation: Parameter = 0.15
    thinning: Parameter = 0.008

    def __post_init__(self) -> None:
        check_positive("damper", **{field.name: getattr(self, field.name) for field in fields(self)})

    @property
    def stiffness(self) -> Parameter:
        """The stiffness of a sudden motion, the largest there is, N/m."""
        return self.elastic + self.viscous

    def begin(self, dt: float, shape: Shape) -> RunningElement:
        """Return them at rest."""
        return _RunningElastomeric(self, dt, shape)


class _RunningElastomeric:
    def __init__(self, damper: ElastomericDamper, dt: float, shape: Shape) -> None:
        self._elastic, self._viscous = damper.elastic, damper.viscous
        # of half a step
        self._decay = np.exp(-0.5 * dt / np.asarray(damper.relaxation))
        self._bend = np.asarray(damper.thinning) ** -2.0 * (1.0 - self._decay**2)
        self._stretch, self._last = np.zeros(shape), np.zeros(shape)

    def force(self, position: Samples, velocity: Samples) -> Samples:  # noqa: ARG002
        # half a step of creep before and after the motion: second order like the integration, stable at any pace
        self._stretch = self._crept(self._crept(self._stretch) + (position - self._last))
        self._last = position.copy()
        return np.asarray(self._elastic * position + self._viscous * self._stretch)

    def _crept(self, stretch: Samples) -> Samples:
        """Return the stretch after half a step at rest: the solution of z' = -(1 + (z/z_t)^2) z/tau."""
        return np.asarray(stretch * self._decay / np.sqrt(1.0 + self._bend * (stretch * stretch)))


@dataclass(frozen=True, eq=False)
class MRDamper:
    """A magneto-rheological damper: the modified Bouc-Wen model of Spencer, Dyke, Sain and Carlson 1997.

    f = c1 y' + k1 (x - x0), (c0 + c1) y' = alpha z + c0 x' + k0 (x - y),
    z' = A (x' - y') - gamma |x' - y'| z |z| - gamma (x' - y') z^2, with alpha, c0 and c1 linear in the voltage of the
    current driver. The values are those of the paper, J. Eng. Mech. 123(3), for a 3 kN damper, in SI; its beta equals
    its gamma. The voltage is constant, so that the lag of the coil does not enter.

    Parameters
    ----------
    voltage : V, 0 to 2.25 in the paper; 0 is a passive damper.
    alpha, alpha_voltage : N/m and N/(m V).
    c0, c0_voltage, c1, c1_voltage : viscosities at large and at small velocities, N s/m and N s/(m V).
    k0, k1 : stiffness at large velocities, and of the accumulator, N/m.
    offset : x0, m: the accumulator's preload is k1 x0.
    gamma : 1/m^2.
    a : A: z yields at sqrt(A / 2 gamma).
    """

    voltage: Parameter = 0.0
    alpha: Parameter = 14000.0
    alpha_voltage: Parameter = 69500.0
    c0: Parameter = 2100.0
    c0_voltage: Parameter = 350.0
    c1: Parameter = 28300.0
    c1_voltage: Parameter = 295.0
    k0: Parameter = 4690.0
    k1: Parameter = 500.0
    offset: Parameter = 0.0
    gamma: Parameter = 3.63e6
    a: Parameter = 301.0

    def __post_init__(self) -> None:
        check_not_negative("MR damper", **{field.name: getattr(self, field.name) for field in fields(self)})
        check_positive("MR damper", c1=self.c1, gamma=self.gamma, a=self.a)

    @property
    def stiffness(self) -> Parameter:
        """The stiffness of a sudden motion, the largest there is, N/m."""
        alpha, c0, c1 = self._at_voltage()
        return np.asarray(self.k1 + (alpha * self.a + self.k0) * (c1 / (c0 + c1)) ** 2)

    def begin(self, dt: float, shape: Shape) -> RunningElement:
        """Return it at rest."""
        alpha, c0, c1 = self._at_voltage()
        return _RunningMR(self, (alpha, c0, c1), dt, shape)

    def _at_voltage(self) -> tuple[Samples, Samples, Samples]:
        volts = np.asarray(self.voltage, dtype=np.float64)
        return (
            self.alpha + self.alpha_voltage * volts,
            self.c0 + self.c0_voltage * volts,
            self.c1 + self.c1_voltage * volts,
        )


class _RunningMR:
    def __init__(
        self, damper: MRDamper, at_voltage: tuple[Samples, Samples, Samples], dt: float, shape: Shape
    ) -> None:
        self._damper = damper
        self._alpha, self._c0, self._c1 = at_voltage
        self._viscous = self._c0 + self._c1
        self._yield = np.sqrt(damper.a / (2.0 * np.asarray(damper.gamma)))
        # steps half as long as the fastest relaxation of y, for accuracy
        fastest = float(np.max((self._alpha * damper.a + damper.k0) / self._viscous))
        self._n = max(1, ceil(2.0 * dt * fastest))
        self._step = dt / self._n
        self._y, self._z, self._last = np.zeros(shape), np.zeros(shape), np.zeros(shape)

    def force(self, position: Samples, velocity: Samples) -> Samples:
        piece = (position - self._last) / self._n
        speed = piece / self._step
        for _ in range(self._n):
            # Heun's rule for y; z yields within some micrometres and is exact for a constant rate of slip
            begun = self._creep(self._last, speed, self._y, self._z)
            self._last = self._last + piece
            z = self._slipped(piece - self._step * begun)
            ended = self._creep(self._last, speed, self._y + self._step * begun, z)
            crept = 0.5 * self._step * (begun + ended)
            self._z = self._slipped(piece - crept)
            self._y = self._y + crept
        self._last = position.copy()
        creep = self._creep(position, velocity, self._y, self._z)
        return np.asarray(self._c1 * creep + self._damper.k1 * (position - self._damper.offset))

    def _creep(self, position: Samples, speed: Samples, y: Samples, z: Samples) -> Samples:
        """Return y' in m/s."""
        pushed = self._alpha * z + self._c0 * speed + self._damper.k0 * (position - y)
        return np.asarray(pushed / self._viscous)

    def _slipped(self, slip: Samples) -> Samples:
        """Return z after a slip of x - y: on a straight line down to zero, then a tanh."""
        sign, path = np.sign(slip), self._damper.a * np.abs(slip)
        start = sign * self._z
        against = start + path
        grown = np.tanh(np.minimum(against, path) / self._yield * (against > 0.0))
        ratio = np.maximum(start, 0.0) / self._yield
        return np.asarray(sign * (np.minimum(against, 0.0) + self._yield * (ratio + grown) / (1.0 + ratio * grown)))


@dataclass(frozen=True)
class ChangingElement:
    """A specimen that becomes another in mid-test: damage, a repair, a magnet switched on.

    Both are moved from the start, the force passes from the first to the second on a straight line.

    Parameters
    ----------
    before, after : the two.
    at : time at which the change begins, s of the laboratory; an array: for each draw.
    ramp : s that it takes, 0 for a step.
    """

    before: Element
    after: Element
    at: Parameter
    ramp: float = 0.0

    def __post_init__(self) -> None:
        check_not_negative("change", at=self.at, ramp=self.ramp)

    @property
    def stiffness(self) -> Parameter:
        """The larger of the two, N/m."""
        return np.maximum(self.before.stiffness, self.after.stiffness)

    def begin(self, dt: float, shape: Shape) -> RunningElement:
        """Return it at rest."""
        return _RunningChange(self, dt, shape)


class _RunningChange:
    def __init__(self, change: ChangingElement, dt: float, shape: Shape) -> None:
        self._before, self._after = change.before.begin(dt, shape), change.after.begin(dt, shape)
        self._passed = passed_share(change.at, change.ramp, dt)

    def force(self, position: Samples, velocity: Samples) -> Samples:
        passed = next(self._passed)
        before, after = self._before.force(position, velocity), self._after.force(position, velocity)
        return np.asarray((1.0 - passed) * before + passed * after)
