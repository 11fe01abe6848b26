"""Many specimens in a test, on all cores."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from monitor.messages.blocks import Samples
from replay.ensembles.simulated import Progress, silent
from sim.models.thermal_population import Specimens
from sim.models.thermal_slab import SlabTest

_AT_ONCE = 512


def temperatures(
    test: SlabTest,
    time: Samples,
    specimens: Specimens,
    depths: Sequence[float] = (0.0,),
    *,
    progress: Progress = silent,
    what: str = "specimens",
) -> Samples:
    """Return (n_times, n_depths, n) in degC; see `Specimens.temperature`.

    The progress is told under the name `what`.
    """
    found = np.empty((len(time), len(depths), len(specimens)))
    starts = range(0, len(specimens), _AT_ONCE)
    parts = (specimens.between(start, start + _AT_ONCE) for start in starts)
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        made = pool.map(lambda part: part.temperature(test, time, depths), parts)
        for start, temperature in zip(starts, made, strict=True):
            stop = start + temperature.shape[2]
            found[..., start:stop] = temperature
            progress(what, stop, len(specimens))
    return found
