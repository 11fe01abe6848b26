"""Every indicator for every actuator of one stream."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from monitor.config import IndicatorSettings
from monitor.engine.pair_signals import PairSignals
from monitor.engine.transfer import TransferMonitor
from monitor.indicators.base import ENERGY_UNIT, RATIO_UNIT, SIGNAL_UNIT, Output, Signals
from monitor.indicators.catalogue import all_indicators
from monitor.indicators.hopped import HoppedIndicator
from monitor.indicators.tracking_pass import PassIndicator, TrackingPass
from monitor.messages.blocks import Channel, Column, Samples, SignalBlock, Stream, ratio_unit, units_differ
from monitor.messages.transfer import TransferBlock
from monitor.wire.native import MAX_COLUMNS


class ActuatorMonitor:
    """Compute the indicators, and the transfer functions where they are asked for.

    Parameters
    ----------
    settings : of the indicators.
    stream : of the signals; it has one actuator or more.

    Raises
    ------
    ValueError : a setting does not fit the stream.
    """

    def __init__(self, settings: IndicatorSettings, stream: Stream) -> None:
        pairs = stream.pairs
        self._every = settings.every
        self._signals = PairSignals(stream, settings.bandpass)
        with_force = self._signals.with_force
        indicators = all_indicators(settings, stream.sample_rate, len(pairs), with_force=with_force)
        self.notes: tuple[str, ...] = ()
        n_columns = len(pairs) * sum(len(indicator.outputs) for indicator in indicators)
        if n_columns > MAX_COLUMNS:
            raise ValueError(f"{len(pairs)} actuators make {n_columns} columns: at most {MAX_COLUMNS} are published")
        self._transfer: TransferMonitor | None = None
        if "transfer" in settings.measures:
            try:
                self._transfer = TransferMonitor(settings, stream)
            except ValueError as problem:
                if {"measures", "transfer_segment"} & settings.model_fields_set:
                    raise ValueError(f"transfer_segment: {problem}") from problem
                # nobody asked for it by name: the other measures go on without it
                self.notes = (f"no transfer function: {problem}",)
        outputs = [output for indicator in indicators for output in indicator.outputs]
        self._n_pairs, self._n_outputs = len(pairs), len(outputs)
        firsts = np.cumsum([0, *(len(indicator.outputs) for indicator in indicators)]).tolist()
        sliding = {each: at for each, at in zip(indicators, firsts, strict=False) if isinstance(each, PassIndicator)}
        self._pass = TrackingPass(sliding) if sliding else None
        # those that look at whole windows now and then, and their columns
        self._hopped = [
            (each, slice(at, at + len(each.outputs)))
            for each, at in zip(indicators, firsts, strict=False)
            if isinstance(each, HoppedIndicator)
        ]
        columns, meaningless = [], []
        for pair in pairs:
            command, measured = stream.channels[pair.command], stream.channels[pair.measured]
            force = None if pair.force is None else stream.channels[pair.force]
            for output in outputs:
                columns.append(Column(output.name, _unit(output, command, measured, force), pair.actuator))
                meaningless.append(output.compares and units_differ(command, measured))
        self.columns = tuple(columns)
        self._meaningless = np.flatnonzero(meaningless)

    def advance(self, block: SignalBlock, *, broken: bool) -> Samples:
        """Take the next block; `broken`: samples are missing before it.

        Returns
        -------
        rows : (n_rows, n_columns), at the sample numbers that the settings' `every` divides.
        """
        if broken:
            # a sample that is not there, seen as one that is NaN: windows across it are not valid
            self._take(self._signals.hole(), block.index - 1)
        rows = self._take(self._signals.take(block), block.index)
        if len(self._meaningless):
            rows[:, self._meaningless] = np.nan
        return rows

    def fresh_transfer(self, block: SignalBlock) -> TransferBlock | None:
        """Return the transfer functions up to the end of `block`; None if all of them have been told."""
        return None if self._transfer is None else self._transfer.fresh(block)

    def pause(self, measures: Collection[str]) -> None:
        """Do not compute these of the costly measures, for want of time; all others again."""
        for each, _ in self._hopped:
            each.paused = each.measure in measures
        if self._transfer is not None:
            self._transfer.pause(on="transfer" in measures)

    def work(self) -> bool:
        """Do a part of what is told later, less than a millisecond's worth; return whether there was any."""
        return any(each.work() for each, _ in self._hopped) or (self._transfer is not None and self._transfer.work())

    def finish_transfer(self) -> TransferBlock | None:
        """Return transfer functions that were still to be told, at the end of a record; None if there are none."""
        return None if self._transfer is None else self._transfer.finish()

    def _take(self, signals: Signals, first: int) -> Samples:
        n_rows = (first + len(signals.x_c) - 1) // self._every - (first - 1) // self._every
        # the outputs of an actuator stand side by side
        out: Samples = np.empty((n_rows, self._n_pairs, self._n_outputs))
        if self._pass is not None:
            self._pass.advance(signals, first, out)
        for indicator, columns in self._hopped:
            out[:, :, columns] = indicator.advance(signals.x_c, signals.x_m, first, signals.f_m)
        if self._transfer is not None:
            self._transfer.advance(signals, first)
        return out.reshape(n_rows, len(self.columns))


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
