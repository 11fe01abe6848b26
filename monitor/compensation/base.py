"""What all compensators share: a polynomial lead from past commands, blending on and off, and published columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from math import factorial, isfinite
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from monitor.catalogue import Output
from monitor.compensation.lead import AT, FIT, HELD, LEAD, ON, SHARE, Lead, new_lead, send
from monitor.indicators.parts.memory import arrays_of, new_memory
from monitor.messages.blocks import Channel, Role, Samples

Shape = tuple[int, ...]

# of every compensator; the delay and gain are those of the lead it applies to a slow motion
COLUMNS = (
    Output("compensated_delay", "s"),
    Output("compensator_gain", "1"),
    Output("compensator_adapting", "1"),
    Output("compensator_bridged", "samples"),
    Output("compensator_limited", "1"),
    Output("compensator_held", "samples"),
)
# s between changes of the coefficients; between them the weights of the taps change linearly
_BLOCK = 0.004
LARGEST_ORDER = 5
# s: a longer time is one in ms
LONGEST_WINDOW = 60.0


def channels(actuator: str, columns: Iterable[Output] = COLUMNS) -> tuple[Channel, ...]:
    """Return the auxiliary channels in which a rig streams a compensator's columns for one actuator."""
    return tuple(Channel(f"{actuator}.{column.name}", Role.AUXILIARY, column.unit) for column in columns)


def block_of(dt: float) -> int:
    """Return the samples between changes of the coefficients."""
    return max(1, round(_BLOCK / dt))


def derivative_weights(order: int, spacing: float) -> Samples:
    """Return (order + 1, order + 1): weights of taps `spacing` [s] apart, newest first, for a derivative a column.

    They are exact for polynomials of that order: their error for a derivative of any order is that of the series.
    """
    taps, powers = np.arange(order + 1.0), np.arange(order + 1)
    # derivative j of the motion contributes (-k spacing)^j / j! to tap k
    series = (-taps) ** powers[:, None] / np.array([float(factorial(j)) for j in powers])[:, None]
    return np.asarray(np.linalg.inv(series) / spacing**powers, dtype=np.float64)


class Compensation(ABC):
    """Settings of a compensator, frozen.

    Attributes
    ----------
    columns : names and units of the running compensator's `values`.
    """

    columns: ClassVar[tuple[Output, ...]] = COLUMNS

    @abstractmethod
    def begin(self, dt: float, shape: Shape = (1,)) -> Compensator:
        """Return it at rest, to be called every `dt` seconds with arrays of `shape`, the last axis actuators."""


