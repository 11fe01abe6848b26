"""The inverse of an actuator, by recursive least squares about a nominal one."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import factorial

import numpy as np

from monitor.catalogue import Output
from monitor.compensation.base import (
    COLUMNS,
    LARGEST_ORDER,
    LONGEST_WINDOW,
    Compensation,
    Shape,
    check_gate,
    check_low_pass,
)
from monitor.compensation.fixed_inverse import FixedInverse
from monitor.compensation.time_series_fit import FitSettings, TimeSeriesCompensator, stacked_coefficients
from monitor.messages.blocks import Samples

_PERIODS = 3.0  # of the low-pass's cutoff in a memory: six values, for four coefficients beside their prior
_SETTLING, _SETTLING_PERIODS = 0.25, 5.0  # s, and of the cutoff, after a start or a gap until the filters settle
# standard deviations of the prior, as shares: of all coefficients, of all but a0, of each from a2 on by itself
_GAIN, _LEAD, _OWN = 0.1, 0.35, 0.25
# and a share of those of a lead, s, which a nominal inverse may lack
_UNKNOWN_LEAD, _UNKNOWN = 0.01, 0.1


@dataclass(frozen=True, eq=False)
class RecursiveInverse(Compensation):
    """Sends ``a0 x + a1 x' + a2 x'' + a3 x'''``; the coefficients are the likeliest ones, by the newest motion.

    As in `AdaptiveTimeSeries`, what was sent is fitted by derivatives of what was measured. Here the rows of the fit
    are forgotten within a fraction of a period, so that a change of actuator or specimen is followed in that time.
    Where they do not tell a coefficient, a prior does, a normal distribution about the nominal inverse. The noise of
    the measured signal, by what the fit leaves, is taken out of the equations.

    Parameters
    ----------
    nominal : the inverse as it is known.
    order : of the derivatives, if that of `nominal` is lower.
    memory : s in which the weight of a row falls to 1/e; by default 3 / cutoff.
    cutoff, filter_order : Hz and order of the Butterworth low-pass of both signals before the fit; the order is even.
    rates : largest change of each coefficient within a second.
    largest_gain, largest_lead : logarithm of a0, and s of a1 at the nominal gain: largest deviation from the nominal
        ones; higher coefficients deviate by as much as those of such a lead.
    relative_gate : measured velocity, as a fraction of the largest so far, below which nothing is adapted.
    longest_gap : s of lost samples that are bridged.
    """

    columns = (*COLUMNS, *(Output(f"inverse_a{j}", unit) for j, unit in enumerate(("1", "s", "s2", "s3"))))

    nominal: FixedInverse = field(default_factory=FixedInverse)
    order: int = 3
    memory: float | None = None
    cutoff: float = 20.0
    filter_order: int = 6
    rates: tuple[float, ...] = (2.0, 0.05, 1e-3, 3e-5, 1e-6, 1e-8)
    largest_gain: float = 0.4
    largest_lead: float = 0.05
    relative_gate: float = 0.02
    longest_gap: float = 0.04

    def __post_init__(self) -> None:
        if not 1 <= self.order <= LARGEST_ORDER:
            raise ValueError(f"order = {self.order}: must be 1 to {LARGEST_ORDER}")
        for name in ("largest_gain", "largest_lead", "longest_gap"):
            if not 0.0 < getattr(self, name) < np.inf:
                raise ValueError(f"{name} = {getattr(self, name)}: must be a positive number")
        check_low_pass(self.cutoff, self.filter_order)
        check_gate(self.relative_gate)
        if not 0.0 < self.time_constant <= LONGEST_WINDOW:
            raise ValueError(f"memory = {self.memory} s: must be positive and at most {LONGEST_WINDOW:g} s")
        if not all(rate > 0.0 for rate in self.rates):
            raise ValueError(f"rates = {self.rates} in a second: must be positive")

    @property
    def time_constant(self) -> float:
        """The memory, s."""
        return _PERIODS / self.cutoff if self.memory is None else self.memory

    def begin(self, dt: float, shape: Shape = (1,)) -> RecursiveInverseCompensator:
        """Return it at rest, see `Compensation`."""
        return RecursiveInverseCompensator(self, dt, shape)


class RecursiveInverseCompensator(TimeSeriesCompensator):
    """A running `RecursiveInverse`."""

    columns = RecursiveInverse.columns

    def __init__(self, settings: RecursiveInverse, dt: float, shape: Shape) -> None:
        coefficients = stacked_coefficients(settings.nominal, shape, settings.order)
        if len(settings.rates) < coefficients.shape[1]:
            raise ValueError(f"{len(settings.rates)} rates for {coefficients.shape[1]} coefficients: one is for each")
        fit = FitSettings(
            ranges=_ranges(coefficients, settings.largest_gain, settings.largest_lead),
            precision=np.stack([_prior_precision(each) for each in coefficients]),
            window=settings.time_constant,
            rates=settings.rates,
            cutoff=settings.cutoff,
            filter_order=settings.filter_order,
            settling=max(_SETTLING, _SETTLING_PERIODS / settings.cutoff),
            longest_gap=settings.longest_gap,
            gate=settings.relative_gate,
        )
        super().__init__(coefficients, settings.nominal, dt, shape, fit)

    def _values(self) -> list[Samples]:
        shown = len(self.columns) - len(COLUMNS)
        absent = np.full(self.n, np.nan)
        of_base = super()._values()[: len(COLUMNS)]
        return [*of_base, *[*self.coefficients, *[absent] * shown][:shown]]


def _series(lead: Samples, order: int) -> Samples:
    """Return (order + 1, ...): 1, lead, lead^2 / 2, ..., the coefficients of a pure lead."""
    return np.stack([lead**j / factorial(j) for j in range(order + 1)])


def _ranges(nominal: Samples, gain: float, lead: float) -> Samples:
    """Return the lowest and highest coefficients, (n, q, 2): a lead moves all but a0 as those of a pure lead."""
    a0, order = nominal[:, :1], nominal.shape[1] - 1
    known = np.abs(nominal[:, 1]) / nominal[:, 0]
    moved = a0 * (_series(known + lead, order) - _series(known, order)).T
    ranges = np.stack([nominal - moved, nominal + moved], axis=-1)
    ranges[:, 0] = a0 * np.exp([-gain, gain])
    return np.asarray(ranges)


def _prior_precision(nominal: Samples) -> Samples:
    """Return the inverse covariance of the prior about the coefficients, (q, q)."""
    order = len(nominal) - 1
    own = _OWN * nominal
    own[:2] = 0.0
    # a tenth of that lead, and a hundredth of the gain
    unknown = _UNKNOWN * _series(np.array(_UNKNOWN_LEAD), order)
    unknown[0] *= _UNKNOWN
    lead = _LEAD * nominal
    lead[0] = 0.0
    covariance = _GAIN**2 * np.outer(nominal, nominal) + np.outer(lead, lead) + np.diag(own**2 + unknown**2)
    return np.asarray(np.linalg.inv(covariance))
