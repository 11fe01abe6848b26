"""Eight masses with friction and impacts: motion with located events, beside scipy's of smoothed friction."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

import numpy as np
from scipy.integrate import solve_ivp

from benchmarks.figures import MS, Figure
from benchmarks.timing import in_turns, median_ratio
from monitor.messages.blocks import Samples
from sim.models.nonlinear_chains import EightMasses

SUMMARY = "eight masses on a rod with friction and impacts, beside solve_ivp with smoothed friction"
AGAINST = "scipy, RK45, tanh"
MOST_RATIO = 1.0 / 10.0
# m/s over which a user would have friction change its sign, and the tolerance that goes with it
_SMOOTH, _TOLERANCE = 1e-3, 1e-5


def run(quick: bool) -> Iterator[Figure]:
    """Yield ms of a second of the test, and its ratio to scipy's."""
    bed = EightMasses(horizon=0.05 if quick else 1.0)
    runs = {"ours": lambda: bed.motion(tolerance=1e-6).displacement, "theirs": lambda: with_scipy(bed)}
    ours, theirs = (each() for each in runs.values())
    # they creep where a mass sticks
    np.testing.assert_allclose(ours, theirs, atol=0.1 * np.abs(theirs).max())
    taken = in_turns(runs, 1 if quick else 3)
    ms = {name: [1e3 * t / bed.horizon for t in times] for name, times in taken.items()}
    ratio = median_ratio(ms["ours"], ms["theirs"])
    case = "a second of 1024 samples, 1 thread"
    yield Figure(
        "chains", case, median(ms["ours"]), MS, min(ms["ours"]), AGAINST, median(ms["theirs"]), ratio,
        most_ratio=MOST_RATIO,
    )  # fmt: skip


def with_scipy(bed: EightMasses) -> Samples:
    """Return (n_times, 8) m, as a user of scipy would compute them."""
    mass, damping, stiffness = bed.chain.matrices
    masses, force, time = np.diag(mass), bed.force(), bed.time

    def rate(t: float, state: Samples) -> Samples:
        x, v = state[:8], state[8:]
        total = -stiffness @ x - damping @ v - bed.friction * np.tanh(v / _SMOOTH)
        total[0] += np.interp(t, time, force)
        overlap = x[4] - x[5] - bed.gap
        if overlap > 0.0:
            push = max(0.0, bed.contact_stiffness * overlap + bed.contact_damping * (v[4] - v[5]))
            total[4] -= push
            total[5] += push
        return np.concatenate([v, total / masses])

    solution = solve_ivp(
        rate, (0.0, time[-1]), np.zeros(16), "RK45", time, rtol=_TOLERANCE, atol=1e-9, max_step=bed.dt
    )
    return np.asarray(solution.y[:8].T)
