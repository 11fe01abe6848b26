"""Every indicator for every actuator of one stream."""

from __future__ import annotations

import numpy as np

from monitor.blocks import Channel, Column, Samples, SignalBlock, Stream, ratio_unit, units_differ
from monitor.config import IndicatorSettings
from monitor.indicators.base import ENERGY_UNIT, RATIO_UNIT, SIGNAL_UNIT, Output, Signals
from monitor.indicators.catalogue import all_indicators
from monitor.pair_signals import PairSignals
from monitor.transfer import TransferBlock
from monitor.transfer_monitor import TransferMonitor
from monitor.wire_header import MAX_COLUMNS


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
        self._indicators = all_indicators(settings, stream.sample_rate, len(pairs), with_force=with_force)
        self.notes: tuple[str, ...] = ()
        n_columns = len(pairs) * sum(len(indicator.outputs) for indicator in self._indicators)
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
        outputs = [output for indicator in self._indicators for output in indicator.outputs]
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
        found = self._take(self._signals.take(block), block.index)
        if not found:
            return np.empty((len(range(-block.index % self._every, len(block), self._every)), 0))
        # (n_rows, n_pairs, n_outputs) each: the outputs of an actuator stand side by side
        together: Samples = np.concatenate(found, axis=2)
        rows = together.reshape(len(together), len(self.columns))
        if len(self._meaningless):
            rows[:, self._meaningless] = np.nan
        return rows

    def fresh_transfer(self, block: SignalBlock) -> TransferBlock | None:
        """Return the transfer functions up to the end of `block`; None if all of them have been told."""
        return None if self._transfer is None else self._transfer.fresh(block)

    def _take(self, signals: Signals, first: int) -> list[Samples]:
        if self._transfer is not None:
            self._transfer.advance(signals, first)
        return [indicator.advance(signals.x_c, signals.x_m, first, signals.f_m) for indicator in self._indicators]


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
