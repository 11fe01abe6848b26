"""Springs and dampers of a structure or in the rig: linear, cubic, gap, elastoplastic, Bouc-Wen, and combinations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf

import numpy as np

from sim.arrays import Samples, check_not_negative, check_positive, require
from sim.laboratory.parts import Element, RunningElement, Shape

Parameter = float | Samples

# yield displacements of motion after which the state of before has no influence
_MEMORY = 25.0


class _Stateless(ABC):
    """An element that is in motion what it is at rest: its force depends on position and velocity alone."""

    def begin(self, dt: float, shape: Shape) -> RunningElement:  # noqa: ARG002
        """Return the element itself."""
        return self

    @abstractmethod
    def force(self, position: Samples, velocity: Samples) -> Samples:
        """Return the restoring force, N."""


@dataclass(frozen=True, eq=False)
class LinearSpring(_Stateless):
    """A linear spring of `stiffness` [N/m]."""

    stiffness: Parameter

    def __post_init__(self) -> None:
        check_not_negative("spring", stiffness=self.stiffness)

    def force(self, position: Samples, velocity: Samples) -> Samples:  # noqa: ARG002
        """Return the restoring force, N."""
        return np.asarray(self.stiffness * position)


@dataclass(frozen=True, eq=False)
class Dashpot(_Stateless):
    """A viscous damper of `damping` [N s/m]."""

    damping: Parameter

    def __post_init__(self) -> None:
        check_not_negative("dashpot", damping=self.damping)

    @property
    def stiffness(self) -> float:
        """It has none."""
        return 0.0

    def force(self, position: Samples, velocity: Samples) -> Samples:  # noqa: ARG002
        """Return the restoring force, N."""
        return np.asarray(self.damping * velocity)


@dataclass(frozen=True, eq=False)
class ElastoplasticSpring:
    """A spring that yields, with kinematic hardening.

    Parameters
    ----------
    stiffness : before it yields, N/m.
    yield_displacement : m; infinite for a linear spring.
    hardening : stiffness after yielding over the one before, 0 to 1.
    """

    stiffness: Parameter
    yield_displacement: Parameter = inf
    hardening: Parameter = 0.0

    def __post_init__(self) -> None:
        check_not_negative("spring", stiffness=self.stiffness)
        limit = np.asarray(self.yield_displacement, dtype=np.float64)
        require(bool(np.all(limit > 0.0)), "spring yield_displacement", np.min(limit), "positive")
        _check_share("spring", "hardening", self.hardening)

    def begin(self, dt: float, shape: Shape) -> RunningElement:  # noqa: ARG002 - it has no rate
        """Return it at rest."""
        if np.all(np.isinf(self.yield_displacement)):
            return LinearSpring(self.stiffness)
        return _RunningElastoplastic(self, shape)


class _RunningElastoplastic:
    def __init__(self, spring: ElastoplasticSpring, shape: Shape) -> None:
        self._hardening = spring.hardening * spring.stiffness
        self._yielding = (1.0 - spring.hardening) * spring.stiffness
        self._limit = spring.yield_displacement
        self._lowest = -spring.yield_displacement
        self._slipped = np.zeros(shape)

    def force(self, position: Samples, velocity: Samples) -> Samples:  # noqa: ARG002
        stretch = position - self._slipped
        elastic = np.minimum(np.maximum(stretch, self._lowest), self._limit)
        self._slipped += stretch - elastic
        return np.asarray(self._hardening * position + self._yielding * elastic)


@dataclass(frozen=True, eq=False)
class BoucWenSpring:
    """A smooth hysteretic spring: f = a k x + (1 - a) k x_y z, x_y z' = x' (1 - |z|^n (b sgn(x' z) + 1 - b)).

    Parameters
    ----------
    stiffness : k, initial, N/m.
    yield_displacement : x_y, m.
    hardening : a, stiffness far after yielding over the initial one, 0 to 1.
    exponent : n, sharpness of the yield point, 1 or more.
    shape : b, 0 to 1: 0.5 unloads along the initial stiffness.
    """

    stiffness: Parameter
    yield_displacement: Parameter
    hardening: Parameter = 0.0
    exponent: Parameter = 2.0
    shape: Parameter = 0.5

    def __post_init__(self) -> None:
        check_not_negative("Bouc-Wen", stiffness=self.stiffness)
        check_positive("Bouc-Wen", yield_displacement=self.yield_displacement)
        _check_share("Bouc-Wen", "hardening", self.hardening)
        _check_share("Bouc-Wen", "shape", self.shape)
        require(
            bool(np.all(np.asarray(self.exponent) >= 1.0)), "Bouc-Wen exponent", np.min(self.exponent), "1 or more"
        )

    def begin(self, dt: float, shape: Shape) -> RunningElement:  # noqa: ARG002 - it has no rate
        """Return it at rest."""
        return _RunningBoucWen(self, shape)

    def slipped(self, z: Samples, step: Samples) -> Samples:
        """Return z after a step in yield displacements by Heun's rule, second order like the integration."""
        slope = self._slope(z, step)
        moved = z + 0.5 * step * (slope + self._slope(z + step * slope, step))
        return np.minimum(np.maximum(moved, -1.0), 1.0)

    def _slope(self, z: Samples, direction: Samples) -> Samples:
        """Return x_y dz/dx at z, moving in a direction (its sign counts)."""
        turning = self.shape * np.sign(direction * z) + (1.0 - self.shape)
        return np.asarray(1.0 - np.abs(z) ** self.exponent * turning)


class _RunningBoucWen:
    def __init__(self, spring: BoucWenSpring, shape: Shape) -> None:
        self._spring = spring
        self._hardening = spring.hardening * spring.stiffness
        self._yielding = (1.0 - spring.hardening) * spring.stiffness * spring.yield_displacement
        self._scale = 1.0 / spring.yield_displacement
        self._piece = np.minimum(0.25, 0.5 / np.asarray(spring.exponent))
        self._z, self._last = np.zeros(shape), np.zeros(shape)

    def force(self, position: Samples, velocity: Samples) -> Samples:  # noqa: ARG002
        step = self._scale * (position - self._last)
        self._last = position.copy()
        # what lies farther back than this has no influence on z
        left = np.minimum(np.maximum(step, -_MEMORY), _MEMORY)
        while True:
            # in pieces that are each element's own, or a fast motion would overshoot
            piece = np.minimum(np.maximum(left, -self._piece), self._piece)
            self._z = self._spring.slipped(self._z, piece)
            left = left - piece
            if not np.any(np.abs(left) > 0.0):
                return np.asarray(self._hardening * position + self._yielding * self._z)


@dataclass(frozen=True)
class ParallelElements:
    """Elements side by side at the same position: their forces add."""

    elements: tuple[Element, ...]

    @property
    def stiffness(self) -> Parameter:
        """Sum of their largest stiffnesses, N/m."""
        return sum((element.stiffness for element in self.elements), start=0.0)

    def begin(self, dt: float, shape: Shape) -> RunningElement:
        """Return all of them at rest."""
        return _RunningParallel(tuple(element.begin(dt, shape) for element in self.elements))


class _RunningParallel:
    def __init__(self, elements: tuple[RunningElement, ...]) -> None:
        self._first, *self._others = elements

    def force(self, position: Samples, velocity: Samples) -> Samples:
        total = self._first.force(position, velocity)
        for element in self._others:
            total = total + element.force(position, velocity)
        return total


@dataclass(frozen=True)
class SeparateElements:
    """One element each for the places of the last axis: a specimen for every actuator."""

    elements: tuple[Element, ...]

    @property
    def stiffness(self) -> Parameter:
        """(..., elements): largest stiffness of each, N/m."""
        each = [np.atleast_1d(np.asarray(element.stiffness, dtype=np.float64)) for element in self.elements]
        return np.stack(np.broadcast_arrays(*(value[..., 0] for value in each)), axis=-1)

    def begin(self, dt: float, shape: Shape) -> RunningElement:
        """Return all of them at rest; raises ValueError unless there is one for each place."""
        if shape[-1] != len(self.elements):
            raise ValueError(f"{len(self.elements)} separate elements for {shape[-1]} actuators: give one for each")
        return _RunningSeparate(tuple(element.begin(dt, (*shape[:-1], 1)) for element in self.elements))


class _RunningSeparate:
    def __init__(self, elements: tuple[RunningElement, ...]) -> None:
        self._elements = elements

    def force(self, position: Samples, velocity: Samples) -> Samples:
        pairs = [
            element.force(position[..., i : i + 1], velocity[..., i : i + 1])
            for i, element in enumerate(self._elements)
        ]
        return np.concatenate(pairs, axis=-1)


def _check_share(owner: str, name: str, value: Parameter) -> None:
    values = np.asarray(value, dtype=np.float64)
    wrong = values[~((values >= 0.0) & (values <= 1.0))]
    require(wrong.size == 0, f"{owner} {name}", wrong[0] if wrong.size else None, "from 0 to 1")
