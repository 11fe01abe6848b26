"""Adaptive phase lead and gain on top of a nominal inverse, driven by an online tracking indicator."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import factorial
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from monitor.catalogue import CATALOGUE, CODE_UNIT, Output
from monitor.compensation.base import COLUMNS, Compensation, Compensator, Shape, check_gate, check_window
from monitor.compensation.fixed_inverse import FixedInverse
from monitor.compensation.lead import set_coefficients
from monitor.indicators.base import WindowedIndicator
from monitor.kernel import kernel
from monitor.messages.blocks import Samples
from monitor.messages.reasons import Reason

# of the command in a window, below which a reading is not trusted: some indicators read one period only, or less
_FEWEST_PERIODS = 1.2

IndicatorName = Literal["fdb", "paei", "broadband"]
LeadName = Literal["scaled", "series"]


@dataclass(frozen=True, eq=False)
class IndicatorDriven(Compensation):
    """Adds the delay and divides by the gain that an indicator reads between command and measured signal.

    Parameters
    ----------
    indicator : fdb, paei or broadband; PAEI follows every sample, whatever the motion.
    nominal : inverse of the nominal actuator, to which an adaptive lead and gain are added.
    lead : how a lead is added. ``scaled`` multiplies all that the nominal inverse adds to the command: right where
        the servo loop is faster or slower than the nominal one. ``series`` is the series of a delay: right where a
        pure delay differs, and the only one for a nominal inverse without a lead.
    window : s of the indicator; 2.5 periods of the slowest dominant motion: the default is for 3.5 Hz and more.
        The shorter, the sooner a change is corrected.
    band : (low, high) Hz that the indicator reads, see there; not for paei.
    relative_gate : command amplitude, as a fraction of its largest, below which nothing is adapted.
    settling : s in which an error that is read, averaged over the window, is corrected by 63 %.
    largest_delay, largest_gain : s of lead or lag, and natural logarithm of the gain, that are added at most.
    delay_rate, gain_rate : s and logarithm that either changes by at most within a second.
    delay_scale, ratio_scale : standard deviations, s and fraction, at which a reading has half its weight.
    delay_doubt, ratio_doubt : likewise above which it has none: delay and gain are frozen.
    longest_gap : s of lost samples that are bridged; the indicator reads that much later.
    """

    columns = (*COLUMNS, Output("compensator_reason", CODE_UNIT))

    indicator: IndicatorName = "paei"
    nominal: FixedInverse = field(default_factory=FixedInverse)
    lead: LeadName = "scaled"
    window: float = 0.75
    band: tuple[float, float] | None = None
    relative_gate: float = 0.02
    settling: float = 0.03
    largest_delay: float = 0.05
    largest_gain: float = 0.4
    delay_rate: float = 0.05
    gain_rate: float = 0.5
    delay_scale: float = 0.5e-3
    ratio_scale: float = 0.02
    delay_doubt: float = 4e-3
    ratio_doubt: float = 0.1
    longest_gap: float = 0.04

    def __post_init__(self) -> None:
        if self.indicator not in get_args(IndicatorName):
            raise ValueError(f"indicator = {self.indicator!r}: must be one of {', '.join(get_args(IndicatorName))}")
        if self.lead not in get_args(LeadName):
            raise ValueError(f"lead = {self.lead!r}: must be one of {', '.join(get_args(LeadName))}")
        positive = (
            "settling",
            "largest_delay",
            "largest_gain",
            "delay_rate",
            "gain_rate",
            "delay_scale",
            "ratio_scale",
        )
        for name in (*positive, "delay_doubt", "ratio_doubt"):
            if not 0.0 < getattr(self, name) < np.inf:
                raise ValueError(f"{name} = {getattr(self, name)}: must be a positive number")
        check_window(self.window, self.longest_gap)
        check_gate(self.relative_gate)
        if self.band is not None and not 0.0 <= self.band[0] < self.band[1]:
            raise ValueError(f"band = {self.band} Hz: the lower frequency comes first")

    def begin(self, dt: float, shape: Shape = (1,)) -> IndicatorDrivenCompensator:
        """Return it at rest, see `Compensation`."""
        return IndicatorDrivenCompensator(self, dt, shape)

    def new_indicator(self, sample_rate: float, n_pairs: int, every: int) -> WindowedIndicator[Any]:
        """Return the indicator."""
        kind: type[WindowedIndicator[Any]] = CATALOGUE[self.indicator].load()
        given = {"band": self.band, "relative_gate": self.relative_gate}
        options: dict[str, Any] = {name: given[name] for name in given if hasattr(kind.settings, name)}
        return kind(sample_rate, self.window, n_pairs=n_pairs, every=every, **options)


class IndicatorDrivenCompensator(Compensator):
    """A running `IndicatorDriven`.

    What the indicator reads is the residual delay of the window, in which the lead may have changed. The actuator's
    own delay is therefore that reading plus the mean lead of the window, and the lead is set to it: it converges
    within about a window and does not overshoot, although the reading is of the past.
    """

    columns = IndicatorDriven.columns
    # weights of the past in a reading
    _TAPERED: ClassVar[frozenset[str]] = frozenset({"fdb"})

    def __init__(self, settings: IndicatorDriven, dt: float, shape: Shape) -> None:
        nominal = settings.nominal
        given = nominal.stacked(shape)
        # an order of 3 or more, for the series of a lead
        self._nominal: Samples = np.zeros((max(len(given), 4), int(np.prod(shape))))
        self._nominal[: len(given)] = given.reshape(len(given), -1)
        super().__init__(dt, shape, self._nominal.reshape(-1, *shape), spacing=nominal.spacing, ramp=nominal.ramp)
        self.settings = settings
        self._bridge = GapBridge(self.n, self.block, max(1, round(settings.longest_gap / dt)))
        # a row of values for each block
        self._indicator = settings.new_indicator(1.0 / dt, self.n, self.block)
        names, name = [output.name for output in self._indicator.outputs], settings.indicator
        self._columns = [
            names.index(f"{name}_{each}") for each in ("delay", "ratio", "delay_sd", "ratio_sd", "reason")
        ]
        self._next = 1
        n_blocks = max(8, self._indicator.n_window // self.block)
        self._past = _Past(n_blocks, self._bridge.latency // self.block, self.n, tapered=name in self._TAPERED)
        # rows: added lead, s, and logarithm of the added gain
        self._limits = np.array([[settings.largest_delay], [settings.largest_gain]])
        self._steps = np.array([[settings.delay_rate], [settings.gain_rate]]) * (self.block * dt)
        self._scales = np.array([[settings.delay_scale], [settings.ratio_scale]])
        self._doubts = np.array([[settings.delay_doubt], [settings.ratio_doubt]])
        self._decay = float(np.exp(-self.block * dt / settings.settling))
        self._added: Samples = np.zeros((2, self.n))
        self._target: Samples = np.zeros((2, self.n))
        self._weight: Samples = np.zeros((2, self.n))
        self._reading: Samples = np.full((2, self.n), np.nan)
        # why nothing is adapted
        self._reason: Samples = np.full(self.n, float(Reason.FILLING))
        self._bridged = self._bridge.counts[0]

    def observe(self, command: ArrayLike, measured: ArrayLike) -> None:
        """See `Compensator`."""
        c, m = self._pair(command, measured)
        released = self._bridge.push(c, m, self._lead.sent)
        if released is None:
            return
        self._read(released)
        self._adapt()
        gain, lead = self._effective()
        self._past.store(np.stack((lead, np.log(gain / self._nominal[0]))), c)

    def _read(self, released: Samples) -> None:
        """Read the indicator at the end of the released block, and find what should be added."""
        values = self._indicator.advance(released[0], released[1], self._next)[-1]
        self._next += self.block
        delay, ratio, delay_sd, ratio_sd, reason = values[:, self._columns].T
        with np.errstate(invalid="ignore"):
            reading, deviations = np.stack((delay, np.log(ratio))), np.stack((delay_sd, ratio_sd / ratio))
            trusted = np.isfinite(reading) & (deviations <= self._doubts)
        mean, periods = self._past.mean(), self._past.periods()
        enough = periods >= _FEWEST_PERIODS
        self._adapting = trusted.all(axis=0) & enough
        self._reason = np.where(self._adapting, Reason.VALID, np.where(enough, Reason.UNCERTAIN, Reason.FEW_CYCLES))
        self._reason = np.where(reason != Reason.VALID, reason, self._reason)
        # some indicators hold a reading until the next
        fresh = self._adapting & (reading != self._reading).any(axis=0)
        self._reading = reading
        mean[0] -= self._nominal[1] / self._nominal[0]
        needed = reading + mean
        self._limited = np.where(fresh, (np.abs(needed) > self._limits).any(axis=0), self._limited)
        self._target = np.where(fresh, np.clip(needed, -self._limits, self._limits), self._target)
        self._weight = np.where(fresh, 1.0 / (1.0 + (deviations / self._scales) ** 2), self._weight)

    def _adapt(self) -> None:
        step = (1.0 - self._decay) * self._weight * (self._target - self._added)
        step = np.where(self._adapting, np.clip(step, -self._steps, self._steps), 0.0)
        if not step.any():
            return
        self._added = self._added + step
        set_coefficients(self.memory, self._with_lead(self._added[0]) * np.exp(self._added[1]))

    def _values(self) -> list[Samples]:
        return [*super()._values(), self._reason]

    def _with_lead(self, lead: Samples) -> Samples:
        """Return the coefficients of the nominal inverse with a lead [s] added, (order + 1, n)."""
        nominal = self._nominal
        series = np.zeros_like(nominal)
        for i in range(len(nominal)):
            for j in range(i, len(nominal)):
                series[j] += nominal[i] * lead ** (j - i) / factorial(j - i)
        if self.settings.lead == "series":
            return series
        scaled = nominal.copy()
        with np.errstate(divide="ignore", invalid="ignore"):
            scaled[1:] *= 1.0 + lead * nominal[0] / nominal[1]
        return np.where(nominal[1] > 0.0, scaled, series)


class _Past:
    """What was applied in the past, one value a block, and its mean over the window of the newest reading.

    A reading weights an instant by the command's square, or size under a taper; so does the mean.
    """

    def __init__(self, n_blocks: int, latency: int, n: int, *, tapered: bool) -> None:
        self._power = 1 if tapered else 2
        self._taper = np.hanning(n_blocks + 2)[1:-1] if tapered else np.ones(n_blocks)
        self._n_blocks, self._length = n_blocks, n_blocks + latency
        # applied lead and gain, and the command
        self._ring: Samples = np.zeros((3, 2 * self._length, n))
        self._at = -1

    def store(self, applied: Samples, command: Samples) -> None:
        """Store what is applied in the next block, (2, n), and a command in it, (n,)."""
        if self._at < 0:
            self._ring[:2] = applied[:, None]
        self._at = (self._at + 1) % self._length
        for at in (self._at, self._at + self._length):
            self._ring[:2, at] = applied
            self._ring[2, at] = command

    def mean(self) -> Samples:
        """Return (2, n), the mean over the window."""
        past = self._window()
        size = np.abs(past[2]) ** self._power
        weights = self._taper[:, None] * (size + 1e-3 * size.mean(axis=0) + 1e-300)
        mean: Samples = np.einsum("bn,qbn->qn", weights, past[:2]) / weights.sum(axis=0)
        return mean

    def periods(self) -> Samples:
        """Return (n,), periods of the command in the window, from the sizes of its slope and of itself."""
        command = self._window()[2]
        moved, slope = np.std(command, axis=0), np.std(np.diff(command, axis=0), axis=0)
        return np.asarray(len(command) * slope / (2.0 * np.pi * moved + 1e-300), dtype=np.float64)

    def _window(self) -> Samples:
        oldest = self._at + 1
        return self._ring[:, oldest : oldest + self._n_blocks]


class GapBridge:
    """Releases blocks of commands and measured signals, later by the longest gap that is bridged.

    Across a gap the difference of measured and command is interpolated linearly and added to the command, which is
    known: the error is a fraction of the tracking error, not of the motion.

    Parameters
    ----------
    n : columns.
    block : samples that are released at once.
    longest : samples of the longest gap that is bridged; in a longer one measured stays NaN.

    Attributes
    ----------
    latency : samples between the newest sample and the newest released one.
    counts : (2, n) samples that were bridged, and that were not, up to the newest released one.
    """

    def __init__(self, n: int, block: int, longest: int) -> None:
        self.block = block
        # a whole number of blocks
        self.latency = -(-longest // block) * block
        self._longest = longest
        # commands, measured, sent; the first row is the last released one
        self._rows: Samples = np.full((3, 1 + block + self.latency, n), np.nan)
        self._filled = 1
        self.counts = np.zeros((2, n), dtype=np.int64)

    def push(self, command: Samples, measured: Samples, sent: Samples) -> Samples | None:
        """Store a sample of each, (n,); return (3, block, n) when a block is released."""
        rows = self._rows
        rows[0, self._filled], rows[1, self._filled], rows[2, self._filled] = command, measured, sent
        self._filled += 1
        if self._filled < rows.shape[1]:
            return None
        bridge_gaps(rows[0], rows[1], self.block, self._longest, self.counts)
        released = rows[:, 1 : self.block + 1].copy()
        rows[:, : self.latency + 1] = rows[:, self.block :].copy()
        self._filled = self.latency + 1
        return released


@kernel
def bridge_gaps(command: Samples, measured: Samples, block: int, longest: int, counts: NDArray[np.int64]) -> None:
    """Bridge the gaps that begin in rows 1 to `block`, (n_rows, n), in place, and count lost samples, (2, n)."""
    n_rows = command.shape[0]
    for k in range(command.shape[1]):
        for row in range(1, block + 1):
            if np.isfinite(measured[row, k]):
                continue
            # what earlier rows lost and bridged has been filled in, and is counted with the first row of its gap
            end = row
            while end < n_rows and not np.isfinite(measured[end, k]):
                end += 1
            if not np.isfinite(measured[row - 1, k]) or end - row > longest or end == n_rows:
                measured[row, k] = np.nan
                counts[1, k] += 1
                continue
            before = measured[row - 1, k] - command[row - 1, k]
            after = measured[end, k] - command[end, k]
            for at in range(row, end):
                share = (at - row + 1) / (end - row + 1)
                measured[at, k] = command[at, k] + before + share * (after - before)
            counts[0, k] += end - row
