"""The engine: from signal blocks to indicator values, without clock, socket, thread or file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

import numpy as np

from monitor.catalogue import RELIABILITY
from monitor.config import MEASURES, IndicatorSettings
from monitor.engine.actuators import ActuatorMonitor
from monitor.engine.continuity import Accepted, Continuity
from monitor.engine.gap_interpolation import GapInterpolation
from monitor.engine.reliability import ReliabilityMonitor
from monitor.kernel import Progress, report_compilation
from monitor.messages.blocks import (
    Channel,
    Column,
    Event,
    EventKind,
    ResultBlock,
    ResultStream,
    Role,
    SignalBlock,
    Stream,
    TransferBlock,
)
from monitor.messages.reasons import Reason
from monitor.reliability.ensemble import sort_ensemble
from monitor.reliability.plan import ReliabilityPlan, ValidationSite
from monitor.reliability.tolerance import Tolerance, TolerancePolicy

MAX_ROWS_PER_SECOND = 200.0
"""Default of a service."""


def row_interval(settings: IndicatorSettings, sample_rate: float, max_rows: float | None) -> int:
    """Return the samples between rows of results: ``every``, or the decimation for at most `max_rows` a second."""
    if max_rows is None or "every" in settings.model_fields_set:
        return settings.every
    return max(1, ceil(sample_rate / max_rows))


class Update(NamedTuple):
    """Result of one block: its new samples, the results at them, and the events of the stream.

    ``transfer`` is None unless there are new transfer functions. ``interpolated`` samples were, in short gaps.
    """

    signals: SignalBlock | None
    results: ResultBlock | None
    events: tuple[Event, ...]
    transfer: TransferBlock | None = None
    interpolated: int = 0


class UnfitSettingsError(ValueError):
    """The settings do not fit the stream; ``update`` is the result of the block without indicators."""

    def __init__(self, reason: str, update: Update) -> None:
        super().__init__(reason)
        self.update = update


@dataclass(frozen=True, slots=True)
class _Prepared:
    """Parts for a stream that begins; ``unfit``: why there are no indicators."""

    stream: Stream
    actuators: ActuatorMonitor | None
    reliability: ReliabilityMonitor | None
    columns: tuple[Column, ...]
    notes: tuple[str, ...]
    unfit: ValueError | None


class Monitor:
    """Monitor of one rig: order of its stream, indicators of every actuator, reliability of its model.

    Parameters
    ----------
    settings : of the indicators.
    plan : of the model's reliability; None: no model.
    max_rows : rows of results a second, at most, where the settings do not give ``every``; None: one a sample.

    Notes
    -----
    The results do not depend on how the stream is split into blocks, bit for bit.
    """

    def __init__(
        self,
        settings: IndicatorSettings | None = None,
        plan: ReliabilityPlan | None = None,
        *,
        max_rows: float | None = None,
    ) -> None:
        self.settings = settings or IndicatorSettings()
        self._given, self._max_rows = self.settings, max_rows
        self._plan = plan
        self._paused: Mapping[str, Reason] = {}
        self._continuity = Continuity()
        self._prepared: _Prepared | None = None
        self._known: tuple[object, tuple[Column, ...]] | None = None  # columns by the rate and channels of a stream
        self._actuators: ActuatorMonitor | None = None
        self._reliability: ReliabilityMonitor | None = None
        self._gaps: GapInterpolation | None = None
        self._results: ResultStream | None = None

    def starts_stream(self, block: SignalBlock) -> bool:
        """Return whether `block` starts a new stream, which resets everything; the state does not change."""
        return self._continuity.starts_stream(block)

    def accept(self, block: SignalBlock) -> Accepted:
        """Check the order of a block that has come, without computing; for `compute`, in the same order."""
        return self._continuity.accept(block)

    def finish_order(self) -> tuple[Event, ...]:
        """Return what is to be reported of blocks that were late or duplicate, at the end."""
        return self._continuity.finish()

    def results_of(self, stream: Stream) -> ResultStream | None:
        """Return what `compute` will publish of a stream that begins; None: nothing.

        Its columns are known before its first sample is computed, while samples of the stream before may still wait.
        """
        layout = stream.sample_rate, stream.channels
        if self._known is None or self._known[0] != layout:
            self._prepared = self._prepare(stream)
            self._known = layout, self._prepared.columns
        columns = self._known[1]
        every = self._settings_for(stream).every
        return ResultStream(stream.rig, stream.epoch, stream.sample_rate, every, columns) if columns else None

    def update(self, block: SignalBlock) -> Update:
        """Process a block: `accept` and `compute`."""
        return self.compute(self.accept(block))

    def compute(self, accepted: Accepted) -> Update:
        """Compute an accepted block; the results are those at its new samples whose index ``every`` divides.

        With `bridge`, results at the samples of a gap come with the block in which it ends. If it does not end, but
        samples are lost, there are none at those that came before the loss.

        Raises
        ------
        UnfitSettingsError : for example, the window holds fewer samples than an indicator needs. It is raised at the
            first block of a stream; later blocks have results of the model only, if there is one.
        """
        new, events = accepted.block, accepted.events
        if new is None:
            return Update(None, None, events)
        unfit: ValueError | None = None
        if accepted.started:
            notes, unfit = self._start(new.stream)
            events += tuple(Event(EventKind.NOTE, new.time, new.index, 0, text) for text in notes)
        parts, interpolated = [(new, accepted.broken and not accepted.started)], 0
        if self._gaps is not None:
            before = self._gaps.count
            parts = self._gaps.push(new, broken=parts[0][1])
            interpolated = self._gaps.count - before
            # told at the first one, the tenth, the hundredth
            if len(str(self._gaps.count)) > len(str(before)) or (interpolated and not before):
                text = f"samples interpolated so far in gaps of up to {self.settings.bridge:g} s: {self._gaps.count}"
                events += (Event(EventKind.NOTE, new.time, new.index, 0, text),)
        for part, broken in parts:
            results, decisions = self._advance(part, broken=broken)
            # in the order of the stream: a decision at its last samples precedes its end
            if decisions:
                events = tuple(sorted(events + decisions, key=lambda event: event.index))
        transfer = None if self._actuators is None else self._actuators.new_transfer(parts[-1][0])
        update = Update(new, results, events, transfer, interpolated)
        if unfit is not None:
            raise UnfitSettingsError(str(unfit), update) from unfit
        return update

    def _advance(self, block: SignalBlock, *, broken: bool) -> tuple[ResultBlock | None, tuple[Event, ...]]:
        """Return the results at a block's samples, and the decisions on the model."""
        every, rows = self.settings.every, []
        decisions: tuple[Event, ...] = ()
        first_row = -(-block.index // every) * every
        if self._actuators is not None:
            rows.append(self._actuators.advance(block, broken=broken))
            if self._gaps is not None:
                self._gaps.widen(rows[0], first_row, every, self._actuators.columns)
        if self._reliability is not None:
            if RELIABILITY in self._paused:
                n_rows = len(range(first_row, block.index + len(block), every))
                rows.append(np.full((n_rows, len(self._reliability.columns)), np.nan))
            else:
                model_rows, decisions = self._reliability.advance(block, every)
                rows.append(model_rows)
        if self._results is None:
            return None, decisions
        time = block.time + (first_row - block.index) * block.stream.dt
        values = rows[0] if len(rows) == 1 else np.concatenate(rows, axis=1)
        return ResultBlock(self._results, first_row, time, values, block.last), decisions

    def pause(self, reasons: Mapping[str, Reason]) -> None:
        """Suspend these measures, and resume all others; meanwhile their values are NaN, for this reason.

        One of whole windows is valid again from the next evaluation on, any other once a window is full. At a first
        start those whose kernels are `Reason.COMPILING`, which may include `RELIABILITY`, are paused before the first
        block: their kernels are not called.
        """
        self._paused = dict(reasons)
        if self._actuators is not None:
            self._actuators.pause(self._paused)

    def run_pending(self) -> bool:
        """Do one of the pending evaluations in spare time; return whether there was any.

        It takes less than a millisecond for windows of a few thousand samples. The results do not depend on it:
        `update` does what is left, spread over the samples until it is due.
        """
        return self._actuators is not None and self._actuators.run_pending()

    def finish(self) -> TransferBlock | None:
        """Return pending transfer functions, for a record that ends without a last block."""
        return None if self._actuators is None else self._actuators.finish_transfer()

    def _start(self, stream: Stream) -> tuple[tuple[str, ...], ValueError | None]:
        """Reset for a stream; return notes, and the reason if there are no indicators."""
        self._results = self.results_of(stream)
        # parts that have computed nothing are used once
        prepared, self._prepared = self._prepared, None
        if prepared is None or prepared.stream is not stream:
            prepared = self._prepare(stream)
        self._actuators, self._reliability = prepared.actuators, prepared.reliability
        self.settings = self._settings_for(stream)
        self._gaps = None
        if self._actuators is not None and self.settings.bridge > 0.0:
            self._gaps = GapInterpolation(stream, self.settings.bridge, self.settings.window)
        if self._actuators is not None:
            self._actuators.pause(self._paused)
        return prepared.notes, prepared.unfit

    def _settings_for(self, stream: Stream) -> IndicatorSettings:
        every = row_interval(self._given, stream.sample_rate, self._max_rows)
        return self._given.model_copy(update={"every": every})

    def _prepare(self, stream: Stream) -> _Prepared:
        actuators: ActuatorMonitor | None = None
        reliability: ReliabilityMonitor | None = None
        notes: tuple[str, ...] = ()
        unfit: ValueError | None = None
        compiling = {each for each, reason in self._paused.items() if reason is Reason.COMPILING}
        if stream.pairs:
            try:
                actuators = ActuatorMonitor(self._settings_for(stream), stream, compiling)
                notes += actuators.notes
            except ValueError as problem:
                # the model's reliability is computed regardless
                unfit = problem
        if self._plan is not None:
            try:
                reliability = ReliabilityMonitor(self._plan, stream, compiling=RELIABILITY in compiling)
            except ValueError as problem:
                # the indicators are computed regardless
                notes += (f"no reliability: {problem}",)
        columns = tuple(column for part in (actuators, reliability) if part is not None for column in part.columns)
        return _Prepared(stream, actuators, reliability, columns, notes, unfit)


def warm_up(
    measures: Collection[str] = MEASURES,
    *,
    bandpass: bool = True,
    reliability: bool = False,
    progress: Progress | None = None,
) -> None:
    """Compile the kernels of these measures, or load them from the cache, before the first sample of a test.

    Parameters
    ----------
    bandpass : also the filter's kernel, which takes a second.
    reliability : also those of the reliability.
    progress : called with (compiled, total, name) for every compiled function, about 150 in a minute or two, and
        with (total, total, "") at the end. Kernels loaded from the cache are not reported.
    """
    # no actuator without measures
    roles = (Role.COMMAND, Role.MEASURED, Role.FORCE) if measures else (Role.AUXILIARY,)
    channels = tuple(Channel(role.value, role, "", "a") for role in roles)
    stream = Stream("warm-up", 0, 100.0, channels)
    samples = np.sin(0.3 * np.arange(400.0))[:, None] * [[1.0, 0.9, 2.0][: len(roles)]]
    plan = None
    if reliability:
        ensemble = sort_ensemble(0.01 * np.arange(400.0), samples[:, :1] * [0.8, 0.9, 1.0])
        plan = ReliabilityPlan((ValidationSite(roles[0].value, ensemble, Tolerance(TolerancePolicy.ABSOLUTE, 0.1)),))
    band = (0.5, 20.0) if bandpass else None
    with nullcontext() if progress is None else report_compilation(progress):
        settings = IndicatorSettings(window=1.0, bandpass=band, measures=tuple(measures) or MEASURES)
        monitor = Monitor(settings, plan)
        for start, stop in ((0, 399), (399, 400)):
            monitor.update(SignalBlock(stream, start, 0.01 * start, samples[start:stop]))
