"""What measurements at one site must look like, so that no kernel meets anything else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitor.blocks import Samples
from monitor.reliability.ranks import Integers


@dataclass(frozen=True, slots=True)
class Intake:
    """The measurements that a site takes.

    Parameters
    ----------
    name : of the site, for messages.
    n_times : instants of the model.
    n_replicates : measurements that come side by side.

    Raises
    ------
    ValueError : there is no replicate.
    """

    name: str
    n_times: int
    n_replicates: int

    def __post_init__(self) -> None:
        if self.n_replicates < 1:
            raise ValueError(f"{self.name}: {self.n_replicates} replicates: there must be one or more")

    def take(self, instants: Integers, measured: Samples) -> tuple[Integers, Samples]:
        """Return copies of the instants, (n_instants,), and of the measurements, (n_instants, n_replicates).

        Raises
        ------
        ValueError : shapes do not fit, or an instant lies outside the model.
        """
        # copies: for a read-only array numba would compile anew, in mid-test
        instants = np.array(instants, dtype=np.int64)
        measured = np.array(measured, dtype=np.float64, order="C")
        if instants.ndim != 1 or measured.shape != (len(instants), self.n_replicates):
            raise ValueError(
                f"{self.name}: measured has shape {measured.shape} and instants {instants.shape}: "
                f"they must be (n_instants, {self.n_replicates}) and (n_instants,)"
            )
        if len(instants) and not 0 <= int(instants.min()) <= int(instants.max()) < self.n_times:
            asked = f"{instants.min()} to {instants.max()}"
            raise ValueError(f"{self.name}: instants {asked}: it has those from 0 to {self.n_times - 1}")
        return instants, measured
