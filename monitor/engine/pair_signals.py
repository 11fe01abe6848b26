"""What the indicators are given of a stream: command, measured and force of every actuator, filtered alike or not."""

from __future__ import annotations

import numpy as np

from monitor.indicators.band_pass import BandPass
from monitor.indicators.base import Signals
from monitor.indicators.parts.sample_loop import LARGEST_SAMPLE
from monitor.messages.blocks import SignalBlock, Stream


class PairSignals:
    """Pick the columns of the actuators from blocks.

    Parameters
    ----------
    stream : of the blocks; it has one actuator or more.
    bandpass : (low, high) Hz of the filter that all signals go through; None for none.

    Raises
    ------
    ValueError : the band does not fit the sample rate.
    """

    def __init__(self, stream: Stream, bandpass: tuple[float, float] | None) -> None:
        self._n = len(stream.pairs)
        columns = [pair.command for pair in stream.pairs] + [pair.measured for pair in stream.pairs]
        self.with_force = any(pair.force is not None for pair in stream.pairs)
        if self.with_force:
            # an actuator without a force has its command there, until it is made NaN
            columns += [pair.command if pair.force is None else pair.force for pair in stream.pairs]
        self._columns = np.array(columns, dtype=np.intp)
        self._apart = self._columns[: self._n], self._columns[self._n : 2 * self._n], self._columns[2 * self._n :]
        self._forceless = np.array([pair.force is None for pair in stream.pairs])
        self._filter: BandPass | None = None
        if bandpass is not None:
            self._filter = BandPass(stream.sample_rate, *bandpass, n_channels=len(columns))

    def take(self, block: SignalBlock) -> Signals:
        """Return the signals of the next block, (n_samples, n_pairs) each."""
        if self._filter is None:
            x_c, x_m, f_m = (np.take(block.samples, columns, axis=1) for columns in self._apart)
        else:
            taken, n = np.take(block.samples, self._columns, axis=1), self._n
            # a bad sample of one signal restarts the filters of all that it is compared with: they must stay alike
            bad = ~(np.abs(taken) < LARGEST_SAMPLE)
            compared = bad[:, :n] | bad[:, n : 2 * n]
            taken[:, :n][compared] = taken[:, n : 2 * n][compared] = np.nan
            # command and measured are compared without the force as well, and do not wait for it
            if self.with_force:
                taken[:, 2 * n :][compared | bad[:, 2 * n :]] = np.nan
            taken = self._filter.filter(taken)
            x_c, x_m, f_m = taken[:, :n].copy(), taken[:, n : 2 * n].copy(), taken[:, 2 * n :].copy()
        if self.with_force:
            f_m[:, self._forceless] = np.nan
        return Signals(x_c, x_m, f_m)

    def hole(self) -> Signals:
        """Return a sample that is not there, and let the filter begin anew."""
        if self._filter is not None:
            self._filter.reset()
        n = self._n
        return Signals(
            np.full((1, n), np.nan), np.full((1, n), np.nan), np.full((1, n if self.with_force else 0), np.nan)
        )
