"""Any linear system with a delay, fitted through its matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sim.arrays import Samples
from sim.models.delay_system import DelaySystem

# of a parameter or of one, whichever is larger: where the errors of third order and of rounding are alike
_SHARE = 1e-5


@dataclass(frozen=True, eq=False)
class SystemResponse:
    """The output of a delay system whose matrices depend on parameters (Burns, Cliff and Farlow, eq. 5 to 7).

    Derivatives are central differences, of two solves for each parameter. Several outputs stand one after the other,
    first all instants of the first, and so must what was observed of them: `observed.T.ravel()` of (n, n_outputs).

    Parameters
    ----------
    build : the system of the parameters, (p,).
    time : (n,), s, rising.
    names, lower, upper : of the parameters; bounds must keep what is built sound, also a step beyond them.
    """

    build: Callable[[Samples], DelaySystem]
    time: Samples
    names: tuple[str, ...]
    lower: Samples
    upper: Samples

    def evaluate(self, parameters: Samples) -> tuple[Samples, Samples]:
        """Return the outputs one after the other, (m, n_outputs n), and their derivatives."""
        parameters = np.atleast_2d(parameters)
        response = np.array([self._output(each) for each in parameters])
        sensitivities = np.empty((*response.shape, parameters.shape[1]))
        for i in range(parameters.shape[1]):
            for j, each in enumerate(parameters):
                step = np.zeros(len(each))
                step[i] = _SHARE * max(abs(each[i]), 1.0)
                both = self._output(each + step), self._output(each - step)
                sensitivities[j, :, i] = (both[0] - both[1]) / (2.0 * step[i])
        return response, sensitivities

    def at(self, parameters: Samples) -> DelaySystem:
        """Return the system with these parameters, (p,); solve it as far as is wanted."""
        return self.build(parameters)

    def _output(self, parameters: Samples) -> Samples:
        return self.build(parameters).solve(float(self.time[-1])).output(self.time).T.ravel()
