"""Every indicator, and the transfer functions, of every actuator of one stream."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from monitor.catalogue import (
    ENERGY_UNIT,
    MEASURED_UNIT,
    PER_SHARE,
    RATIO_UNIT,
    SIGNAL_UNIT,
    STIFFNESS_UNIT,
    Output,
    measure_of,
    needs_force,
)
from monitor.config import IndicatorSettings
from monitor.indicators.band_pass import BandPass
from monitor.indicators.base import PassIndicator, Signals
from monitor.indicators.parts.sample_loop import LARGEST_SAMPLE
from monitor.indicators.tracking_pass import TrackingPass, create_indicators
from monitor.indicators.transfer_function import Averages, TransferFunction
from monitor.kernel import without_kernels
from monitor.messages.blocks import (
    FREQUENCY,
    QUANTITIES,
    Channel,
    Column,
    Samples,
    SignalBlock,
    Stream,
    TransferBlock,
    TransferStream,
    ratio_unit,
    units_differ,
)
from monitor.messages.reasons import Reason
from monitor.wire.native import MAX_COLUMNS


class ActuatorMonitor:
    """Compute indicators and transfer functions of the actuators of one stream.

    Parameters
    ----------
    settings : of the indicators.
    stream : of the signals, with one actuator or more.
    compiling : measures whose kernels are not there yet; until all of them are, these are to be paused.

    Raises
    ------
    ValueError : a setting does not fit the stream.
    """

    def __init__(self, settings: IndicatorSettings, stream: Stream, compiling: Collection[str] = ()) -> None:
        pairs = stream.pairs
        self._every, self._measures = settings.every, frozenset[str](settings.measures)
        self._compiling = frozenset(compiling)
        # whether there is nothing yet to compute
        self._waits = self._measures <= self._compiling
        self._signals = _PairSignals(stream, settings.bandpass, compiling=self._waits)
        with_force = self._signals.with_force
        indicators = create_indicators(
            settings, stream.sample_rate, len(pairs), with_force=with_force, compiling=compiling
        )
        self.notes: tuple[str, ...] = ()
        n_columns = len(pairs) * sum(len(indicator.outputs) for indicator in indicators)
        if n_columns > MAX_COLUMNS:
            raise ValueError(f"{len(pairs)} actuators make {n_columns} columns: at most {MAX_COLUMNS} are published")
        self._transfer: TransferMonitor | None = None
        if "transfer" in settings.measures:
            try:
                self._transfer = TransferMonitor(settings, stream, compiling="transfer" in compiling)
            except ValueError as problem:
                if {"measures", "transfer_segment"} & settings.model_fields_set:
                    raise ValueError(f"transfer_segment: {problem}") from problem
                # not requested by name: the other measures run without it
                self.notes = (f"no transfer function: {problem}",)
        outputs = [output for indicator in indicators for output in indicator.outputs]
        firsts = np.cumsum([0, *(len(indicator.outputs) for indicator in indicators)]).tolist()
        at = dict(zip(indicators, firsts, strict=False))
        parts: dict[PassIndicator[Any], int] = {each: at[each] for each in at if isinstance(each, PassIndicator)}
        if self._transfer is not None:
            parts[self._transfer.function] = -1
        self._pass = TrackingPass(parts, self._signals.columns) if parts else None
        # indicators with a kernel of their own, their measures and columns
        self._others = [
            (each, measure_of(each.outputs[0].name), slice(at[each], at[each] + len(each.outputs)))
            for each in at
            if not isinstance(each, PassIndicator)
        ]
        self._no_rows: Samples = np.empty((0, len(pairs), len(outputs)))
        self._no_values = np.concatenate([each.no_values(Reason.COMPILING) for each in indicators] or [np.empty(0)])
        columns, fixed = [], {}
        for pair in pairs:
            command, measured = stream.channels[pair.command], stream.channels[pair.measured]
            force = None if pair.force is None else stream.channels[pair.force]
            for output in outputs:
                unit = _unit(output, command, measured, force)
                unit = "1" if unit == PER_SHARE and settings.share else unit
                columns.append(Column(output.name, unit, pair.actuator))
                reason = _declined(output, command, measured, force)
                if reason is not None:
                    fixed[len(columns) - 1] = float(reason) if output.is_code else np.nan
        self.columns = tuple(columns)
        self._fixed, self._fixed_values = np.array([*fixed], np.int64), np.array([*fixed.values()])

    def advance(self, block: SignalBlock, *, broken: bool) -> Samples:
        """Process the next block; `broken`: samples are missing before it.

        Returns
        -------
        rows : (n_rows, n_columns), at the sample numbers that the settings' `every` divides.
        """
        if self._waits:
            due = range(-(-block.index // self._every) * self._every, block.index + len(block), self._every)
            rows = np.tile(self._no_values, (len(due), self._no_rows.shape[1]))
        else:
            if broken:
                # a NaN sample in the gap, so that windows across it are not valid
                self._compute(self._signals.missing_sample(), block.index - 1)
            rows = self._compute(self._signals.samples(block), block.index)
        if len(rows) and len(self._fixed):
            rows[:, self._fixed] = self._fixed_values
        return rows

    def new_transfer(self, block: SignalBlock) -> TransferBlock | None:
        """Return new transfer functions up to the end of `block`; None if there are none."""
        if self._transfer is None:
            return None
        return self._transfer.new_block(block, busy=self._pass is not None and self._pass.busy)

    def pause(self, reasons: Mapping[str, Reason]) -> None:
        """Suspend these measures, whose columns show the reason, and resume all others."""
        self._compiling = frozenset(each for each, reason in reasons.items() if reason is Reason.COMPILING)
        self._waits = self._measures <= self._compiling
        if self._pass is not None:
            self._pass.pause(reasons)

    def run_pending(self) -> bool:
        """Do a part of the pending evaluations, in less than a millisecond; return whether there was any."""
        return (self._pass is not None and self._pass.run_pending()) or (
            self._transfer is not None and self._transfer.run_pending()
        )

    def finish_transfer(self) -> TransferBlock | None:
        """Return pending transfer functions at the end of a record; None if there are none."""
        return None if self._transfer is None else self._transfer.finish()

    def _compute(self, samples: Samples, first: int) -> Samples:
        n_rows = (first + len(samples) - 1) // self._every - (first - 1) // self._every
        # the outputs of an actuator are adjacent
        out = np.empty((n_rows, *self._no_rows.shape[1:])) if n_rows else self._no_rows
        if self._pass is not None:
            # the pass takes the columns itself
            self._pass.advance(Signals(samples, samples, samples), first, out)
        if self._others:
            signals = self._signals.select(samples)
            for indicator, measure, columns in self._others:
                if measure in self._compiling:
                    out[:, :, columns] = indicator.no_values(Reason.COMPILING)
                else:
                    out[:, :, columns] = indicator.advance(*signals[:2], first, signals.f_m)
        return out.reshape(n_rows, len(self.columns))


class _PairSignals:
    """Samples of the actuators for the pass, filtered where a band is given, and the columns of each pair in them.

    Parameters
    ----------
    stream : of the blocks, with one actuator or more.
    bandpass : (low, high) Hz of the band-pass filter of all signals; None for none.
    compiling : the filter's kernel is not there yet.

    Raises
    ------
    ValueError : the band does not fit the sample rate.

    Attributes
    ----------
    columns : (3, n_pairs): of command, measured and force in the samples, -1 for no force.
    """

    def __init__(self, stream: Stream, bandpass: tuple[float, float] | None, *, compiling: bool) -> None:
        pairs, self._n_channels = stream.pairs, len(stream.channels)
        self.with_force = any(pair.force is not None for pair in pairs)
        forces = [-1 if pair.force is None else pair.force for pair in pairs]
        self.columns = np.array([[p.command for p in pairs], [p.measured for p in pairs], forces], dtype=np.int64)
        self._filter: BandPass | None = None
        if bandpass is not None:
            # the command is a placeholder for a missing force
            used = self.columns if self.with_force else self.columns[:2]
            self._selected = np.where(used < 0, self.columns[0], used).ravel()
            self._n_channels = len(self._selected)
            kind = without_kernels(BandPass) if compiling else BandPass
            self._filter = kind(stream.sample_rate, *bandpass, n_channels=self._n_channels)
            numbers = np.arange(3 * len(pairs)).reshape(3, -1)
            self.columns = np.where(self.columns < 0, -1, numbers)

    def samples(self, block: SignalBlock) -> Samples:
        """Return the samples of the next block, (n_samples, n_channels): a copy, of the type of the kernels."""
        if self._filter is None:
            return np.array(block.samples, dtype=np.float64, order="C")
        selected, n = np.take(block.samples, self._selected, axis=1), self.columns.shape[1]
        # a bad sample restarts the filters of command and measured together, which must stay identical
        bad = ~(np.abs(selected) < LARGEST_SAMPLE)
        compared = bad[:, :n] | bad[:, n : 2 * n]
        selected[:, :n][compared] = selected[:, n : 2 * n][compared] = np.nan
        # a bad force does not restart the filters of command and measured
        if self.with_force:
            selected[:, 2 * n :][compared | bad[:, 2 * n :]] = np.nan
        return self._filter.filter(selected)

    def select(self, samples: Samples) -> Signals:
        """Return the signals apart, (n_samples, n_pairs) each."""
        x_c, x_m, f_m = (np.take(samples, each, axis=1) for each in self.columns)
        f_m[:, self.columns[2] < 0] = np.nan
        return Signals(x_c, x_m, f_m)

    def missing_sample(self) -> Samples:
        """Return a NaN sample, and restart the filter."""
        if self._filter is not None:
            self._filter.reset()
        return np.full((1, self._n_channels), np.nan)


def _declined(output: Output, command: Channel, measured: Channel, force: Channel | None) -> Reason | None:
    """Return why a column never has a value; None where it may."""
    if force is None and needs_force(measure_of(output.name)):
        return Reason.NO_FORCE
    return Reason.UNITS if output.same_unit and units_differ(command, measured) else None


def _unit(output: Output, command: Channel, measured: Channel, force: Channel | None) -> str:
    if output.unit == ENERGY_UNIT:
        units = (force.unit if force is not None else "", measured.unit)
        return "J" if units == ("N", "m") else "*".join(units) if all(units) else ""
    if output.unit == STIFFNESS_UNIT:
        return "" if force is None or not (force.unit and measured.unit) else f"{force.unit}/{measured.unit}"
    if output.unit == MEASURED_UNIT:
        return measured.unit
    if output.unit == RATIO_UNIT:
        return ratio_unit(command, measured)
    if SIGNAL_UNIT in output.unit and not command.unit:
        return ""
    if units_differ(command, measured) and output.unit == f"{SIGNAL_UNIT}^2":
        return f"{command.unit}*{measured.unit}"
    return output.unit.replace(SIGNAL_UNIT, command.unit)


# transfer functions are published this part of a hop after their last sample
_LATENCY_PARTS = 4


@dataclass(slots=True)
class _Estimate:
    """Pending transfer functions: averages up to sample `index`, due at sample `until`; values of the pairs done."""

    averages: Averages
    index: int
    time: float
    until: int
    last: bool
    values: Samples
    done: int = 0


class TransferMonitor:
    """Average the transfer function of every actuator, and publish it when there is a new one.

    Parameters
    ----------
    settings : only `transfer_segment`, `transfer_memory`, `band` and `max_delay` are used.
    stream : of the signals, with one actuator or more.
    compiling : its kernels are not there yet.

    Raises
    ------
    ValueError : a setting does not fit the sample rate.

    Attributes
    ----------
    function : the average, a part of the pass.
    """

    def __init__(self, settings: IndicatorSettings, stream: Stream, *, compiling: bool = False) -> None:
        kind = without_kernels(TransferFunction) if compiling else TransferFunction
        self.function = kind(
            stream.sample_rate,
            settings.transfer_segment,
            memory=settings.transfer_memory,
            band=settings.band,
            max_delay=settings.max_delay,
            latency=round(settings.transfer_segment * stream.sample_rate) // 16,
            n_pairs=len(stream.pairs),
            every=settings.every,
        )
        columns = [FREQUENCY]
        for pair in stream.pairs:
            ratio = ratio_unit(stream.channels[pair.command], stream.channels[pair.measured])
            columns += [Column(name, unit or ratio, pair.actuator) for name, unit in QUANTITIES]
        self._stream = TransferStream(stream.rig, stream.epoch, stream.sample_rate, tuple(columns))
        self._hop = self._n_averaged = 0
        self._pending: _Estimate | None = None

    def run_pending(self) -> bool:
        """Do a part of a pending estimate, in about a third of a millisecond; return whether there was any."""
        pending = self._pending
        if pending is None or pending.done == self.function.n_pairs:
            return False
        # the quantities of an actuator are adjacent
        column = 1 + pending.done * len(QUANTITIES)
        curves = self.function.column(pending.averages, pending.done)
        pending.values[:, column : column + len(QUANTITIES)] = curves.T
        pending.done += 1
        return True

    def new_block(self, block: SignalBlock, *, busy: bool) -> TransferBlock | None:
        """Return new transfer functions; None if there are none.

        They are those at the end of the block in which a segment ended, published a quarter of a hop later, or at
        once at the stream's last block. The estimates are spread over the blocks in between, as long as there is time
        over those in which no evaluation of the pass was done: those are not `busy`.
        """
        index = block.index + len(block) - 1
        ready = None
        if self._pending is not None and index >= self._pending.until:
            ready = self._complete()
        elif self._pending is not None:
            estimates = self.function.n_pairs - self._pending.done
            blocks = -(-(self._pending.until - index) // max(len(block), 1))
            spared = int(2 * estimates >= blocks and not busy)
            for _ in range(-(-estimates // blocks) if estimates >= blocks else spared):
                self.run_pending()
        # the pairs' segments end one after the other, all within the hop that ends with the first one's
        if block.last or index // self.function.hop != self._hop:
            self._hop = index // self.function.hop
            averages, before = self.function.averages, self._n_averaged
            self._n_averaged = int(self.function.n_averaged.sum())
            if self._n_averaged != before:
                time = block.time + (len(block) - 1) * block.stream.dt
                values = np.empty((len(self.function.frequency), len(self._stream.columns)))
                values[:, 0] = self.function.frequency
                until = index + self.function.hop // _LATENCY_PARTS
                self._pending = _Estimate(averages, index, time, until, block.last, values)
            if block.last and self._pending is not None:
                ready = self._complete()
        return ready

    def finish(self) -> TransferBlock | None:
        """Return pending transfer functions; None if there are none."""
        return None if self._pending is None else self._complete()

    def _complete(self) -> TransferBlock:
        while self.run_pending():
            pass
        pending, self._pending = self._pending, None
        assert pending is not None
        return TransferBlock(self._stream, pending.index, pending.time, pending.values, pending.last)
