"""Parts of the loop that change in mid-test: from one specimen to another, over a ramp."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitor.messages.blocks import Samples
from sim.laboratory.parts import Element, RunningElement, RunningTransfer, Shape, TransferSystem


@dataclass(frozen=True, slots=True)
class Ramp:
    """The share of the second of two parts: 0 until `start` [s], 1 after `lasts` seconds more."""

    start: float
    lasts: float

    def shares(self, dt: float) -> _Shares:
        """Return the shares in steps of `dt` seconds."""
        return _Shares(self, dt)


class _Shares:
    def __init__(self, ramp: Ramp, dt: float) -> None:
        self._value, self._step = -ramp.start / ramp.lasts, dt / ramp.lasts

    def __next__(self) -> float:
        share = min(max(self._value, 0.0), 1.0)
        self._value += self._step
        return share


@dataclass(frozen=True, eq=False)
class ChangingElement:
    """A specimen that becomes another: its force is a mean of both, which are moved alike."""

    first: Element
    second: Element
    ramp: Ramp

    @property
    def stiffness(self) -> float | Samples:
        """Largest tangent stiffness, N/m."""
        return np.maximum(self.first.stiffness, self.second.stiffness)

    def begin(self, dt: float, shape: Shape) -> RunningElement:
        """Return it at rest, see `Element`."""
        return _RunningElement(self.first.begin(dt, shape), self.second.begin(dt, shape), self.ramp.shares(dt))


class _RunningElement:
    def __init__(self, first: RunningElement, second: RunningElement, shares: _Shares) -> None:
        self._first, self._second, self._shares = first, second, shares

    def force(self, position: Samples, velocity: Samples) -> Samples:
        share = next(self._shares)
        first, second = self._first.force(position, velocity), self._second.force(position, velocity)
        return np.asarray(first + share * (second - first))


@dataclass(frozen=True, eq=False)
class ChangingTransfer:
    """A transfer system that becomes another, as its specimen does: a mean of both, which follow the same command."""

    first: TransferSystem
    second: TransferSystem
    ramp: Ramp

    def begin(self, dt: float, shape: Shape, rng: np.random.Generator) -> RunningTransfer:
        """Return it at rest, see `TransferSystem`."""
        parts = self.first.begin(dt, shape, rng), self.second.begin(dt, shape, rng)
        return _RunningTransfer(*parts, self.ramp.shares(dt))


class _RunningTransfer:
    def __init__(self, first: RunningTransfer, second: RunningTransfer, shares: _Shares) -> None:
        self.position = first.position
        self._first, self._second, self._shares = first, second, shares

    def step(self, command: Samples, force: Samples) -> Samples:
        share = next(self._shares)
        first, second = self._first.step(command, force), self._second.step(command, force)
        before, after = self._first.position, self._second.position
        self.position = before + share * (after - before)
        return np.asarray(first + share * (second - first))
