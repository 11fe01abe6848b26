"""The inverse of an actuator, by recursive least squares about a nominal one."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import factorial

import numpy as np

from monitor.catalogue import Output
from monitor.compensation.base import (
    COLUMNS,
    LARGEST_ORDER,
    Compensation,
    Shape,
    check_gate,
    check_low_pass,
    check_window,
)
from monitor.compensation.fixed_inverse import FixedInverse
from monitor.compensation.time_series_fit import FitSettings, TimeSeriesCompensator, stacked_coefficients
from monitor.messages.blocks import Samples

_PERIODS = 3.0  # of the low-pass's cutoff in a memory: six values, for four coefficients beside their prior
_SETTLING = 0.25  # s after a start or a gap until the filters have settled
# standard deviations of the prior, as shares: of all coefficients, of all but a0, of each from a2 on by itself
_GAIN, _LEAD, _OWN = 0.1, 0.35, 0.25
# and of a lead, s, that a nominal inverse may lack
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
    largest_gain, largest_lead : logarithm, and s, of the largest deviation from the nominal gain and lead.
    relative_gate : measured amplitude, as a fraction of the largest so far, below which nothing is adapted.
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
        for name in ("largest_gain", "largest_lead"):
            if not 0.0 < getattr(self, name) < np.inf:
                raise ValueError(f"{name} = {getattr(self, name)}: must be a positive number")
        check_low_pass(self.cutoff, self.filter_order)
        check_gate(self.relative_gate)
        check_window(self.time_constant, self.longest_gap)
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
        largest = _largest_changes(coefficients, settings.largest_gain, settings.largest_lead)
        fit = FitSettings(
            ranges=np.stack([coefficients - largest, coefficients + largest], axis=-1),
            precision=np.stack([_prior_precision(each) for each in coefficients]),
            window=settings.time_constant,
            rates=settings.rates,
            cutoff=settings.cutoff,
            filter_order=settings.filter_order,
            settling=_SETTLING,
            longest_gap=settings.longest_gap,
            gate=settings.relative_gate,
        )
        super().__init__(coefficients, settings.nominal, dt, shape, fit)


def _series(lead: Samples, order: int) -> Samples:
    """Return (order + 1, ...): 1, lead, lead^2 / 2, ..., the coefficients of a pure lead."""
    return np.stack([lead**j / factorial(j) for j in range(order + 1)])


def _largest_changes(nominal: Samples, gain: float, lead: float) -> Samples:
    """Return by how much the coefficients may differ from the nominal ones, (n, q): as those of a pure lead do."""
    a0, order = nominal[:, 0], nominal.shape[1] - 1
    known = np.abs(nominal[:, 1]) / a0
    return np.asarray((a0 * (np.exp(gain) * _series(known + lead, order) - _series(known, order))).T)


def _prior_precision(nominal: Samples) -> Samples:
    """Return the inverse covariance of the prior about the coefficients, (q, q)."""
    order = len(nominal) - 1
    own = _OWN * nominal
    own[:2] = 0.0
    # a whole lead where there is none, and a tenth of that for what is not known of the gain
    unknown = _UNKNOWN * _series(np.array(_UNKNOWN_LEAD), order)
    unknown[0] *= _UNKNOWN
    lead = _LEAD * nominal
    lead[0] = 0.0
    covariance = _GAIN**2 * np.outer(nominal, nominal) + np.outer(lead, lead) + np.diag(own**2 + unknown**2)
    return np.asarray(np.linalg.inv(covariance))
