"""The engine: signal blocks in, indicator values out. No clock, no socket, no thread, no file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from monitor.blocks import (
    Channel,
    Column,
    Event,
    ResultBlock,
    ResultStream,
    Role,
    Samples,
    SignalBlock,
    Stream,
)
from monitor.config import IndicatorSettings
from monitor.continuity import Continuity
from monitor.indicators.base import ENERGY_UNIT, RATIO_UNIT, SIGNAL_UNIT, Output, WindowedIndicator
from monitor.indicators.catalogue import all_indicators
from monitor.transfer import TransferBlock


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
        self._indicators: tuple[WindowedIndicator[Any], ...] = ()
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
        if arrival.started:
            try:
                self._start(new.stream)
            except ValueError as problem:
                raise UnfitSettingsError(str(problem), Update(new, None, arrival.events)) from problem
        elif arrival.broken and self._indicators:
            # a sample that is not there, seen as one that is NaN: windows across it are not valid
            nothing = np.full((1, len(new.stream.pairs)), np.nan)
            for indicator in self._indicators:
                indicator.advance(nothing.copy(), nothing.copy(), new.index - 1, nothing.copy())
        return Update(new, self._evaluate(new), arrival.events)

    def _start(self, stream: Stream) -> None:
        pairs = stream.pairs
        self._indicators = ()
        if pairs:
            with_force = any(pair.force is not None for pair in pairs)
            self._indicators = all_indicators(self.settings, stream.sample_rate, len(pairs), with_force=with_force)
        self._command = np.array([pair.command for pair in pairs], dtype=np.intp)
        self._measured = np.array([pair.measured for pair in pairs], dtype=np.intp)
        self._force = np.array([-1 if pair.force is None else pair.force for pair in pairs], dtype=np.intp)
        outputs = [output for indicator in self._indicators for output in indicator.outputs]
        columns, meaningless = [], []
        for pair in pairs:
            command, measured = stream.channels[pair.command], stream.channels[pair.measured]
            force = None if pair.force is None else stream.channels[pair.force]
            for output in outputs:
                columns.append(Column(output.name, _unit(output, command, measured, force), pair.actuator))
                meaningless.append(output.compares and _differ(command, measured))
        self._meaningless = np.flatnonzero(meaningless)
        self._width = len(outputs)
        self._results = ResultStream(
            stream.rig, stream.epoch, stream.sample_rate, self.settings.every, tuple(columns)
        )

    def _evaluate(self, block: SignalBlock) -> ResultBlock | None:
        if not self._indicators or self._results is None:
            return None
        every, n = self.settings.every, len(block)
        first_row = -(-block.index // every) * every
        n_rows = max(0, -(-(block.index + n - first_row) // every))
        x_c = np.take(block.samples, self._command, axis=1)
        x_m = np.take(block.samples, self._measured, axis=1)
        f_m = self._forces(block)
        found = [indicator.advance(x_c, x_m, block.index, f_m) for indicator in self._indicators]
        rows: Samples = np.concatenate(found, axis=2).reshape(n_rows, len(self._command) * self._width)
        if len(self._meaningless):
            rows[:, self._meaningless] = np.nan
        time = block.time + (first_row - block.index) * block.stream.dt
        return ResultBlock(self._results, first_row, time, rows, block.last)

    def _forces(self, block: SignalBlock) -> Samples | None:
        """Return (n, n_pairs), NaN for an actuator without a force channel; None where no indicator asks for it."""
        if not any(indicator.needs_force for indicator in self._indicators):
            return None
        forces = np.take(block.samples, self._force, axis=1)
        forces[:, self._force < 0] = np.nan
        return forces


def _differ(command: Channel, measured: Channel) -> bool:
    return bool(command.unit and measured.unit and command.unit != measured.unit)


def _unit(output: Output, command: Channel, measured: Channel, force: Channel | None) -> str:
    if output.unit == ENERGY_UNIT:
        units = (force.unit if force is not None else "", measured.unit)
        return "J" if units == ("N", "m") else "*".join(units) if all(units) else ""
    if output.unit == RATIO_UNIT:
        return f"{command.unit}/{measured.unit}" if _differ(command, measured) else "1"
    if SIGNAL_UNIT in output.unit and not command.unit:
        return ""
    if _differ(command, measured) and output.unit == f"{SIGNAL_UNIT}^2":
        return f"{command.unit}*{measured.unit}"
    return output.unit.replace(SIGNAL_UNIT, command.unit)


def warm_up() -> None:
    """Compile every kernel, or load it from disk, so that no sample of a test has to wait for that."""
    channels = (Channel("c", Role.COMMAND, "", "a"), Channel("m", Role.MEASURED, "", "a"))
    stream = Stream("warm-up", 0, 100.0, channels)
    samples = np.sin(0.3 * np.arange(400.0))[:, None] * [[1.0, 0.9]]
    monitor = Monitor(IndicatorSettings(window=1.0))
    for start, stop in ((0, 399), (399, 400)):
        monitor.update(SignalBlock(stream, start, 0.01 * start, samples[start:stop]))
