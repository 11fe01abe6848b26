"""Reliability of a model inside a control loop: how probable is it that the model still holds."""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.embedding.states import COLUMNS, OK, OWN, ROWS, WRONG_ARGUMENT, FlatState, body, check_state, holds
from monitor.indicators.parts import memory as kinds
from monitor.indicators.parts.memory import new_memory, open_state
from monitor.kernel import borrowed, borrowed_view, inlined, kernel
from monitor.messages.blocks import Samples
from monitor.reliability.counts import advance_first_passage, new_survivors, search_ranks
from monitor.reliability.curves import NAMES, estimate
from monitor.reliability.ensemble import Ensemble, Ranks
from monitor.reliability.site import advance_accumulated, new_accumulation, sum_overlaps
from monitor.reliability.tolerance import Tolerance, TolerancePolicy

MAGIC = 0x1_5359_4E43_0102
"""Of this kind of state and version of its layout."""
N_TIMES, N_REALIZATIONS, WINDOW, POLICY, LAST, FIRST = range(OWN, OWN + 6)
"""Words of the header: sizes of the ensemble, window, tolerance policy; last and first assessed instant, -1: none."""
N_COLUMNS = 2 * len(NAMES)
LITERAL, FLOORED, PEAK, ABSOLUTE, VARYING = range(5)
_POLICIES = {
    TolerancePolicy.LITERAL: LITERAL,
    TolerancePolicy.FLOORED: FLOORED,
    TolerancePolicy.PEAK: PEAK,
    TolerancePolicy.ABSOLUTE: ABSOLUTE,
    TolerancePolicy.VARYING: VARYING,
}


class EmbeddedReliability(FlatState):
    """State of the reliability of an ensemble at one site for `step_reliability`.

    Parameters
    ----------
    ensemble : the model; a memory-mapped one is copied into memory.
    tolerance : allowable error.
    n_replicates : measurements at each instant.
    window : length of the windowed reliability in instants of the ensemble; 0: none.

    Raises
    ------
    ValueError : there is no replicate, the window is negative, or the shape of the tolerance does not match.

    Attributes
    ----------
    response, order : arrays of the ensemble, which are only read.
    columns : of a row of results.
    """

    columns = tuple(name for curve in NAMES for name in (curve, f"{curve}_se"))

    def __init__(self, ensemble: Ensemble, tolerance: Tolerance, n_replicates: int = 1, window: int = 0) -> None:
        m, n_times = ensemble.n_realizations, len(ensemble.time)
        if n_replicates < 1:
            raise ValueError(f"{ensemble.name}: {n_replicates} replicates: there must be one or more")
        if window < 0:
            raise ValueError(f"{ensemble.name}: window of {window} instants: must be zero or more")
        tolerance.check_shape(ensemble.name, n_times, n_replicates)
        # copies, so that no page of a file is read during a test, and of one type for the compiler
        self.response: Samples = np.array(ensemble.response, order="C")
        self.order: Ranks = np.array(ensemble.order, order="C")
        # a longer window is never full and needs no more memory
        window = min(window, n_times + 1)
        size = tolerance.value if tolerance.reference is None else tolerance.reference
        profile = np.empty(0) if tolerance.profile is None else tolerance.profile
        arrays: list[NDArray[Any]] = [
            np.array([tolerance.value]),
            np.broadcast_to(np.asarray(size, dtype=np.float64), (n_replicates,)),
            np.asarray(profile, dtype=np.float64),
            *new_survivors(m, n_replicates),
            *new_accumulation(m, n_replicates, 0),
            *new_accumulation(m, n_replicates, window),
            np.zeros(1, dtype=np.int64),
            *np.zeros((2, 1, n_replicates)),
            *np.zeros((3, 1, n_replicates), dtype=np.int64),
            *np.zeros((3, 1), dtype=np.int64),
            np.zeros((3, 1), dtype=np.int64),
            *np.zeros((2, 1)),
        ]
        own = [n_times, m, window, _POLICIES[tolerance.policy], -1, -1]
        contents = [zlib.crc32(each.data) for each in (self.response, *map(np.ascontiguousarray, (size, profile)))]
        described = f"{ensemble.name} {own} {n_replicates} {tolerance.value!r} {contents}"
        super().__init__(MAGIC, (n_replicates, N_COLUMNS), described, own, new_memory({0: _State(*arrays)}, {0: 0}))
        # compiles the step, or loads it, before the first sample
        step_reliability(self.state, self.response, self.order, np.zeros(n_replicates), 0, self.new_row())
        self.reset()

    def new_row(self) -> Samples:
        """Return an array for the results of a step, NaN."""
        return np.full(N_COLUMNS, np.nan)


