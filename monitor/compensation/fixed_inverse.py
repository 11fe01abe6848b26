"""The fixed inverse of a nominal actuator: the compensator without adaptation, and the nominal part of the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial

import numpy as np

from monitor.compensation.base import LARGEST_ORDER, Compensation, Compensator, Shape, check_coefficients
from monitor.messages.blocks import Samples

_LARGEST_DELAY = 1.0  # s: a longer one is in ms


@dataclass(frozen=True, eq=False)
class FixedInverse(Compensation):
    """Sends ``a0 x + a1 x' + a2 x'' + ...``; by default the command itself.

    Parameters
    ----------
    coefficients : a0 [1], a1 [s], a2 [s^2], ...: numbers, or arrays that broadcast to the commands. An actuator of
        transfer function ``1 / (a2 s^2 + a1 s + a0)`` is inverted exactly.
    spacing : s between the commands of which derivatives are taken; 0: one sample. A larger one amplifies noise of
        the command less and is less accurate for fast motion.
    ramp : s that switching on or off takes.
    """

    coefficients: tuple[float | Samples, ...] = (1.0,)
    spacing: float = 0.0
    ramp: float = 0.5

    def __post_init__(self) -> None:
        check_coefficients(self.coefficients)
        if not 0.0 <= self.spacing < np.inf:
            raise ValueError(f"spacing = {self.spacing} s: must be zero or a positive time")

    @classmethod
    def of_delay(
        cls, delay: float | Samples, ratio: float | Samples = 1.0, order: int = 2, *, spacing: float = 0.0
    ) -> FixedInverse:
        """Return the lead that makes up for a delay [s] and a command/measured ratio, as a series in the delay."""
        if not np.all(np.abs(delay) <= _LARGEST_DELAY):
            raise ValueError(f"delay = {delay} s: must be within +-{_LARGEST_DELAY:g} s; is it in ms?")
        powers = range(_checked(order) + 1)
        return cls(tuple(ratio * delay**j / factorial(j) for j in powers), spacing)

    @classmethod
    def of_plant(
        cls, numerator: Sequence[float], denominator: Sequence[float], order: int = 3, *, spacing: float = 0.0
    ) -> FixedInverse:
        """Return the inverse of a transfer function, powers of s with the highest first, as a series in s."""
        above, below = (
            np.pad(np.asarray(p, dtype=np.float64)[::-1], (0, LARGEST_ORDER + 1)) for p in (denominator, numerator)
        )
        if above[0] == 0.0:
            raise ValueError(
                "the plant's denominator ends with 0: it has an integrator and no static gain, give the closed loop"
            )
        if not below[0] != 0.0:
            raise ValueError(
                "the plant's numerator ends with 0: it does not follow a constant command, give one that does"
            )
        series: list[float] = []
        for j in range(_checked(order) + 1):
            known = sum(series[i] * below[j - i] for i in range(j))
            series.append(float((above[j] - known) / below[0]))
        return cls(tuple(series), spacing)

    def begin(self, dt: float, shape: Shape = (1,)) -> Compensator:
        """Return it at rest, see `Compensation`."""
        return Compensator(dt, shape, self.stacked(shape), spacing=self.spacing, ramp=self.ramp)

    def stacked(self, shape: Shape) -> Samples:
        """Return (order + 1, *shape), the coefficients."""
        return np.stack([np.broadcast_to(np.asarray(each, dtype=np.float64), shape) for each in self.coefficients])


def _checked(order: int) -> int:
    if not 0 <= order <= LARGEST_ORDER:
        raise ValueError(f"order = {order}: must be 0 to {LARGEST_ORDER}")
    return order
