"""One compiled pass over a block for all measures, over one memory with one ring of samples.

Each measure is a part of the pass: a file of its own has its settings, arrays and kernel. A single measure is the
same pass with one part. Measures that evaluate whole windows (`hopped`) store and publish in the pass; it returns
where one of their evaluations is to be done.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monitor.catalogue import CATALOGUE, measure_of
from monitor.config import IndicatorSettings
from monitor.indicators.adaptive_phase_amplitude import advance_adaptive
from monitor.indicators.base import PassIndicator, Signals, WindowedIndicator, pass_memory
from monitor.indicators.energy_error import advance_hsem
from monitor.indicators.frequency_domain import advance_fdb
from monitor.indicators.hopped import HoppedIndicator, advance_hopped, before_evaluation, list_waiting, publish_late
from monitor.indicators.parts.memory import (
    ADAPTIVE,
    BROADBAND,
    FDB,
    FEI,
    HSEM,
    N_PARTS,
    PAEI,
    PEAK,
    RMS,
    SAMPLES,
    SPECIMEN,
    TI,
    TRANSFER,
    arrays_of,
    first_array,
    first_arrays,
    first_column,
)  # fmt: skip
from monitor.indicators.parts.sample_loop import (
    HOLDS,
    PIECE,
    STORED,
    SampleRing,
    newest_position,
    open_ring,
    store_samples,
)
from monitor.indicators.phase_amplitude import advance_paei
from monitor.indicators.specimen import advance_specimen
from monitor.indicators.tracking_error import advance_peak, advance_rms
from monitor.indicators.tracking_indicator import advance_ti
from monitor.kernel import borrowed, inlined, kernel, without_kernels
from monitor.messages.blocks import Samples
from monitor.messages.reasons import Reason


def create_indicators(
    settings: IndicatorSettings,
    sample_rate: float,
    n_pairs: int,
    *,
    with_force: bool = False,
    compiling: Collection[str] = (),
) -> tuple[WindowedIndicator[Any], ...]:
    """Return an indicator for each measure in `settings`; those that need a force only `with_force`.

    The kernels of measures that are `compiling` are not loaded.

    Raises
    ------
    ValueError : a setting does not fit the sample rate.
    """
    # samples in which a complete window may be evaluated in spare time
    latency = round(settings.window * sample_rate) // 32
    indicators = []
    for measure, entry in CATALOGUE.items():
        if measure not in settings.measures or not entry.indicator:
            continue
        kind: type[WindowedIndicator[Any]] = entry.load()
        kind = without_kernels(kind) if measure in compiling else kind
        if kind.needs_force and not with_force:
            continue
        keywords: dict[str, Any] = {name: getattr(settings, name) for name in type(kind.settings).model_fields}
        if issubclass(kind, HoppedIndicator):
            keywords["latency"] = latency
        indicators.append(kind(sample_rate, settings.window, n_pairs=n_pairs, every=settings.every, **keywords))
    return tuple(indicators)


class TrackingPass:
    """Several indicators of the same signals, with one number of pairs and one `every`.

    Parameters
    ----------
    columns : each indicator's first column of the results; -1 for one that has none. The indicators' state moves into
        the pass; they cannot be updated separately afterwards.
    sources : (3, n_pairs), the columns of command, measured and force in the samples, -1 for no force; by default
        each has an array of its own, with a column for each pair.
    """

    def __init__(self, columns: Mapping[PassIndicator[Any], int], sources: NDArray[np.int64] | None = None) -> None:
        self.memory = pass_memory(columns)
        for indicator in columns:
            self._every = indicator.every
            indicator.join(self.memory)
        self._samples = arrays_of(self.memory, SAMPLES, SampleRing)
        if sources is not None:
            self._samples.columns[:] = sources
        self._hopped = [each for each in columns if isinstance(each, HoppedIndicator)]
        sliding = {each: at for each, at in columns.items() if each.every_sample}
        self._columns = {each.part: slice(at, at + len(each.outputs)) for each, at in sliding.items()}
        self._parts = {measure_of(each.outputs[0].name): each for each in sliding}
        # 1, or None for a pass without those that follow every sample
        self._sliding = 1 if sliding else None
        self._first_arrays = first_arrays(self.memory).copy()
        # by part, the values meanwhile
        self._paused: dict[int, Samples] = {}
        self._resumed: frozenset[int] = frozenset()
        self.busy = False
        """Whether an evaluation was done with the last samples."""

    def pause(self, reasons: Mapping[str, Reason]) -> None:
        """Leave these of its measures out, and compute all others; the values left out are NaN, for this reason.

        A measure comes back as after a gap in the stream: its values are valid once a window of new samples is full,
        and sums since the start go on without the samples that it has not seen. One of whole windows is valid again
        from the next evaluation on. `Reason.COMPILING`, of all that follow every sample or of none: their kernels are
        not called.
        """
        paused = {
            each.part: each.no_values(reasons[measure]) for measure, each in self._parts.items() if measure in reasons
        }
        # those that have never run begin with an empty window
        resumed = self._resumed | self._paused.keys() if self._sliding else self._resumed
        self._resumed, self._paused = resumed - paused.keys(), paused
        self._sliding = 1 if any(reasons.get(each) is not Reason.COMPILING for each in self._parts) else None
        self._leave_out(paused)
        for each in self._hopped:
            each.pause(reasons.get(each.measure))

    def advance(self, signals: Signals, first: int, out: Samples) -> None:
        """Process samples, the first with number `first`; fill in the columns of `out`, (n_rows, n_pairs, n)."""
        if self._resumed and len(signals.x_c):
            # they see a bad sample, which the ring does not get
            self._leave_out(frozenset(np.flatnonzero(self._first_arrays >= 0).tolist()) - self._resumed - {SAMPLES})
            self._samples.clock[HOLDS] = 1
            gap = Signals(*(np.full((1, each.shape[1]), np.nan) for each in signals))
            run_pass(gap, first - 1, self._every, np.empty((1, *out.shape[1:])), self.memory, self._sliding)
            self._samples.clock[HOLDS] = 0
            self._leave_out(self._paused)
            self._resumed = frozenset()
        self.busy = run_pass(signals, first, self._every, out, self.memory, self._sliding, *self._hopped)
        for which, values in self._paused.items():
            out[:, :, self._columns[which]] = values

    def run_pending(self) -> bool:
        """Do the pending evaluation that is due first, in spare time; return whether there was one."""
        return any(each.paused is None for each in self._hopped) and evaluate_first(self._hopped)

    def _leave_out(self, parts: Collection[int]) -> None:
        left_out = np.isin(np.arange(N_PARTS), list(parts))
        first_arrays(self.memory)[:] = np.where(left_out, -1, self._first_arrays)


def run_pass(
    signals: Signals,
    first: int,
    every: int,
    out: Samples,
    memory: Samples,
    sliding: int | None,
    *indicators: PassIndicator[Any],
) -> bool:
    """Process samples as `advance_pass` does, and the evaluations; return whether there were any."""
    x_c, x_m, f_m = signals
    start, n, busy = 0, len(x_c), False
    while True:
        start, number, late = advance_pass(x_c, x_m, f_m, first, start, every, out, memory, sliding)
        found = [evaluate_first(indicators) for _ in range(number)]
        assert not late or any(found), "the newest sample waits for an evaluation that nobody has"
        busy = busy or any(found)
        if start == n and not late:
            return busy


def evaluate_first(indicators: Sequence[PassIndicator[Any]]) -> bool:
    """Do the pending evaluation that is due first; return whether there was one."""
    pending = [(*each.first_pending(), each) for each in indicators if isinstance(each, HoppedIndicator)]
    _, pair, indicator = min(pending, key=itemgetter(0), default=(0, -1, None))
    if indicator is None or pair < 0:
        return False
    indicator.evaluate_pair(pair)
    return True


@kernel
def advance_pass(
    x_c: Samples, x_m: Samples, f_m: Samples, first: int, start: int, every: int, out: Samples, memory: Samples,
    sliding: int | None,
) -> tuple[int, int, bool]:  # fmt: skip
    """Process samples, (n_samples, n_channels), and write rows, (n_rows, n_pairs, n_columns), of the parts present.

    Parameters
    ----------
    f_m : (n_samples, n_channels), or empty where no part needs it.
    first : number of the first sample; a row is written for every number that `every` divides.
    start : samples that have been processed.
    memory : see `pass_memory`.
    sliding : 1; None: no part follows every sample, and this is compiled without the kernels of those that do.

    Returns
    -------
    stop : samples that have been processed now.
    number : of evaluations that are to be done, those due first, before the rest of the block or the next one of this
        length: as many a sample as must be so that none is late.
    late : the newest sample waits for one; its row is written by the next call.
    """
    x_c, x_m, f_m, out, memory = borrowed(x_c), borrowed(x_m), borrowed(f_m), borrowed(out), borrowed(memory)
    words = memory.view(np.int64)
    columns, ring, clock, waiting = open_ring(memory, first_array(words, SAMPLES))
    n_samples, late, urgent = x_c.shape[0], False, False
    for which in (BROADBAND, FEI, TRANSFER):
        n, j = first_array(words, which), first_column(words, which)
        if start > 0 and n >= 0:
            publish_late(first + start - 1, first, every, out, j, memory, n, clock[STORED])
    while start < n_samples and not late:
        stop = min(n_samples, start + PIECE)
        for which in (BROADBAND, FEI, TRANSFER):
            n = first_array(words, which)
            if n >= 0:
                stop = before_evaluation(first + start, start, stop, memory, n, clock[STORED])
        if stop == start:
            urgent = True
            break
        at, number = newest_position(clock, ring), first + start
        c, m, f = x_c[start:stop], x_m[start:stop], f_m[start:stop]
        rows = out[(number - 1) // every - (first - 1) // every :]
        if clock[HOLDS] == 0:
            store_samples(c, m, f, columns, ring, clock)
        if sliding is not None:
            _advance_sliding(c, m, f, columns, number, every, rows, memory, ring, at)
        for which in (BROADBAND, FEI, TRANSFER):
            n, j = first_array(words, which), first_column(words, which)
            if n >= 0:
                before = clock[STORED] - c.shape[0]
                late = advance_hopped(c, m, columns, number, every, rows, j, memory, n, before) or late
        start = stop
    n_waiting = 0
    for which in (BROADBAND, FEI, TRANSFER):
        n = first_array(words, which)
        if n >= 0:
            n_waiting = list_waiting(memory, n, clock[STORED], waiting, n_waiting)
    return start, _to_evaluate(waiting[:n_waiting], max(n_samples, 1)), late or urgent


@kernel
def _advance_sliding(
    x_c: Samples, x_m: Samples, f_m: Samples, columns: NDArray[np.int64], first: int, every: int, out: Samples,
    memory: Samples, ring: Samples, at: int,
) -> None:  # fmt: skip
    """Advance the parts that follow every sample."""
    # not a `part`: numba would inline all that it calls, each function in its turn, and round otherwise
    words = memory.view(np.int64)
    n, j = first_array(words, FDB), first_column(words, FDB)
    if n >= 0:
        advance_fdb(x_c, x_m, columns, first, every, out[:, :, j : j + 10], memory, n, ring, at)
    n, j = first_array(words, PAEI), first_column(words, PAEI)
    if n >= 0:
        advance_paei(x_c, x_m, columns, first, every, out[:, :, j : j + 8], memory, n, ring, at)
    n, j = first_array(words, ADAPTIVE), first_column(words, ADAPTIVE)
    if n >= 0:
        advance_adaptive(x_c, x_m, columns, first, every, out[:, :, j : j + 9], memory, n, ring, at)
    n, j = first_array(words, TI), first_column(words, TI)
    if n >= 0:
        advance_ti(x_c, x_m, columns, first, every, out[:, :, j : j + 6], memory, n, ring, at)
    n, j = first_array(words, RMS), first_column(words, RMS)
    if n >= 0:
        advance_rms(x_c, x_m, columns, first, every, out[:, :, j : j + 5], memory, n)
    n, j = first_array(words, PEAK), first_column(words, PEAK)
    if n >= 0:
        advance_peak(x_c, x_m, columns, first, every, out[:, :, j : j + 3], memory, n)
    n, j = first_array(words, HSEM), first_column(words, HSEM)
    if n >= 0:
        advance_hsem(x_c, x_m, f_m, columns, first, every, out[:, :, j : j + 5], memory, n, ring, at)
    n, j = first_array(words, SPECIMEN), first_column(words, SPECIMEN)
    if n >= 0:
        advance_specimen(x_c, x_m, f_m, columns, first, every, out[:, :, j : j + 25], memory, n, ring, at)


@inlined
def _to_evaluate(waiting: NDArray[np.int64], block: int) -> int:
    """Return how many evaluations are to be done now, of those that are due in so many samples.

    The earliest are spread over the blocks that are left: none is done while one in every other block would be in
    time later, so that there is room for those to come.
    """
    number = 0
    for i in range(waiting.shape[0]):
        left, before = -(-waiting[i] // block), 0
        # with more than two blocks left for each there is time
        if left <= 2 * waiting.shape[0]:
            for j in range(waiting.shape[0]):
                before += waiting[j] <= waiting[i]
            if 2 * before >= left:
                number = max(number, -(-before // left) if left > 0 else before)
    return number
