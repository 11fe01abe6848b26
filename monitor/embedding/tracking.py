"""Indicators of tracking inside a control loop: the very pass of the monitor, for one sample of all pairs a call."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.catalogue import CATALOGUE, needs_force
from monitor.config import IndicatorSettings
from monitor.embedding.states import COLUMNS, OK, OWN, ROWS, WRONG_ARGUMENT, FlatState, body, check_state, holds
from monitor.indicators.base import PassIndicator
from monitor.indicators.tracking_pass import TrackingPass, advance_pass, create_indicators
from monitor.kernel import borrowed, borrowed_view, kernel
from monitor.messages.blocks import Samples

MAGIC = 0x1_5359_4E43_0004
"""Of this kind of state and version of its layout."""
EVERY, WITH_FORCE = OWN, OWN + 1
"""Words of the header: decimation, and whether the force is read."""


class EmbeddedColumn(NamedTuple):
    """A number in the row of results: the result's name, as in the recording, and its pair."""

    name: str
    pair: int


class EmbeddedTracking(FlatState):
    """State of the indicators of tracking for `step_tracking`.

    Parameters
    ----------
    settings : of the indicators; its measures must be those that follow every sample, and there is no filter.
    sample_rate : Hz.
    n_pairs : number of command/measured pairs.
    with_force : whether the step gets the restoring force, which HSEM needs.

    Raises
    ------
    ValueError : a measure cannot be embedded, or a setting does not fit the sample rate.

    Attributes
    ----------
    columns : of a row of results; those of a pair are adjacent. Every pair has the same names: see `index`.
    n_pairs, n_columns : number of pairs, and of columns of one pair, which ``synchroscope_check_tracking`` compares.
    """

    def __init__(
        self, settings: IndicatorSettings, sample_rate: float, n_pairs: int = 1, *, with_force: bool = False
    ) -> None:
        if settings.bandpass is not None:
            raise ValueError("bandpass: a control loop filters its own signals: give settings without bandpass")
        if not 0.0 < sample_rate < np.inf:
            raise ValueError(f"sample_rate = {sample_rate!r} Hz: must be a positive number")
        if n_pairs < 1:
            raise ValueError(f"n_pairs = {n_pairs}: must be 1 or more")
        indicators = create_indicators(settings, sample_rate, n_pairs, with_force=with_force)
        present = [each for each in indicators if isinstance(each, PassIndicator) and each.every_sample]
        names = [output.name for each in present for output in each.outputs]
        given = {name: [output.name for output in CATALOGUE[name].outputs] for name in settings.measures}
        missing = [name for name, outputs in given.items() if not outputs or outputs[0] not in names]
        if missing:
            raise ValueError(_refusal(missing, with_force=with_force))
        firsts = np.cumsum([0, *(len(each.outputs) for each in present)]).tolist()
        memory = TrackingPass(dict(zip(present, firsts, strict=False))).memory
        self.n_pairs, self.n_columns = n_pairs, len(names)
        self.columns = tuple(EmbeddedColumn(name, pair) for pair in range(n_pairs) for name in names)
        described = f"{settings!r} {float(sample_rate)!r} {n_pairs} {with_force}"
        own = [settings.every, int(with_force)]
        super().__init__(MAGIC, (n_pairs, len(names)), described, own, memory)
        # compiles the step, or loads it, before the first sample
        silent, row = np.full(n_pairs, np.nan), self.new_row()
        step_tracking(self.state, silent, silent, silent, 0, row)
        self.reset()

    def index(self, name: str, pair: int | None = None) -> int:
        """Return the position of a result in the row.

        Parameters
        ----------
        name : of the result, such as ``fdb_delay``.
        pair : from 0; may be omitted where there is one.

        Raises
        ------
        ValueError : there is no such result or pair, or no pair is given and there are several.
        """
        names = [column.name for column in self.columns[: self.n_columns]]
        if name not in names:
            raise ValueError(f"no result {name}: these settings have {', '.join(names)}")
        if pair is None and self.n_pairs > 1:
            raise ValueError(f"{name} of which pair: there are {self.n_pairs}: give pair=0 to {self.n_pairs - 1}")
        if pair is not None and not 0 <= pair < self.n_pairs:
            raise ValueError(f"pair = {pair}: must be 0 to {self.n_pairs - 1}")
        return (pair or 0) * self.n_columns + names.index(name)


def _refusal(measures: list[str], *, with_force: bool) -> str:
    listed = ", ".join(measures)
    if all(map(needs_force, measures)) and not with_force:
        return f"measure {listed}: needs the restoring force: give with_force=True, or omit it"
    return f"measures {listed}: evaluated over whole windows, not at every sample: they cannot be embedded"


@kernel
def step_tracking(
    state: Samples, command: Samples, measured: Samples, force: Samples, number: int, row: Samples
) -> int:
    """Process one sample of all pairs.

    Parameters
    ----------
    state : `EmbeddedTracking.state`.
    command, measured : (n_pairs,), float64, contiguous; NaN where a sample is lost.
    force : likewise the restoring force; any array where the state was made without force.
    number : of the sample, increasing by one.
    row : (n_pairs * n_columns,), overwritten where a row is due: at every number that ``every`` of the settings
        divides; NaN where not valid.

    Returns
    -------
    1 where `row` is new, 0 where none is due; negative, and nothing is changed, where the state is wrong or an array
    is too short or not of contiguous float64: the codes of ``synchroscope.h``.
    """
    state, n_words = borrowed(state), len(state)
    words = state.view(np.int64)
    known = check_state(words, n_words, MAGIC)
    if known != OK:
        return known
    n_pairs, n_columns, every = words[ROWS], words[COLUMNS], words[EVERY]
    n_force = n_pairs if words[WITH_FORCE] else 0
    if not (holds(command, n_pairs) and holds(measured, n_pairs)):
        return WRONG_ARGUMENT
    if not (holds(force, n_force) and holds(row, n_pairs * n_columns)):
        return WRONG_ARGUMENT
    due = 1 if number % every == 0 else 0
    advance_pass(
        borrowed_view(command, 0, (1, n_pairs), np.float64),
        borrowed_view(measured, 0, (1, n_pairs), np.float64),
        borrowed_view(force, 0, (1, n_pairs), np.float64),
        number,
        0,
        every,
        borrowed_view(row, 0, (due, n_pairs, n_columns), np.float64),
        body(state, n_words),
        1,
    )
    return due
