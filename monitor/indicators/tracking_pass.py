"""One compiled pass over a block for all measures that follow the signals sample by sample, over one memory.

Each measure is a part of the pass: a file of its own has its settings, arrays and kernel. A single measure is the
same pass with one part.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from monitor.catalogue import CATALOGUE, measure_of
from monitor.config import IndicatorSettings
from monitor.indicators.adaptive_phase_amplitude import advance_adaptive
from monitor.indicators.base import PassIndicator, Signals, WindowedIndicator
from monitor.indicators.energy_error import advance_hsem
from monitor.indicators.hopped import HoppedIndicator
from monitor.indicators.parts.frequency_domain_kernel import advance_fdb
from monitor.indicators.parts.memory import (
    ADAPTIVE,
    FDB,
    HSEM,
    N_PARTS,
    PAEI,
    PEAK,
    RMS,
    TI,
    first_array,
    first_arrays,
    first_column,
    new_memory,
)  # fmt: skip
from monitor.indicators.phase_amplitude import advance_paei
from monitor.indicators.tracking_error import advance_peak, advance_rms
from monitor.indicators.tracking_indicator import advance_ti
from monitor.kernel import borrowed, kernel
from monitor.messages.blocks import Samples
from monitor.messages.reasons import Reason


def create_indicators(
    settings: IndicatorSettings, sample_rate: float, n_pairs: int, *, with_force: bool = False
) -> tuple[WindowedIndicator[Any], ...]:
    """Return an indicator for each measure in `settings`; those that need a force only `with_force`.

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
        module, name = entry.indicator.split(":")
        kind: type[WindowedIndicator[Any]] = getattr(import_module(module), name)
        if kind.needs_force and not with_force:
            continue
        keywords: dict[str, Any] = {name: getattr(settings, name) for name in entry.settings}
        if issubclass(kind, HoppedIndicator):
            keywords["latency"] = latency
        indicators.append(kind(sample_rate, settings.window, n_pairs=n_pairs, every=settings.every, **keywords))
    return tuple(indicators)


class TrackingPass:
    """Several indicators of the same signals, with one number of pairs and one `every`.

    Parameters
    ----------
    columns : each indicator's first column of the results. The indicators' state moves into the pass; they cannot be
        updated separately afterwards.
    """

    def __init__(self, columns: Mapping[PassIndicator[Any], int]) -> None:
        for indicator in columns:
            self._every = indicator.every
            indicator.release_state()
        arrays = {indicator.part: indicator.new_arrays() for indicator in columns}
        self.memory = new_memory(arrays, {indicator.part: column for indicator, column in columns.items()})
        self._columns = {each.part: slice(at, at + len(each.outputs)) for each, at in columns.items()}
        self._paused_values = {each.part: each.no_values(Reason.PAUSED) for each in columns}
        self._parts = {measure_of(each.outputs[0].name): each.part for each in columns}
        self._first_arrays = first_arrays(self.memory).copy()
        self._paused: frozenset[int] = frozenset()
        self._resumed: frozenset[int] = frozenset()

    def pause(self, measures: Collection[str]) -> None:
        """Leave these of its measures out, to shed load, and compute all others; the values left out are
        NaN, their reason is `Reason.PAUSED`.

        A measure comes back as after a gap in the stream: its values are valid once a window of new samples is full,
        and sums since the start go on without the samples that it has not seen.
        """
        paused = frozenset(part for measure, part in self._parts.items() if measure in measures)
        self._resumed = (self._resumed | self._paused) - paused
        self._paused = paused
        self._set_present(self._columns.keys() - paused)

    def advance(self, signals: Signals, first: int, out: Samples) -> None:
        """Process samples, the first with number `first`; fill in the columns of `out`, (n_rows, n_pairs, n)."""
        if self._resumed and len(signals.x_c):
            self._set_present(self._resumed)
            c, m, f = (np.full((1, each.shape[1]), np.nan) for each in signals)
            advance_pass(c, m, f, first - 1, self._every, np.empty((1, *out.shape[1:])), self.memory)
            self._set_present(self._columns.keys() - self._paused)
            self._resumed = frozenset()
        advance_pass(signals.x_c, signals.x_m, signals.f_m, first, self._every, out, self.memory)
        for part in self._paused:
            out[:, :, self._columns[part]] = self._paused_values[part]

    def _set_present(self, parts: Collection[int]) -> None:
        present = np.isin(np.arange(N_PARTS), list(parts))
        first_arrays(self.memory)[:] = np.where(present, self._first_arrays, -1)


@kernel
def advance_pass(
    x_c: Samples, x_m: Samples, f_m: Samples, first: int, every: int, out: Samples, memory: Samples
) -> None:
    """Process samples, (n_samples, n_pairs), and write rows, (n_rows, n_pairs, n_columns), of the parts present.

    Parameters
    ----------
    f_m : (n_samples, n_pairs), or empty where no part needs it.
    first : number of the first sample; a row is written for every number that `every` divides.
    memory : see `new_memory`.
    """
    x_c, x_m, f_m, out, memory = borrowed(x_c), borrowed(x_m), borrowed(f_m), borrowed(out), borrowed(memory)
    words = memory.view(np.int64)
    n, j = first_array(words, FDB), first_column(words, FDB)
    if n >= 0:
        advance_fdb(x_c, x_m, first, every, out[:, :, j : j + 10], memory, n)
    n, j = first_array(words, PAEI), first_column(words, PAEI)
    if n >= 0:
        advance_paei(x_c, x_m, first, every, out[:, :, j : j + 8], memory, n)
    n, j = first_array(words, ADAPTIVE), first_column(words, ADAPTIVE)
    if n >= 0:
        advance_adaptive(x_c, x_m, first, every, out[:, :, j : j + 9], memory, n)
    n, j = first_array(words, TI), first_column(words, TI)
    if n >= 0:
        advance_ti(x_c, x_m, first, every, out[:, :, j : j + 6], memory, n)
    n, j = first_array(words, RMS), first_column(words, RMS)
    if n >= 0:
        advance_rms(x_c, x_m, first, every, out[:, :, j : j + 5], memory, n)
    n, j = first_array(words, PEAK), first_column(words, PEAK)
    if n >= 0:
        advance_peak(x_c, x_m, first, every, out[:, :, j : j + 3], memory, n)
    n, j = first_array(words, HSEM), first_column(words, HSEM)
    if n >= 0:
        advance_hsem(x_c, x_m, f_m, first, every, out[:, :, j : j + 5], memory, n)
