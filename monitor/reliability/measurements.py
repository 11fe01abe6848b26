"""What measurements at one site must look like, so that no kernel meets anything else."""

from __future__ import annotations

import numpy as np

from monitor.messages.blocks import Samples
from monitor.reliability.ranks import Integers


class ReplicateValidator:
    """The measurements that a site takes, in their order.

    Parameters
    ----------
    name : of the site, for messages.
    n_times : instants of the model.
    n_replicates : measurements that come side by side.

    Raises
    ------
    ValueError : there is no replicate.
    """

    def __init__(self, name: str, n_times: int, n_replicates: int) -> None:
        if n_replicates < 1:
            raise ValueError(f"{name}: {n_replicates} replicates: there must be one or more")
        self.name, self.n_times, self.n_replicates = name, n_times, n_replicates
        self._newest = -1

    def reset(self) -> None:
        """Forget which instants were taken."""
        self._newest = -1

    def take(self, instants: Integers, measured: Samples) -> tuple[Integers, Samples]:
        """Return what `check` does, and take note that these instants were taken."""
        instants, measured = self.check(instants, measured)
        self._newest = int(instants[-1]) if len(instants) else self._newest
        return instants, measured

    def check(self, instants: Integers, measured: Samples) -> tuple[Integers, Samples]:
        """Return copies of the instants, (n_instants,), and of the measurements, (n_instants, n_replicates).

        Raises
        ------
        ValueError : shapes do not fit, an instant lies outside the model, or does not come after those before it.
        """
        # copies: for a read-only array numba would compile anew, in mid-test
        instants = np.array(instants, dtype=np.int64)
        measured = np.array(measured, dtype=np.float64, order="C")
        if instants.ndim != 1 or measured.shape != (len(instants), self.n_replicates):
            raise ValueError(
                f"{self.name}: measured has shape {measured.shape} and instants {instants.shape}: "
                f"they must be (n_instants, {self.n_replicates}) and (n_instants,)"
            )
        if not len(instants):
            return instants, measured
        if not 0 <= int(instants.min()) <= int(instants.max()) < self.n_times:
            asked = f"{instants.min()} to {instants.max()}"
            raise ValueError(f"{self.name}: instants {asked}: it has those from 0 to {self.n_times - 1}")
        if int(instants[0]) <= self._newest or (len(instants) > 1 and int(np.diff(instants).min()) <= 0):
            raise ValueError(f"{self.name}: instants must rise, each taken once; reset() begins anew")
        return instants, measured
