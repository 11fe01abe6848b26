"""The transfer functions of one rig's actuators, as blocks for those who show them."""

from __future__ import annotations

import numpy as np

from monitor.blocks import Column, SignalBlock, Stream, ratio_unit
from monitor.config import IndicatorSettings
from monitor.indicators.base import Signals
from monitor.indicators.transfer_function import TransferFunction
from monitor.transfer import FREQUENCY, QUANTITIES, TransferBlock, TransferStream


class TransferMonitor:
    """Average the transfer function of every actuator, and say when there is a new one.

    Parameters
    ----------
    settings : `transfer_segment`, `transfer_memory`, `band` and `max_delay` of them.
    stream : of the signals; it has one actuator or more.

    Raises
    ------
    ValueError : a setting does not fit the sample rate.
    """

    def __init__(self, settings: IndicatorSettings, stream: Stream) -> None:
        self._function = TransferFunction(
            stream.sample_rate,
            settings.transfer_segment,
            memory=settings.transfer_memory,
            band=settings.band,
            max_delay=settings.max_delay,
            n_pairs=len(stream.pairs),
        )
        columns = [FREQUENCY]
        for pair in stream.pairs:
            ratio = ratio_unit(stream.channels[pair.command], stream.channels[pair.measured])
            columns += [Column(name, unit or ratio, pair.actuator) for name, unit in QUANTITIES]
        self._stream = TransferStream(stream.rig, stream.epoch, stream.sample_rate, tuple(columns))
        self._hop = self._told = 0

    def advance(self, signals: Signals, first: int) -> None:
        """Take the next samples, of which the first has the number `first`."""
        self._function.advance(signals.x_c, signals.x_m, first)

    def fresh(self, block: SignalBlock) -> TransferBlock | None:
        """Return the transfer functions up to the end of `block`; None if all of them have been told."""
        # the pairs take their segments one after the other, all of them within the hop that ends with the first one's
        hop, taken = (block.index + len(block) - 1) // self._function.hop, int(self._function.taken.sum())
        if taken == self._told or (hop == self._hop and not block.last):
            return None
        self._hop, self._told = hop, taken
        found = self._function.estimate
        curves = [getattr(found, name).reshape(len(found.frequency), -1) for name, _ in QUANTITIES]
        # (n_frequencies, n_pairs, n_quantities): the quantities of an actuator stand side by side
        by_pair = np.stack(curves, axis=2).reshape(len(found.frequency), -1)
        values = np.column_stack([found.frequency, by_pair])
        index = block.index + len(block) - 1
        time = block.time + (len(block) - 1) * block.stream.dt
        return TransferBlock(self._stream, index, time, values, block.last)
