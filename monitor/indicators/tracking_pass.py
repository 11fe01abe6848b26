"""One compiled pass over a block for all measures that follow the signals from sample to sample, over one memory.

Each measure is a part: its settings and columns in a file of its own, its kernel beside it. A measure alone is the
same pass with one part.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from monitor.indicators.base import Signals, Value, WindowedIndicator
from monitor.indicators.parts.adaptive_kernel import advance_adaptive, open_adaptive
from monitor.indicators.parts.energy_kernel import advance_hsem, open_hsem
from monitor.indicators.parts.error_kernel import advance_peak, advance_rms, open_peak, open_rms
from monitor.indicators.parts.frequency_domain_kernel import advance_fdb, open_fdb
from monitor.indicators.parts.memory import first_array, first_column, new_memory
from monitor.indicators.parts.phase_amplitude_kernel import advance_paei, open_paei
from monitor.indicators.parts.tracking_kernel import advance_ti, open_ti
from monitor.kernel import kernel
from monitor.messages.blocks import Samples

FDB, PAEI, ADAPTIVE, TI, RMS, PEAK, HSEM = range(7)


class PassIndicator(WindowedIndicator[Value]):
    """An indicator that is a part of the pass.

    Attributes
    ----------
    part : which.
    """

    part: ClassVar[int]

    @abstractmethod
    def new_arrays(self) -> tuple[NDArray[Any], ...]:
        """Return the arrays of one that has seen nothing."""

    def _new_state(self) -> tuple[Samples, ...]:
        return (new_memory({self.part: self.new_arrays()}, {self.part: 0}),)

    def _advance(self, signals: Signals, first: int, out: Samples) -> None:
        advance_pass(signals.x_c, signals.x_m, signals.f_m, first, self.every, out, self._state[0])


class TrackingPass:
    """Several indicators of the same signals, of one number of pairs and one `every`.

    Parameters
    ----------
    columns : of each the first column of its results. They give up their own state, and are good for nothing else.
    """

    def __init__(self, columns: Mapping[PassIndicator[Any], int]) -> None:
        for each in columns:
            self._every = each.every
            each._state = ()
        arrays = {each.part: each.new_arrays() for each in columns}
        self.memory = new_memory(arrays, {each.part: column for each, column in columns.items()})

    def advance(self, signals: Signals, first: int, out: Samples) -> None:
        """Take samples of which the first has the number `first`; fill in the columns, (n_rows, n_pairs, n)."""
        advance_pass(signals.x_c, signals.x_m, signals.f_m, first, self._every, out, self.memory)


@kernel
def advance_pass(
    x_c: Samples, x_m: Samples, f_m: Samples, first: int, every: int, out: Samples, memory: Samples
) -> None:
    """Take samples, (n_samples, n_pairs), and write rows, (n_rows, n_pairs, n_columns), for the parts that are there.

    Parameters
    ----------
    f_m : (n_samples, n_pairs), or empty where no part needs it.
    first : number of the first sample; a row is written for every number that `every` divides.
    memory : see `memory`.
    """
    words = memory.view(np.int64)
    n, j = first_array(words, FDB), first_column(words, FDB)
    if n >= 0:
        advance_fdb(x_c, x_m, first, every, out[:, :, j : j + 9], open_fdb(memory, words, n))
    n, j = first_array(words, PAEI), first_column(words, PAEI)
    if n >= 0:
        advance_paei(x_c, x_m, first, every, out[:, :, j : j + 7], open_paei(memory, words, n))
    n, j = first_array(words, ADAPTIVE), first_column(words, ADAPTIVE)
    if n >= 0:
        advance_adaptive(x_c, x_m, first, every, out[:, :, j : j + 8], open_adaptive(memory, words, n))
    n, j = first_array(words, TI), first_column(words, TI)
    if n >= 0:
        advance_ti(x_c, x_m, first, every, out[:, :, j : j + 5], open_ti(memory, words, n))
    n, j = first_array(words, RMS), first_column(words, RMS)
    if n >= 0:
        advance_rms(x_c, x_m, first, every, out[:, :, j : j + 4], open_rms(memory, words, n))
    n, j = first_array(words, PEAK), first_column(words, PEAK)
    if n >= 0:
        advance_peak(x_c, x_m, first, every, out[:, :, j : j + 2], open_peak(memory, words, n))
    n, j = first_array(words, HSEM), first_column(words, HSEM)
    if n >= 0:
        advance_hsem(x_c, x_m, f_m, first, every, out[:, :, j : j + 4], open_hsem(memory, words, n))