class _State(NamedTuple):
    """The arrays: tolerance; `Survivors`; `Accumulation` since the start and in the window; work arrays."""

    value: kinds.Vector
    reference: kinds.Vector
    profile: kinds.Vector
    alive: kinds.FlagMatrix
    listed: kinds.RankMatrix
    lengths: kinds.IntVector
    survivors: kinds.IntVector
    survived: kinds.IntVector
    survived_squares: kinds.IntVector
    extra: kinds.SmallVector
    counted: kinds.IntVector
    ring: kinds.IntVector
    ring_low: kinds.IntMatrix
    ring_high: kinds.IntMatrix
    window_extra: kinds.SmallVector
    window_counted: kinds.IntVector
    window_ring: kinds.IntVector
    window_low: kinds.IntMatrix
    window_high: kinds.IntMatrix
    instants: kinds.IntVector
    measurements: kinds.Matrix
    allowed: kinds.Matrix
    low: kinds.IntMatrix
    high: kinds.IntMatrix
    surviving: kinds.IntMatrix
    sums: kinds.IntVector
    squares: kinds.IntVector
    trials: kinds.IntVector
    totals: kinds.IntMatrix
    result: kinds.Vector
    error: kinds.Vector


_open = open_state(_State)


@inlined
def _allowed(policy: int, value: float, reference: float, profile: Samples, instant: int, measured: float) -> float:
    """Return the allowable error of one measurement, see `TolerancePolicy`."""
    if policy == VARYING:
        return float(profile[instant])
    if policy == ABSOLUTE:
        return value
    if policy == PEAK:
        return value * reference
    size = abs(measured)
    return value * (max(size, reference) if policy == FLOORED else size)


@kernel
def step_reliability(
    state: Samples, response: Samples, order: Ranks, measured: Samples, instant: int, row: Samples
) -> int:
    """Process the measurements at one instant of the ensemble.

    Parameters
    ----------
    state, response, order : of `EmbeddedReliability`.
    measured : (n_replicates,), in the unit of the ensemble, float64, contiguous. Where one is not finite the instant
        is not assessed: the row is NaN, and later instants ignore it.
    instant : row of the ensemble, increasing.
    row : (8,), overwritten: each reliability and its standard error; see `EmbeddedReliability.columns`.

    Returns
    -------
    1 where the instant was assessed, 0 where it was not; negative, and nothing is changed, where the state is wrong,
    an array is too short or not of contiguous float64, or the instant is outside the ensemble or not after the last:
    the codes of ``synchroscope.h``.
    """
    state, n_words = borrowed(state), len(state)
    words = state.view(np.int64)
    known = check_state(words, n_words, MAGIC)
    if known != OK:
        return known
    n, n_times, m = words[ROWS], words[N_TIMES], words[N_REALIZATIONS]
    if not (holds(measured, n) and holds(row, words[COLUMNS])):
        return WRONG_ARGUMENT
    if response.size != n_times * m or order.size != n_times * m:
        return WRONG_ARGUMENT
    if not words[LAST] < instant < n_times:
        return WRONG_ARGUMENT
    words[LAST] = instant
    row[: words[COLUMNS]] = np.nan
    for j in range(n):
        if not np.isfinite(measured[j]):
            return 0
    (
        value, reference, profile,
        alive, listed, lengths, survivors, survived, survived_squares,
        extra, counted, ring, ring_low, ring_high,
        window_extra, window_counted, window_ring, window_low, window_high,
        instants, measurements, allowed, low, high, surviving, sums, squares, trials, totals, result, error,
    ) = _open(body(state, n_words), 0)  # fmt: skip
    response = borrowed_view(response, 0, (n_times, m), np.float64)
    order = borrowed_view(order, 0, (n_times, m), np.uint32)
    if words[FIRST] < 0:
        words[FIRST] = instant
    instants[0] = instant
    for j in range(n):
        measurements[0, j] = measured[j]
        allowed[0, j] = _allowed(words[POLICY], value[0], reference[j], profile, instant, measured[j])
    search_ranks(response, order, instants, measurements, allowed, low, high)
    sum_overlaps(low, high, sums, squares)
    trials[0] = n
    estimate(sums, squares, trials, m, result, error)
    row[0], row[1] = result[0], error[0]
    advance_first_passage(
        response, order, instants, measurements, allowed, low, high,
        alive, listed, lengths, survivors, survived, survived_squares, surviving, squares,
    )  # fmt: skip
    sums[0] = 0
    for j in range(n):
        sums[0] += surviving[0, j]
    estimate(sums, squares, trials, m, result, error)
    row[2], row[3] = result[0], error[0]
    advance_accumulated(order, instants, low, high, extra, counted, ring, ring_low, ring_high, totals)
    trials[0] = n * totals[2, 0]
    estimate(totals[0], totals[1], trials, m, result, error)
    row[4], row[5] = result[0], error[0]
    if words[WINDOW] > 0:
        advance_accumulated(
            order, instants, low, high,
            window_extra, window_counted, window_ring, window_low, window_high, totals,
        )  # fmt: skip
        trials[0] = n * totals[2, 0]
        estimate(totals[0], totals[1], trials, m, result, error)
        if instant - words[FIRST] >= words[WINDOW] - 1:
            row[6], row[7] = result[0], error[0]
    return 1