class Compensator:
    """A running compensator: sends ``a0 x + a1 x' + a2 x'' + ...`` for the command x.

    Parameters
    ----------
    dt : s between samples.
    shape : of the commands; the last axis is actuators, leading axes are independent tests.
    coefficients : (order + 1, ...) a0, a1, ... that broadcast to (order + 1, *shape).
    spacing : s between the commands of which derivatives are taken, rounded to samples, at least one.
    ramp : s that switching on or off takes.
    fit : arrays of an adaptation, which a kernel finds in the memory.

    Attributes
    ----------
    columns : names and units of `values`.
    """

    columns: ClassVar[tuple[Output, ...]] = COLUMNS

    def __init__(
        self,
        dt: float,
        shape: Shape,
        coefficients: ArrayLike,
        *,
        spacing: float,
        ramp: float,
        fit: tuple[NDArray[Any], ...] | None = None,
    ) -> None:
        if not (isfinite(dt) and dt > 0.0):
            raise ValueError(f"dt = {dt} s: must be a positive time step")
        if not (isfinite(ramp) and ramp > 0.0):
            raise ValueError(f"ramp = {ramp} s: must be a positive time")
        self.dt, self.shape, self.n = dt, shape, int(np.prod(shape))
        given = np.asarray(coefficients, dtype=np.float64)
        self._order = len(given) - 1
        given = given.reshape(len(given), *(1,) * (1 + len(shape) - given.ndim), *given.shape[1:])
        first = np.broadcast_to(given, (len(given), *shape)).reshape(len(given), self.n).T.copy()
        gap = max(1, round(spacing / dt))
        lead = new_lead(first, derivative_weights(self._order, gap * dt), block_of(dt), gap, dt / ramp)
        parts = {LEAD: lead, **({} if fit is None else {FIT: fit})}
        self.memory = new_memory(parts, dict.fromkeys(parts, 0))
        """All that it remembers, for kernels."""
        self.block = block_of(dt)
        # views of it
        self._lead = arrays_of(self.memory, LEAD, Lead)
        self.coefficients = self._lead.coefficients.T
        """(order + 1, n) a0, a1, ..."""
        # of an adaptive one
        self._adapting: NDArray[Any] = np.zeros(self.n, np.bool_)
        self._limited: NDArray[Any] = np.zeros(self.n, np.bool_)
        self._bridged: NDArray[Any] = np.zeros(self.n, np.int64)

    def compensate(self, command: ArrayLike) -> Samples:
        """Return what to send to the actuators so that they follow the command, the same shape.

        While a command that it is made of is not finite, the last value is sent again; what was missed is made up
        over as many samples as were held.
        """
        x = np.ascontiguousarray(command, dtype=np.float64)
        if x.shape != self.shape:
            raise ValueError(f"command {x.shape}: must be {self.shape}, as at the begin")
        if not send(self.memory, x.reshape(self.n)):
            raise ValueError("the first command is not finite: there is no earlier one that could be sent again")
        return self._lead.sent.reshape(self.shape).copy()

    def observe(self, command: ArrayLike, measured: ArrayLike) -> None:
        """Learn from command and measured signal of one instant, once a step; lost samples are NaN."""
        self._pair(command, measured)

    def _pair(self, command: ArrayLike, measured: ArrayLike) -> tuple[Samples, Samples]:
        """Return both, (n,): the command is always finite, and measured is NaN where there was none to compensate."""
        c, m = self._checked(command, measured)
        newest = self._lead.ring[:, self._lead.sizes[AT]]
        # what was compensated is known, even where its record is lost
        return np.where(np.isfinite(c), c, self._lead.command), np.where(np.isfinite(newest), m, np.nan)

    def _checked(self, command: ArrayLike, measured: ArrayLike) -> tuple[Samples, Samples]:
        c, m = np.ascontiguousarray(command, np.float64), np.ascontiguousarray(measured, np.float64)
        if c.shape != self.shape or m.shape != self.shape:
            raise ValueError(f"command {c.shape}, measured {m.shape}: both must be {self.shape}, as at the begin")
        if self._lead.sizes[AT] < 0:
            raise ValueError("observe before the first compensate: call compensate, then observe, once in every step")
        return c.reshape(self.n), m.reshape(self.n)

    def switch(self, on: bool) -> None:
        """Blend the compensation in or out; what is sent stays continuous."""
        if not isinstance(on, bool | np.bool_):
            raise TypeError(f"switch({on!r}): must be True or False")
        self._lead.sizes[ON] = on

    @property
    def on(self) -> bool:
        """Whether it compensates, or is about to."""
        return bool(self._lead.sizes[ON])

    @property
    def values(self) -> Samples:
        """(*shape, n_columns): newest values of `columns`."""
        return np.stack(self._values(), axis=-1).reshape(*self.shape, len(self.columns))

    def _values(self) -> list[Samples]:
        gain, lead = self._effective()
        counted = (self._adapting, self._bridged, self._limited, self._lead.counts[:, HELD])
        return [lead, gain, *(each.astype(np.float64) for each in counted)]

    def _effective(self) -> tuple[Samples, Samples]:
        """Return gain and lead [s], (n,) each, that are applied to a slow motion, as far as it is switched on."""
        share = self._lead.blend[SHARE]
        gain = 1.0 + share * (self.coefficients[0] - 1.0)
        lead = share * self.coefficients[1] / gain if self._order else np.zeros(self.n)
        return np.asarray(gain), np.asarray(lead)


def check_low_pass(cutoff: float, order: int) -> None:
    """Raise ValueError unless the low-pass has a cutoff, Hz, and an even order."""
    if not (order >= 2 and order % 2 == 0):
        raise ValueError(f"filter_order = {order}: must be 2, 4, 6, ...")
    if not 0.0 < cutoff < np.inf:
        raise ValueError(f"cutoff = {cutoff} Hz: must be a positive frequency")


def check_gate(relative: float) -> None:
    """Raise ValueError unless a gate, as a fraction of the largest motion, is 0 to 1."""
    if not 0.0 <= relative < 1.0:
        raise ValueError(f"gate = {relative} of the largest motion: must be 0 or more and less than 1; is it in %?")


def check_window(window: float, longest_gap: float) -> None:
    """Raise ValueError unless the window and the longest bridged gap, s, are positive and fit each other."""
    for name, value in (("window", window), ("longest_gap", longest_gap)):
        if not 0.0 < value < np.inf:
            raise ValueError(f"{name} = {value} s: must be a positive time")
    if window > LONGEST_WINDOW:
        raise ValueError(f"window = {window} s: must be at most {LONGEST_WINDOW:g} s; is it in ms?")
    if longest_gap >= window:
        raise ValueError(f"longest_gap = {longest_gap} s: must be shorter than the window of {window:g} s")


def check_coefficients(coefficients: tuple[float | Samples, ...]) -> None:
    """Raise ValueError unless there are 1 to 6 finite coefficients, the first positive."""
    if not 1 <= len(coefficients) <= LARGEST_ORDER + 1:
        raise ValueError(f"{len(coefficients)} coefficients: give 1 to {LARGEST_ORDER + 1}, a0 first")
    if not all(np.all(np.isfinite(each)) for each in coefficients) or np.any(np.asarray(coefficients[0]) <= 0.0):
        raise ValueError(f"coefficients {coefficients}: all must be finite and a0, the gain, positive")
