"""The transfer functions of one rig's actuators, as blocks for those who show them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from monitor.config import IndicatorSettings
from monitor.indicators.base import Signals
from monitor.indicators.transfer_function import Averages, TransferFunction
from monitor.messages.blocks import Column, Samples, SignalBlock, Stream, ratio_unit
from monitor.messages.transfer import FREQUENCY, QUANTITIES, TransferBlock, TransferStream

# transfer functions are published a hop over this after their last sample
_LATENCY_PARTS = 4


@dataclass(frozen=True, slots=True)
class _Estimate:
    """Transfer functions while they are made: of these averages, as of this sample, until that one."""

    averages: Averages
    index: int
    time: float
    until: int
    last: bool
    curves: list[Samples] = field(default_factory=list)


class TransferMonitor:
    """Average the transfer function of every actuator; publish it when there is a new one.

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
            latency=round(settings.transfer_segment * stream.sample_rate) // 16,
            n_pairs=len(stream.pairs),
        )
        columns = [FREQUENCY]
        for pair in stream.pairs:
            ratio = ratio_unit(stream.channels[pair.command], stream.channels[pair.measured])
            columns += [Column(name, unit or ratio, pair.actuator) for name, unit in QUANTITIES]
        self._stream = TransferStream(stream.rig, stream.epoch, stream.sample_rate, tuple(columns))
        self._hop = self._taken = 0
        self._pending: _Estimate | None = None

    def advance(self, signals: Signals, first: int) -> None:
        """Take the next samples, of which the first has the number `first`."""
        self._function.advance(signals.x_c, signals.x_m, first)

    def pause(self, *, on: bool) -> None:
        """Average no more segments, or do so again."""
        self._function.paused = on

    def work(self) -> bool:
        """Do a part of a pending estimate, about a third of a millisecond's worth; return whether there was any."""
        if self._function.work():
            return True
        pending = self._pending
        if pending is None or len(pending.curves) == self._function.n_pairs:
            return False
        pending.curves.append(self._function.column(pending.averages, len(pending.curves)))
        return True

    def fresh(self, block: SignalBlock) -> TransferBlock | None:
        """Return new transfer functions; None if there are none.

        They are those at the end of the block with which a segment ended, and are published a quarter of a hop after
        it, at the stream's last block at once.
        """
        index = block.index + len(block) - 1
        ready = None
        if self._pending is not None and index >= self._pending.until:
            ready = self._complete()
        # the pairs take their segments one after the other, all of them within the hop that ends with the first one's
        if block.last or index // self._function.hop != self._hop:
            self._hop = index // self._function.hop
            averages, before = self._function.averages, self._taken
            self._taken = int(self._function.taken.sum())
            if self._taken != before:
                time = block.time + (len(block) - 1) * block.stream.dt
                self._pending = _Estimate(
                    averages, index, time, index + self._function.hop // _LATENCY_PARTS, block.last
                )
            if block.last and self._pending is not None:
                ready = self._complete()
        return ready

    def finish(self) -> TransferBlock | None:
        """Return pending transfer functions; None if there are none."""
        return None if self._pending is None else self._complete()

    def _complete(self) -> TransferBlock:
        while self.work():
            pass
        pending, self._pending = self._pending, None
        assert pending is not None
        # (n_frequencies, n_pairs, n_quantities): the quantities of an actuator stand side by side
        by_pair = np.stack(pending.curves).transpose(2, 0, 1).reshape(len(self._function.frequency), -1)
        values = np.column_stack([self._function.frequency, by_pair])
        return TransferBlock(self._stream, pending.index, pending.time, values, pending.last)
