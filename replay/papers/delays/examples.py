"""The examples of the paper on parameter estimation with delays, and what it prints of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum

import numpy as np

from monitor.messages.blocks import Samples
from sim.arrays import Flags
from sim.fitting.model_responses import DelayResponse, stable
from sim.fitting.regression import PolynomialDiscrepancy, Regression, Reparameterized
from sim.models.delay_equation import DelayEquation, is_stable, steady_state

# 151 instants on [0, 3 r], as in the paper
TIME = np.linspace(0.0, 3.0, 151)
# far outside of what is observed
LATER = 30.0
N_TERMS = 3
# initial guess of every fit: no disturbance, no discrepancy, and rates of no example
_BEGIN = {"q0": -1.0, "q1": 0.5}


class Method(IntEnum):
    """What is fitted, with the paper's numbers of the two methods that it compares."""

    UNDISTURBED = 0
    POLYNOMIAL = 1
    DISTURBANCE = 2


# what the study compares
METHODS = (Method.POLYNOMIAL, Method.DISTURBANCE)


@dataclass(frozen=True)
class Example:
    """One of the paper's examples.

    Parameters
    ----------
    number : in the paper.
    truth : what the data are made of.
    printed : the paper's estimates from one run, by method and parameter.
    printed_steady_state : from one run, or the mean of 100 runs of five repeated observations each.
    printed_unstable : of 500 runs.
    claim : what the paper states of it besides the estimates.
    """

    number: int
    truth: DelayEquation
    printed: Mapping[Method, Mapping[str, float]] = field(default_factory=dict)
    printed_steady_state: Mapping[str, float] = field(default_factory=dict)
    printed_unstable: int | None = None
    claim: str = ""

    @property
    def rates(self) -> tuple[str, ...]:
        """The parameters of the dynamics: q1 only where there is a delay."""
        return ("q0", "q1") if self.truth.q1 else ("q0",)

    def model(self, method: Method) -> Regression:
        """Return the fitted model: the undisturbed equation plus a polynomial, or the disturbed equation."""
        return self._undisturbed if method == Method.UNDISTURBED else self._compared(method)

    @property
    def disturbed(self) -> DelayResponse:
        """What Method 2 fits."""
        return DelayResponse(TIME, self.truth, (*self.rates, "omega"))

    def kept_stable(self, method: Method) -> Reparameterized:
        """Return what one of the two `METHODS` fits within the stability constraint."""
        return stable(self._compared(method))

    def _compared(self, method: Method) -> DelayResponse | PolynomialDiscrepancy:
        if method == Method.DISTURBANCE:
            return self.disturbed
        return PolynomialDiscrepancy(self._undisturbed, TIME, N_TERMS)

    @property
    def _undisturbed(self) -> DelayResponse:
        return DelayResponse(TIME, replace(self.truth, omega=0.0), self.rates)

    def start(self, method: Method) -> Samples:
        """Return (p,), where the fits begin."""
        return np.array([_BEGIN.get(name, 0.0) for name in self.model(method).names])

    def known(self, name: str) -> float:
        """Return the truth of a parameter; NaN for the polynomial's, which have none."""
        return float(getattr(self.truth, name, np.nan))

    def is_stable(self, parameters: Samples) -> Flags:
        """Return (m,): whether the equation with the parameters of any method, (m, p), settles."""
        return is_stable(*self._rates_of(parameters), self.truth.delay)

    def steady_states(self, parameters: Samples) -> Samples:
        """Return (m,): -omega / (q0 + q1) of Method 2's parameters; NaN where these are not stable."""
        return steady_state(*self._rates_of(parameters), parameters[:, -1], self.truth.delay)

    def _rates_of(self, parameters: Samples) -> tuple[Samples, Samples]:
        q0 = parameters[:, 0]
        return q0, parameters[:, 1] if len(self.rates) > 1 else np.zeros_like(q0)

    def predict(self, method: Method, parameters: Samples, time: Samples) -> Samples:
        """Return the predictions of fitted parameters, (m, p), at other instants, (m, n_times)."""
        rates = len(self.rates)
        equation = replace(self.truth, omega=0.0)
        free = self.disturbed.free if method == Method.DISTURBANCE else self.rates
        response = DelayResponse(time, equation, free).evaluate(parameters[:, : len(free)])[0]
        if method != Method.POLYNOMIAL:
            return response
        return response + parameters[:, rates:] @ np.vander(time, N_TERMS, increasing=True).T


# where there is no delay, a single step reaches all that is observed
_ORDINARY = float(TIME[-1])

_TWO_EXAMPLES = (
    Example(
        1,
        DelayEquation(-1.7, 0.0, 0.2, delay=_ORDINARY),
        {
            Method.POLYNOMIAL: {"q0": -1.7359, "beta_1": 0.1305, "beta_2": 0.0287, "beta_3": -0.0179},
            Method.DISTURBANCE: {"q0": -1.6305, "omega": 0.1134},
        },
        {"one_run": 0.07},
        claim="steady state 0.12, estimated 0.07",
    ),
    Example(
        2,
        DelayEquation(-1.7, 1.2, 0.1),
        {
            Method.POLYNOMIAL: {"q0": -1.7108, "q1": 1.3453, "beta_1": 0.0825, "beta_2": -0.1223, "beta_3": 0.0168},
            Method.DISTURBANCE: {"q0": -1.7387, "q1": 1.1856, "omega": 0.1828},
        },
        {"mean_of_repeated": 0.2083},
        claim="steady state 0.20, mean of 100 runs of 5 repeated observations 0.2083",
    ),
)
NEAR_UNSTABLE = Example(
    3,
    DelayEquation(-1.7, 1.65, 0.2),
    printed_unstable=3,
    claim="3 of 500 runs unstable, none with repeated observations; no single noise level makes all three examples",
)
EXAMPLES = (*_TWO_EXAMPLES, NEAR_UNSTABLE)
# The data of Bayarri et al. (2007): a concentration of 5 decays, but 1.5 of it never react, as if a disturbance
# of 2.55 drove it. The model that leaves it out, 5 exp(q t), made q = -0.63 of them.
BAYARRI = Example(0, DelayEquation(-1.7, 0.0, 2.55, delay=_ORDINARY), {Method.UNDISTURBED: {"q0": -0.63}})
