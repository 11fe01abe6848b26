"""The engine: signal blocks in, indicator values out. No clock, no socket, no thread, no file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from monitor.blocks import (
    Channel,
    Column,
    Event,
    EventKind,
    ResultBlock,
    ResultStream,
    Role,
    Samples,
    SignalBlock,
    Stream,
    ratio_unit,
    units_differ,
)
from monitor.config import MEASURES, IndicatorSettings, Measure
from monitor.continuity import Continuity
from monitor.indicators.base import ENERGY_UNIT, RATIO_UNIT, SIGNAL_UNIT, Output, Signals, WindowedIndicator
from monitor.indicators.catalogue import all_indicators
from monitor.pair_signals import PairSignals
from monitor.transfer import TransferBlock
from monitor.transfer_monitor import TransferMonitor


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
    """Follow one rig: keep its stream in order and compute every indicator for every actuator.

    Parameters
    ----------
    settings : of the indicators.

    Notes
    -----
    Any way of cutting the stream into blocks gives the same rows of results, bit for bit.
    """

    def __init__(self, settings: IndicatorSettings | None = None) -> None:
        self.settings = settings or IndicatorSettings()
        self._continuity = Continuity()
        self._signals: PairSignals | None = None
        self._indicators: tuple[WindowedIndicator[Any], ...] = ()
        self._transfer: TransferMonitor | None = None
        self._results: ResultStream | None = None

    def update(self, block: SignalBlock) -> Update:
        """Take a block; the results are those at its new samples whose index ``every`` divides.

        Raises
        ------
        UnfitSettingsError : for example, the window holds fewer samples than an indicator needs. It is raised at the
            first block of a stream; the blocks that follow give no results.
        """
        arrival = self._continuity.accept(block)
        new = arrival.block
        if new is None:
            return Update(None, None, arrival.events)
        notes: list[Event] = []
        if arrival.started:
            try:
                notes = [Event(EventKind.NOTE, new.time, new.index, 0, text) for text in self._start(new.stream)]
            except ValueError as problem:
                self._signals = None
                raise UnfitSettingsError(str(problem), Update(new, None, arrival.events)) from problem
        events = (*arrival.events, *notes)
        if self._signals is None:
            return Update(new, None, events)
        if arrival.broken and not arrival.started:
            # a sample that is not there, seen as one that is NaN: windows across it are not valid
            self._advance(self._signals.hole(), new.index - 1)
        found = self._advance(self._signals.take(new), new.index)
        transfer = None if self._transfer is None else self._transfer.fresh(new)
        return Update(new, self._block(new, found), events, transfer)

    def _start(self, stream: Stream) -> list[str]:
        """Make everything anew for a stream; return what there is to note."""
        pairs, settings = stream.pairs, self.settings
        notes: list[str] = []
        self._signals, self._indicators, self._transfer, self._results = None, (), None, None
        if not pairs:
            return notes
        signals = PairSignals(stream, settings.bandpass)
        self._indicators = all_indicators(settings, stream.sample_rate, len(pairs), with_force=signals.with_force)
        if "transfer" in settings.measures:
            try:
                self._transfer = TransferMonitor(settings, stream)
            except ValueError as problem:
                if {"measures", "transfer_segment"} & settings.model_fields_set:
                    raise ValueError(f"transfer_segment: {problem}") from problem
                # nobody asked for it by name: the other measures go on without it
                notes.append(f"no transfer function: {problem}")
        outputs = [output for indicator in self._indicators for output in indicator.outputs]
        columns, meaningless = [], []
        for pair in pairs:
            command, measured = stream.channels[pair.command], stream.channels[pair.measured]
            force = None if pair.force is None else stream.channels[pair.force]
            for output in outputs:
                columns.append(Column(output.name, _unit(output, command, measured, force), pair.actuator))
                meaningless.append(output.compares and units_differ(command, measured))
        self._meaningless = np.flatnonzero(meaningless)
        if columns:
            self._results = ResultStream(stream.rig, stream.epoch, stream.sample_rate, settings.every, tuple(columns))
        self._signals = signals
        return notes

    def _advance(self, signals: Signals, first: int) -> list[Samples]:
        """Let everything take the samples; return the rows of each indicator, (n_rows, n_pairs, n_outputs)."""
        if self._transfer is not None:
            self._transfer.advance(signals, first)
        return [indicator.advance(signals.x_c, signals.x_m, first, signals.f_m) for indicator in self._indicators]

    def _block(self, block: SignalBlock, found: list[Samples]) -> ResultBlock | None:
        if self._results is None:
            return None
        every = self.settings.every
        first_row = -(-block.index // every) * every
        n_rows = max(0, -(-(block.index + len(block) - first_row) // every))
        rows: Samples = np.concatenate(found, axis=2).reshape(n_rows, len(self._results.columns))
        if len(self._meaningless):
            rows[:, self._meaningless] = np.nan
        time = block.time + (first_row - block.index) * block.stream.dt
        return ResultBlock(self._results, first_row, time, rows, block.last)


def _unit(output: Output, command: Channel, measured: Channel, force: Channel | None) -> str:
    if output.unit == ENERGY_UNIT:
        units = (force.unit if force is not None else "", measured.unit)
        return "J" if units == ("N", "m") else "*".join(units) if all(units) else ""
    if output.unit == RATIO_UNIT:
        return ratio_unit(command, measured)
    if SIGNAL_UNIT in output.unit and not command.unit:
        return ""
    if units_differ(command, measured) and output.unit == f"{SIGNAL_UNIT}^2":
        return f"{command.unit}*{measured.unit}"
    return output.unit.replace(SIGNAL_UNIT, command.unit)


def warm_up(measures: tuple[Measure, ...] = MEASURES) -> None:
    """Compile the kernels of these measures, or load them from disk, so that no sample of a test waits for that."""
    roles = (Role.COMMAND, Role.MEASURED, Role.FORCE)
    channels = tuple(Channel(role.value, role, "", "a") for role in roles)
    stream = Stream("warm-up", 0, 100.0, channels)
    samples = np.sin(0.3 * np.arange(400.0))[:, None] * [[1.0, 0.9, 2.0]]
    monitor = Monitor(IndicatorSettings(window=1.0, bandpass=(0.5, 20.0), measures=measures))
    for start, stop in ((0, 399), (399, 400)):
        monitor.update(SignalBlock(stream, start, 0.01 * start, samples[start:stop]))
