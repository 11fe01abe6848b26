"""The instants of an experiment that is sampled in equal steps, and the noise of its measurements."""

from __future__ import annotations

import numpy as np

from sim.arrays import Samples


class EqualSteps:
    """What experiments have alike whose fields are `horizon` and `dt`, in s, and `noise`, in the response's unit."""

    horizon: float
    dt: float
    noise: float

    @property
    def time(self) -> Samples:
        """(n_times,) in s, from zero to the step nearest the horizon."""
        return self.dt * np.arange(round(self.horizon / self.dt) + 1.0)

    @property
    def observation_noise(self) -> Samples:
        """(n_times,) in the response's unit, the standard deviation of a synthetic measurement."""
        return np.full(len(self.time), self.noise)
