"""What cannot be fitted is refused in one line that says what does not fit."""

import numpy as np
import pytest

from sim.fitting.fit import fit, fit_many
from sim.fitting.intervals import profile
from sim.fitting.least_squares import spread_starts
from sim.fitting.model_responses import DelayResponse
from sim.fitting.regression import PolynomialDiscrepancy
from sim.models.delay_equation import DelayEquation
from tests.oracles.linear_model import LinearModel, slope

TIME = np.linspace(0.0, 3.0, 151)
START = np.array([-1.0, 0.5, 0.0])
TRUTH = DelayEquation(-1.7, 1.2, 0.1)
METHOD_2 = DelayResponse(TIME, DelayEquation(-1.0))


class Alone(LinearModel):
    """Without its derivatives."""

    def evaluate(self, parameters):
        return super().evaluate(parameters)[0]


class Flat(LinearModel):
    """For one set of parameters."""

    def evaluate(self, parameters):
        return self.matrix @ parameters[0], self.matrix


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: fit(METHOD_2, np.zeros(151), np.zeros(2)), "fit start of shape"),
        (
            lambda: fit(slope(np.ones(1)), np.zeros(1), np.zeros(1)),
            "of 1 parameters: needs more than 1 observations, there are 1",
        ),
        (lambda: fit(METHOD_2, np.zeros(100), START), "100 observations of a response at 151 instants"),
        (lambda: fit(METHOD_2, np.zeros((2, 3, 151)), START), "must be rows"),
        (lambda: fit(PolynomialDiscrepancy(METHOD_2, TIME[:5]), np.zeros(151), np.zeros(6)), "5 observations of"),
        (
            lambda: fit(Alone(TIME[:, None]), np.zeros(151), np.zeros(1)),
            r"evaluate of Alone returned \(1, 151\): of parameters",
        ),
        (lambda: fit(Flat(TIME[:, None]), np.zeros(151), np.zeros(1)), r"derivatives \(1, 151, 1\)"),
        (lambda: spread_starts(np.zeros(2), np.zeros(2), 3), "a box with finite lower and upper ends"),
        (lambda: DelayResponse(TIME, TRUTH, ("q2",)), "choose among q0, q1, omega, initial, delay"),
        (lambda: DelayResponse(TIME, TRUTH, ("q0", "q0")), "choose among q0, q1, omega, initial, delay, each once"),
        (lambda: fit(METHOD_2, np.zeros(151), np.array([1e4, 0.0, 0.0])), "response at the start is not finite"),
        (lambda: fit_many(METHOD_2, np.zeros((2, 151)), np.array([1e4, 0.0, 0.0])), "start is not finite"),
    ],
)
def test_mistakes_are_told(make, complaint):
    with pytest.raises(ValueError, match=complaint):
        make()
    observed = TRUTH.response(TIME) + 0.1 * np.random.default_rng(1).standard_normal(151)
    with pytest.raises(ValueError, match="choose among q0, q1, omega"):
        profile(METHOD_2, observed, fit(METHOD_2, observed, START), "delay")
