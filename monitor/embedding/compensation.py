"""A compensator inside a control loop: what `Compensator` computes, for one sample of all actuators a call."""

from __future__ import annotations

import numpy as np

from monitor.compensation.base import COLUMNS, Compensation
from monitor.compensation.indicator_driven import IndicatorDriven
from monitor.compensation.lead import FIT, HELD, LEAD, advance_lead, open_lead
from monitor.compensation.time_series_fit import ADAPTING, BRIDGED, LIMITED, learn_pair, open_fit
from monitor.embedding.states import COLUMNS as STATE_COLUMNS
from monitor.embedding.states import OK, ROWS, WRONG_ARGUMENT, FlatState, body, check_state, holds
from monitor.indicators.parts.memory import first_array
from monitor.kernel import borrowed, borrowed_view, kernel
from monitor.messages.blocks import Samples

MAGIC = 0x1_5359_4E43_0005
"""Of this kind of state and version of its layout."""


class EmbeddedCompensator(FlatState):
    """State of a compensator for `step_compensator`, which is always on.

    Parameters
    ----------
    settings : `FixedInverse`, `AdaptiveTimeSeries` or `RecursiveInverse`.
    sample_rate : Hz.
    n_pairs : number of actuators.

    Raises
    ------
    TypeError : the settings are those of an `IndicatorDriven`.
    ValueError : a setting does not fit the sample rate.

    Attributes
    ----------
    columns : of a row of results, for each actuator: names as of `Compensator.values`.
    n_pairs, n_columns : numbers of actuators and columns, which ``synchroscope_check_compensator`` compares.
    """

    def __init__(self, settings: Compensation, sample_rate: float, n_pairs: int = 1) -> None:
        if not 0.0 < sample_rate < np.inf:
            raise ValueError(f"sample_rate = {sample_rate} Hz: must be a positive number")
        if n_pairs < 1:
            raise ValueError(f"n_pairs = {n_pairs}: must be 1 or more")
        if isinstance(settings, IndicatorDriven):
            raise TypeError(
                "IndicatorDriven cannot be embedded, it evaluates windows: give FixedInverse, AdaptiveTimeSeries or "
                "RecursiveInverse"
            )
        self.n_pairs, self.n_columns = n_pairs, len(COLUMNS)
        self.columns = tuple(column.name for column in COLUMNS)
        described = f"{settings!r} {float(sample_rate)!r} {n_pairs}"
        super().__init__(
            MAGIC, (n_pairs, self.n_columns), described, [], settings.begin(1.0 / sample_rate, (n_pairs,)).memory
        )
        # compiles the step, or loads it, before the first sample
        silent = np.zeros(n_pairs)
        step_compensator(self.state, silent, silent, silent.copy(), self.new_row())
        self.reset()


@kernel
def step_compensator(state: Samples, command: Samples, measured: Samples, sent: Samples, row: Samples) -> int:
    """Find what to send for a command, and learn from what was measured at the same instant.

    Parameters
    ----------
    state : `EmbeddedCompensator.state`.
    command : (n_pairs,), float64, contiguous; where one is not finite the last value is sent again.
    measured : (n_pairs,), in the unit of the command; NaN where a sample is lost.
    sent : (n_pairs,), overwritten: to the actuators; it may be `command` itself.
    row : (n_pairs * n_columns,), overwritten: `EmbeddedCompensator.columns` of each actuator.

    Returns
    -------
    0; negative, and nothing is changed, where the state is wrong, an array is too short or not of contiguous float64,
    or the first command is not finite: the codes of ``synchroscope.h``.
    """
    state, n_words = borrowed(state), len(state)
    words = state.view(np.int64)
    known = check_state(words, n_words, MAGIC)
    if known != OK:
        return known
    n_pairs, n_columns = words[ROWS], words[STATE_COLUMNS]
    if not (holds(command, n_pairs) and holds(measured, n_pairs) and holds(sent, n_pairs)):
        return WRONG_ARGUMENT
    if not holds(row, n_pairs * n_columns):
        return WRONG_ARGUMENT
    memory = body(state, n_words)
    parts = memory.view(np.int64)
    lead, first_fit = open_lead(memory, first_array(parts, LEAD)), first_array(parts, FIT)
    if not advance_lead(lead, borrowed_view(command, 0, (n_pairs,), np.float64)):
        return WRONG_ARGUMENT
    for k in range(n_pairs):
        # what is sent may be written over the command
        c, m = command[k], measured[k]
        sent[k] = lead.sent[k]
        of_pair = borrowed_view(row, k * n_columns, (n_columns,), np.float64)
        of_pair[:] = 0.0
        if first_fit >= 0:
            fit = open_fit(memory, first_fit)
            learn_pair(lead, fit, k, c, m)
            counts = fit.counts[k]
            of_pair[2], of_pair[3], of_pair[4] = counts[ADAPTING], counts[BRIDGED], counts[LIMITED]
        coefficients = lead.coefficients[k]
        of_pair[0] = coefficients[1] / coefficients[0] if len(coefficients) > 1 else 0.0
        of_pair[1], of_pair[5] = coefficients[0], lead.counts[k, HELD]
    return OK
