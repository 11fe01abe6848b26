"""The engine: signal blocks in, indicator values out. No clock, no socket, no thread, no file."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import nullcontext
from dataclasses import dataclass
from math import ceil

import numpy as np

from monitor.config import MEASURES, IndicatorSettings, Measure
from monitor.engine.actuators import ActuatorMonitor
from monitor.engine.continuity import Continuity
from monitor.engine.reliability import ReliabilityMonitor
from monitor.kernel import Progress, report_compilation
from monitor.messages.blocks import Channel, Event, EventKind, ResultBlock, ResultStream, Role, SignalBlock, Stream
from monitor.messages.transfer import TransferBlock
from monitor.reliability.ensemble import sort_ensemble
from monitor.reliability.plan import ReliabilityPlan, ValidationSite
from monitor.reliability.tolerance import Tolerance, TolerancePolicy

MOST_ROWS = 200.0
"""Rows of results a second that a service gives at most, unless it is told otherwise."""


def rows_apart(settings: IndicatorSettings, sample_rate: float, most_rows: float | None) -> int:
    """Return from how many samples to how many there is a row of results: ``every``, or what `most_rows` allows."""
    if most_rows is None or "every" in settings.model_fields_set:
        return settings.every
    return max(1, ceil(sample_rate / most_rows))


@dataclass(frozen=True, slots=True)
class Update:
    """What came of one block: its new samples, the results at them, and what happened to the stream.

    ``transfer`` is there when a transfer function has been made anew.
    """

    signals: SignalBlock | None
    results: ResultBlock | None
    events: tuple[Event, ...]
    transfer: TransferBlock | None = None


class UnfitSettingsError(ValueError):
    """The settings do not fit the stream; ``update`` is what came of the block all the same."""

    def __init__(self, reason: str, update: Update) -> None:
        super().__init__(reason)
        self.update = update


class Monitor:
    """Follow one rig: keep its stream in order, compute every indicator for every actuator, and judge its model.

    Parameters
    ----------
    settings : of the indicators.
    plan : of the model that is judged; None: there is none.
    most_rows : rows of results a second, at most, where the settings do not say ``every``; None: one a sample.

    Notes
    -----
    Any way of cutting the stream into blocks gives the same rows of results, bit for bit.
    """

    def __init__(
        self,
        settings: IndicatorSettings | None = None,
        plan: ReliabilityPlan | None = None,
        *,
        most_rows: float | None = None,
    ) -> None:
        self.settings = settings or IndicatorSettings()
        self._given, self._most_rows = self.settings, most_rows
        self._plan = plan
        self._paused: frozenset[str] = frozenset()
        self._continuity = Continuity()
        self._actuators: ActuatorMonitor | None = None
        self._reliability: ReliabilityMonitor | None = None
        self._results: ResultStream | None = None

    def begins(self, block: SignalBlock) -> bool:
        """Tell whether `block` begins a stream anew, for which all is made anew; nothing is changed by asking."""
        return self._continuity.begins(block)

    def update(self, block: SignalBlock) -> Update:
        """Take a block; the results are those at its new samples whose index ``every`` divides.

        Raises
        ------
        UnfitSettingsError : for example, the window holds fewer samples than an indicator needs. It is raised at the
            first block of a stream; the blocks that follow have results of the model alone, if one is judged.
        """
        arrival = self._continuity.accept(block)
        new, events = arrival.block, arrival.events
        if new is None:
            return Update(None, None, events)
        unfit: ValueError | None = None
        if arrival.started:
            notes, unfit = self._start(new.stream)
            events += tuple(Event(EventKind.NOTE, new.time, new.index, 0, text) for text in notes)
        rows, transfer = [], None
        if self._actuators is not None:
            rows.append(self._actuators.advance(new, broken=arrival.broken and not arrival.started))
            transfer = self._actuators.fresh_transfer(new)
        if self._reliability is not None:
            judged, decisions = self._reliability.advance(new, self.settings.every)
            rows.append(judged)
            # in the order of the stream: a decision at its last samples comes before its end
            if decisions:
                events = tuple(sorted(events + decisions, key=lambda event: event.index))
        results = None
        if self._results is not None:
            first_row = -(-new.index // self.settings.every) * self.settings.every
            time = new.time + (first_row - new.index) * new.stream.dt
            results = ResultBlock(self._results, first_row, time, np.concatenate(rows, axis=1), new.last)
        update = Update(new, results, events, transfer)
        if unfit is not None:
            raise UnfitSettingsError(str(unfit), update) from unfit
        return update

    def pause(self, measures: Collection[str]) -> None:
        """Do not compute these of the measures that evaluate whole windows, for want of time; all others again.

        Their values are NaN until a window has been evaluated again.
        """
        self._paused = frozenset(measures)
        if self._actuators is not None:
            self._actuators.pause(self._paused)

    def work(self) -> bool:
        """Do a part of the pending evaluations, in time that is to spare; return whether there was any.

        It is less than a millisecond's worth, for windows of a few thousand samples. Nothing depends on it but how
        long an `update` takes, which does what is due and has not been done.
        """
        return self._actuators is not None and self._actuators.work()

    def finish(self) -> TransferBlock | None:
        """Return pending transfer functions, where a record ends without a last block."""
        return None if self._actuators is None else self._actuators.finish_transfer()

    def keep(self, block: SignalBlock) -> Update:
        """Put a block in order, but compute nothing, for want of time; no block can be computed after it."""
        arrival = self._continuity.accept(block)
        return Update(arrival.block, None, arrival.events)

    def _start(self, stream: Stream) -> tuple[tuple[str, ...], ValueError | None]:
        """Make everything anew for a stream; return what there is to note, and why there are no indicators."""
        self._actuators, self._reliability, self._results = None, None, None
        every = rows_apart(self._given, stream.sample_rate, self._most_rows)
        self.settings = self._given.model_copy(update={"every": every})
        notes: tuple[str, ...] = ()
        unfit: ValueError | None = None
        if stream.pairs:
            try:
                self._actuators = ActuatorMonitor(self.settings, stream)
                notes += self._actuators.notes
                self._actuators.pause(self._paused)
            except ValueError as problem:
                # the model is judged all the same
                unfit = problem
        if self._plan is not None:
            try:
                self._reliability = ReliabilityMonitor(self._plan, stream)
            except ValueError as problem:
                # the actuators are watched all the same
                notes += (f"no reliability: {problem}",)
        parts = [part for part in (self._actuators, self._reliability) if part is not None]
        columns = tuple(column for part in parts for column in part.columns)
        if columns:
            every = self.settings.every
            self._results = ResultStream(stream.rig, stream.epoch, stream.sample_rate, every, columns)
        return notes, unfit


def warm_up(
    measures: tuple[Measure, ...] = MEASURES,
    *,
    bandpass: bool = True,
    reliability: bool = False,
    progress: Progress | None = None,
) -> None:
    """Compile the kernels of these measures, or load them from disk, so that no sample of a test waits for that.

    Parameters
    ----------
    bandpass : signals are to be filtered: the filter's kernel as well, which is a second's work.
    reliability : a model is to be judged: those of the reliability as well.
    progress : called with (done, total, name) for every function that is compiled, about 120 in a minute or two; with
        (total, total, "") at the end. Of kernels that are loaded from disk only the end is reported.
    """
    roles = (Role.COMMAND, Role.MEASURED, Role.FORCE)
    channels = tuple(Channel(role.value, role, "", "a") for role in roles)
    stream = Stream("warm-up", 0, 100.0, channels)
    samples = np.sin(0.3 * np.arange(400.0))[:, None] * [[1.0, 0.9, 2.0]]
    plan = None
    if reliability:
        ensemble = sort_ensemble(0.01 * np.arange(400.0), samples[:, :1] * [0.8, 0.9, 1.0])
        plan = ReliabilityPlan((ValidationSite("command", ensemble, Tolerance(TolerancePolicy.ABSOLUTE, 0.1)),))
    band = (0.5, 20.0) if bandpass else None
    with nullcontext() if progress is None else report_compilation(progress):
        monitor = Monitor(IndicatorSettings(window=1.0, bandpass=band, measures=measures), plan)
        for start, stop in ((0, 399), (399, 400)):
            monitor.update(SignalBlock(stream, start, 0.01 * start, samples[start:stop]))
