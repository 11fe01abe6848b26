"""Indicators that evaluate a whole window every hop, and hold their values in between.

A measure that needs transforms of the whole window cannot be updated at every sample. It is evaluated every `hop`
samples, at sample numbers that do not depend on how the stream is split, and for one pair at a time, so that no
sample waits for the evaluations of all pairs.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.config import Measure
from monitor.indicators.base import PassIndicator, Value
from monitor.indicators.parts import memory as kinds
from monitor.indicators.parts.cross_spectra import centred
from monitor.indicators.parts.memory import SAMPLES, arrays_of, open_state
from monitor.indicators.parts.sample_loop import (
    PIECE,
    SampleRing,
    advance_row_clock,
    is_good,
    start_row_clock,
    write_row,
)
from monitor.kernel import inlined, kernel, part
from monitor.messages.blocks import Samples
from monitor.messages.reasons import Reason

# fraction of a hop between two pairs' evaluations, which spreads any number of pairs evenly
_GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)
_LARGE = 1e12


class Centred(NamedTuple):
    """Window of a pair, (n_window,) each, without means and scaled by its largest size; that size, 0 if constant."""

    c: Samples
    m: Samples
    size_c: float
    size_m: float


END, NUMBER, GOOD, STAGE, CLEAN, DUE = range(6)
"""Of a pending evaluation: samples stored up to the window's last, its number, consecutive good ones until then; what
has been done; no bad sample since; samples stored when it must be done."""
NOTHING, WAITING, URGENT, FOUND = range(4)
"""Stages of an evaluation: urgent is one that must be done before the next sample."""
_NEVER = 1 << 62


class HoppedState(NamedTuple):
    """Settings and arrays of a measure of whole windows.

    ``hop``, ``latency``, ``n_window`` samples; ``gathered``: all are needed at the multiples of hop; ``paused`` (1,):
    no evaluation starts; ``offsets`` (n_pairs,): samples by which a pair is evaluated earlier; ``fulls`` (n_pairs,):
    number of consecutive good samples at which it is first due, -1 for none; ``good`` (n_pairs,): that number;
    ``held`` (n_pairs, n_outputs): the newest values; ``declined`` (n_outputs,): what bad samples leave, reasons
    instead of values; ``evaluations`` (n_pairs, 6): pending, and ``found`` (n_pairs, n_outputs) their values.
    """

    hop: kinds.Count
    latency: kinds.Count
    n_window: kinds.Count
    gathered: kinds.Flag
    paused: kinds.IntVector
    offsets: kinds.IntVector
    fulls: kinds.IntVector
    good: kinds.IntVector
    held: kinds.Matrix
    declined: kinds.Vector
    evaluations: kinds.IntMatrix
    found: kinds.Matrix


open_hopped = open_state(HoppedState)


class HoppedIndicator(PassIndicator[Value]):
    """An indicator whose values are updated every `hop` samples.

    Pair 0 is evaluated at the sample numbers that `hop` divides, every other pair a fixed part of a hop earlier. With
    `evaluates_when_full` each pair is also evaluated when its window is first full, one sample after the previous
    pair. After a bad sample no value is valid until a window without it has been evaluated. Where they are `gathered`
    all values are needed at the numbers that `hop` divides.

    Parameters
    ----------
    latency : samples from the end of a window to the publication of its value. In between `run_pending` may evaluate
        it in spare time. Otherwise the evaluations are spread over the samples that are left: not more at a sample
        than must be so that none is late. The value is the same.
    """

    every_sample = False
    gathered: ClassVar[bool] = False
    measure: ClassVar[Measure]
    evaluates_when_full: ClassVar[bool] = False

    def __init__(
        self,
        sample_rate: float,
        window: float = 2.0,
        *,
        latency: int = 0,
        n_pairs: int = 1,
        every: int = 1,
        **options: Any,
    ) -> None:
        self.latency = latency
        self.paused: Reason | None = None
        self._viewed: Samples | None = None
        super().__init__(sample_rate, window, n_pairs=n_pairs, every=every, **options)

    def _plan(self) -> None:
        if not 0 <= self.latency < self.hop:
            raise ValueError(
                f"latency = {self.latency} samples: must be less than {self.hop}, when the next value is due"
            )
        self._offsets = np.rint(_GOLDEN * np.arange(self.n_pairs) * self.hop).astype(np.int64) % self.hop

    @property
    def _identity(self) -> tuple[Any, ...]:
        return *super()._identity, self.latency

    def load_kernels(self) -> None:
        """Load what the pass and an evaluation need, or compile it, with an amplitude that opens every gate."""
        super().load_kernels()
        _first_waiting(np.zeros((0, 6), dtype=np.int64))
        wave = np.sin(5.0 * np.pi * np.arange(self.n_window) / self.n_window)
        (c, _), (m, _) = centred(wave), centred(np.roll(wave, 1))
        self._evaluate(0, Centred(c, m, _LARGE, _LARGE), self.n_window, self.n_window)
        self.reset()

    @abstractmethod
    def _evaluate(self, pair: int, window: Centred, number: int, good: int) -> Any:
        """Return the (n_outputs,) values of a clean window ending with sample `number`, the last of `good` ones."""

    def _new_memory(self) -> tuple[Any, ...]:
        """Return the arrays of state beyond those of the pass."""
        return ()

    def __getstate__(self) -> dict[str, Any]:
        # views of the memory are not copied with it
        return self.__dict__ | {"_viewed": None}

    @property
    def _memory(self) -> tuple[Any, ...]:
        return self._state[1:]

    @property
    def look_back(self) -> int:
        """Samples that the ring of the pass must hold: a window is there until it has been evaluated."""
        return self.n_window + max(PIECE, self.latency + 1)

    def new_arrays(self) -> HoppedState:
        """Return the initial arrays."""
        n, n_outputs = self.n_pairs, len(self.outputs)
        return HoppedState(
            *(self.hop, self.latency, self.n_window, self.gathered),
            np.full(1, bool(self.paused), dtype=np.int64),
            self._offsets,
            self.n_window + np.arange(n) if self.evaluates_when_full else np.full(n, -1),
            np.zeros(n, dtype=np.int64),
            np.tile(self.no_values(Reason.FILLING), (n, 1)),
            self._declined(),
            np.zeros((n, 6), dtype=np.int64),
            np.full((n, n_outputs), np.nan),
        )

    def _declined(self) -> Samples:
        return self.no_values(self.paused or Reason.BAD_SAMPLE)

    def _new_state(self) -> tuple[Any, ...]:
        return (*super()._new_state(), *self._new_memory())

    @property
    def _arrays(self) -> tuple[HoppedState, SampleRing]:
        """Views of the memory, which a snapshot or a pass replaces."""
        memory = self._state[0]
        if self._viewed is not memory:
            self._viewed = memory
            self._views = arrays_of(memory, self.part, HoppedState), arrays_of(memory, SAMPLES, SampleRing)
        return self._views

    def first_pending(self) -> tuple[int, int]:
        """Return when the first pending evaluation is due, in samples stored, and its pair, -1 for none."""
        return _first_waiting(self._arrays[0].evaluations)

    def run_pending(self) -> bool:
        """Evaluate the pending window that is due first; return whether there was one."""
        pair = -1 if self.paused else self.first_pending()[1]
        if pair < 0:
            return False
        self.evaluate_pair(pair)
        return True

    def evaluate_pair(self, pair: int) -> None:
        """Evaluate the pending window of a pair."""
        state, samples = self._arrays
        end, number, good, *_ = state.evaluations[pair].tolist()
        size = samples.ring.shape[2] // 2
        stop = size + (end - 1) % size + 1
        (c, size_c), (m, size_m) = (centred(each[stop - self.n_window : stop]) for each in samples.ring[pair, :2])
        state.found[pair] = self._evaluate(pair, Centred(c, m, size_c, size_m), number, good)
        state.evaluations[pair, STAGE] = FOUND

    def pause(self, reason: Reason | None) -> None:
        """Suspend the evaluations, for this reason of no value; None: resume them."""
        self.paused = reason
        state, _ = self._arrays
        state.paused[:], state.declined[:] = bool(reason), self._declined()
        if reason:
            state.held[:] = state.declined
            state.evaluations[:] = 0

    def finish_pending(self) -> None:
        """Evaluate all pending windows; their values are published when they are due."""
        while self.run_pending():
            pass


@kernel
def _first_waiting(evaluations: NDArray[np.int64]) -> tuple[int, int]:
    """Return when the first pending evaluation is due and its pair, -1 for none; an urgent one is due before all."""
    first, found = _NEVER, -1
    for pair in range(evaluations.shape[0]):
        stage = evaluations[pair, STAGE]
        due = evaluations[pair, DUE] if stage == WAITING else -1
        if stage in (WAITING, URGENT) and due < first:
            first, found = due, pair
    return first, found


@inlined
def before_evaluation(first: int, start: int, stop: int, memory: Samples, n: int, stored: int) -> int:
    """Return up to where samples `start` .. `stop` can be processed until one must wait for an evaluation.

    Parameters
    ----------
    first : number of sample `start`.
    stored : samples before it.
    """
    hop, latency, n_window, _, paused, offsets, fulls, good, _, _, evaluations, _ = open_hopped(memory, n)
    phase = (-first) % hop
    for pair in range(good.shape[0]):
        # samples until the next evaluation starts, and the one after it
        scheduled, full = phase - offsets[pair], fulls[pair] - good[pair] - 1
        scheduled += hop if scheduled < 0 else 0
        missing = n_window - 1 - good[pair] - scheduled
        if missing > 0:
            scheduled += -(-missing // hop) * hop
        full = full if full >= 0 else _NEVER
        begins, again = min(scheduled, full), max(scheduled, full)
        if paused[0] != 0:
            begins = again = _NEVER
        if evaluations[pair, STAGE] == WAITING or evaluations[pair, STAGE] == URGENT:
            # a newer one replaces it, but its contribution to the memory counts
            if begins == 0:
                evaluations[pair, STAGE] = URGENT
            stop = min(stop, start + begins, start + evaluations[pair, END] + latency - stored)
        else:
            stop = min(stop, start + begins + latency + 1)
            if again > begins:
                stop = min(stop, start + again)
    return stop


@inlined
def advance_hopped(
    x_c: Samples, x_m: Samples, columns: NDArray[np.int64], first: int, every: int, out: Samples, column: int,
    memory: Samples, n: int, stored: int,
) -> bool:  # fmt: skip
    """Process samples, (n_samples, n_channels), as far as `before_evaluation` allows; start and publish evaluations.

    Parameters
    ----------
    first : number of the first.
    column : first one of the rows (n_rows, n_pairs, n_columns); -1: no rows are written.
    stored : samples before it.

    Returns
    -------
    Whether the last sample waits for an evaluation.
    """
    (
        hop, latency, n_window, gathered, paused, offsets, fulls, good, held, declined, evaluations, found,
    ) = open_hopped(memory, n)  # fmt: skip
    phase, late = (-first) % hop, False
    rows = out[:, :, max(column, 0) : max(column, 0) + (held.shape[1] if column >= 0 else 0)]
    for pair in range(columns.shape[1]):
        row_clock, scheduled = start_row_clock(first, every), phase - offsets[pair]
        scheduled += hop if scheduled < 0 else 0
        for i in range(x_c.shape[0]):
            row_clock = advance_row_clock(row_clock, every)
            if is_good(x_c[i, columns[0, pair]], x_m[i, columns[1, pair]]):
                good[pair] += 1
            else:
                good[pair] = evaluations[pair, CLEAN] = 0
                for j in range(held.shape[1]):
                    held[pair, j] = declined[j]
            due = (scheduled == 0 and good[pair] >= n_window) or good[pair] == fulls[pair]
            scheduled = scheduled - 1 if scheduled > 0 else hop - 1
            if due and paused[0] == 0:
                evaluations[pair, END], evaluations[pair, NUMBER] = stored + i + 1, first + i
                evaluations[pair, GOOD], evaluations[pair, STAGE], evaluations[pair, CLEAN] = good[pair], WAITING, 1
                left = min(latency, (-(first + i)) % hop) if gathered else latency
                evaluations[pair, DUE] = stored + i + 1 + left
            if evaluations[pair, STAGE] != NOTHING and evaluations[pair, END] + latency == stored + i + 1:
                late = not _publish(pair, held, evaluations, found) or late
            if row_clock.due:
                write_row(rows, row_clock.row, pair, held)
    return late


@part
def _publish(pair: int, held: Samples, evaluations: NDArray[np.int64], found: Samples) -> bool:
    """Publish what is due, unless a bad sample came since; return whether it has been found."""
    if evaluations[pair, STAGE] != FOUND:
        return False
    if evaluations[pair, CLEAN] != 0:
        for j in range(held.shape[1]):
            held[pair, j] = found[pair, j]
    evaluations[pair, STAGE] = NOTHING
    return True


@inlined
def publish_late(
    number: int, first: int, every: int, out: Samples, column: int, memory: Samples, n: int, stored: int
) -> None:
    """Publish what the newest sample, `number`, waited for, and write its row again."""
    state = open_hopped(memory, n)
    held, evaluations = state.held, state.evaluations
    for pair in range(held.shape[0]):
        if evaluations[pair, STAGE] == FOUND and evaluations[pair, END] + state.latency == stored:
            _publish(pair, held, evaluations, state.found)
            if number % every == 0 and column >= 0:
                rows = out[:, :, column : column + held.shape[1]]
                write_row(rows, number // every - (first - 1) // every - 1, pair, held)


@inlined
def list_waiting(memory: Samples, n: int, stored: int, waiting: NDArray[np.int64], n_waiting: int) -> int:
    """Append to ``waiting[:n_waiting]`` in how many samples each pending evaluation is due; return the new number."""
    evaluations = open_hopped(memory, n).evaluations
    for pair in range(evaluations.shape[0]):
        stage = evaluations[pair, STAGE]
        if stage in (WAITING, URGENT):
            waiting[n_waiting] = max(evaluations[pair, DUE] - stored, 0) if stage == WAITING else 0
            n_waiting += 1
    return n_waiting
