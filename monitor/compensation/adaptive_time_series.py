"""ATS, the adaptive time series compensator of Chae, Kazemibidokhti and Ricles (2013)."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import pi

import numpy as np
from numpy.typing import ArrayLike, NDArray

from monitor.catalogue import Output
from monitor.compensation.base import COLUMNS, Compensation, Compensator, Shape, check_gate, check_window
from monitor.compensation.fixed_inverse import FixedInverse
from monitor.compensation.lost_samples import GapBridge
from monitor.kernel import kernel
from monitor.messages.blocks import Samples

Range = tuple[float, float]
# s after a gap until the filter has settled
_SETTLING = 0.2
# reciprocal condition number of the scaled normal equations below which the coefficients are held
_SINGULAR = 1e-9


@dataclass(frozen=True, eq=False)
class AdaptiveTimeSeries(Compensation):
    """Sends ``a0 x + a1 x' + a2 x''``; the coefficients are a least-squares fit of sent by measured.

    The defaults are those of the authors' own implementation. Derivatives are exact for a parabola, where the authors
    take backward differences of first order.

    Parameters
    ----------
    initial : the first coefficients, of order 2 or less; the authors take those of the expected delay.
    window : s of the moving window.
    cutoff, filter_order : Hz and order of the Butterworth low-pass of both signals before the fit; the order is even.
    ranges : (lowest, highest) a0 [1], a1 [s] and a2 [s^2].
    rates : largest change of each within a second.
    threshold : measured amplitude in the window, in the signal's unit, below which nothing is adapted.
    relative_threshold : likewise, as a fraction of the largest so far (ours).
    longest_gap : s of lost samples that are bridged (ours).
    """

    columns = (*COLUMNS, Output("ats_a0", "1"), Output("ats_a1", "s"), Output("ats_a2", "s2"))

    initial: FixedInverse = field(default_factory=FixedInverse)
    window: float = 1.0
    cutoff: float = 20.0
    filter_order: int = 6
    ranges: tuple[Range, Range, Range] = ((0.7, 1.3), (0.0, 0.08), (0.0, 0.0032))
    rates: tuple[float, float, float] = (2.0, 0.05, 0.001)
    threshold: float = 0.0
    relative_threshold: float = 0.02
    longest_gap: float = 0.04

    def __post_init__(self) -> None:
        if len(self.initial.coefficients) > 3:
            raise ValueError(
                f"initial has {len(self.initial.coefficients)} coefficients: the time series has at most 3"
            )
        if not (self.filter_order >= 2 and self.filter_order % 2 == 0):
            raise ValueError(f"filter_order = {self.filter_order}: must be 2, 4, 6, ...")
        if not 0.0 < self.cutoff < np.inf:
            raise ValueError(f"cutoff = {self.cutoff} Hz: must be a positive frequency")
        check_window(self.window, self.longest_gap)
        check_gate(self.relative_threshold)
        for name, (low, high), rate in zip(("a0", "a1", "a2"), self.ranges, self.rates, strict=True):
            if not low <= high:
                raise ValueError(f"range of {name} = {low} to {high}: the lowest comes first")
            if not rate > 0.0:
                raise ValueError(f"rate of {name} = {rate} in a second: must be positive")

    def begin(self, dt: float, shape: Shape = (1,)) -> AdaptiveTimeSeriesCompensator:
        """Return it at rest, see `Compensation`."""
        return AdaptiveTimeSeriesCompensator(self, dt, shape)


class AdaptiveTimeSeriesCompensator(Compensator):
    """A running `AdaptiveTimeSeries`."""

    columns = AdaptiveTimeSeries.columns

    def __init__(self, settings: AdaptiveTimeSeries, dt: float, shape: Shape) -> None:
        given = settings.initial.stacked(shape)
        initial: Samples = np.zeros((3, *shape))
        initial[: len(given)] = given
        super().__init__(dt, shape, initial, spacing=settings.initial.spacing, ramp=settings.initial.ramp)
        if not settings.cutoff < 0.4 / dt:
            raise ValueError(f"cutoff = {settings.cutoff} Hz: must be below {0.4 / dt:g} Hz at this rate")
        self._bridge = GapBridge(self.n, self.block, max(1, round(settings.longest_gap / dt)))
        self._sections = butterworth(settings.cutoff * dt, settings.filter_order)
        self._filter: Samples = np.zeros((self.n, 2, len(self._sections), 2))
        # newest filtered values, as far back as derivatives need
        self._recent: Samples = np.zeros((self.n, 2, 2 * self._gap + 1))
        n_rows = max(4, round(settings.window / (self.block * dt)))
        self._rows: Samples = np.zeros((self.n, n_rows, 4))
        self._counts = np.zeros((self.n, 2), dtype=np.int64)
        self._largest: Samples = np.zeros(self.n)
        self._settings = np.array([settings.threshold, settings.relative_threshold, round(_SETTLING / dt)])
        self._ranges, self._rates = np.array(settings.ranges), np.array(settings.rates) * (self.block * dt)
        self._bridged = self._bridge.counts[0]

    def observe(self, command: ArrayLike, measured: ArrayLike) -> None:
        """See `Compensator`."""
        released = self._bridge.push(*self._pair(command, measured), self._sent)
        if released is None:
            return
        coefficients = self.coefficients.copy()
        fit_time_series(
            released[2], released[1], self._sections, self._derivatives, self._settings, self._ranges, self._rates,
            self._filter, self._recent, self._rows, self._counts, self._largest, coefficients, self._adapting,
            self._limited,
        )  # fmt: skip
        self._set_coefficients(coefficients)

    def _values(self) -> list[Samples]:
        return [*super()._values(), *self.coefficients]


def butterworth(cutoff: float, order: int) -> Samples:
    """Return (order / 2, 5): b0, b1, b2, a1, a2 of the low-pass's sections; `cutoff` in cycles a sample."""
    warped = np.tan(pi * cutoff)
    damping = 2.0 * np.sin(pi * (2 * np.arange(order // 2) + 1) / (2 * order))
    scale = 1.0 + damping * warped + warped**2
    b0 = warped**2 / scale
    return np.stack(
        (b0, 2.0 * b0, b0, 2.0 * (warped**2 - 1.0) / scale, (1.0 - damping * warped + warped**2) / scale), 1
    )


@kernel
def fit_time_series(
    sent: Samples,
    measured: Samples,
    sections: Samples,
    derivatives: Samples,
    settings: Samples,
    ranges: Samples,
    rates: Samples,
    filters: Samples,
    recent: Samples,
    rows: Samples,
    counts: NDArray[np.int64],
    largest: Samples,
    coefficients: Samples,
    adapting: NDArray[np.bool_],
    limited: NDArray[np.bool_],
) -> None:
    """Filter a block of both signals, (block, n), add a row to each window, and change the coefficients, (3, n)."""
    threshold, relative, settling = settings[0], settings[1], int(settings[2])
    n_recent, n_rows = recent.shape[2], rows.shape[1]
    gap = (n_recent - 1) // 2
    normal, right, answer = np.empty((3, 3)), np.empty(3), np.empty(3)
    for k in range(sent.shape[1]):
        for i in range(sent.shape[0]):
            if not (np.isfinite(measured[i, k]) and np.isfinite(sent[i, k])):
                # the filter continues after the gap, and is used when it has settled
                counts[k, 1] = 0
                continue
            counts[k, 1] += 1
            for signal in range(2):
                x = sent[i, k] if signal == 0 else measured[i, k]
                for section in range(sections.shape[0]):
                    y = sections[section, 0] * x + filters[k, signal, section, 0]
                    filters[k, signal, section, 0] = (
                        sections[section, 1] * x - sections[section, 3] * y + filters[k, signal, section, 1]
                    )
                    filters[k, signal, section, 1] = sections[section, 2] * x - sections[section, 4] * y
                    x = y
                for at in range(n_recent - 1, 0, -1):
                    recent[k, signal, at] = recent[k, signal, at - 1]
                recent[k, signal, 0] = x
        adapting[k] = False
        if counts[k, 1] < settling:
            continue
        row = counts[k, 0] % n_rows
        counts[k, 0] += 1
        rows[k, row, 0] = recent[k, 0, 0]
        for j in range(3):
            rows[k, row, j + 1] = 0.0
            for tap in range(3):
                rows[k, row, j + 1] += derivatives[tap, j] * recent[k, 1, tap * gap]
        if counts[k, 0] < n_rows:
            continue
        amplitude = 0.0
        normal[:], right[:] = 0.0, 0.0
        for at in range(n_rows):
            amplitude = max(amplitude, abs(rows[k, at, 1]))
            for a in range(3):
                right[a] += rows[k, at, a + 1] * rows[k, at, 0]
                for b in range(3):
                    normal[a, b] += rows[k, at, a + 1] * rows[k, at, b + 1]
        largest[k] = max(largest[k], amplitude)
        if amplitude <= max(threshold, relative * largest[k]) or not _solve(normal, right, answer):
            continue
        adapting[k] = True
        limited[k] = False
        for j in range(3):
            if not ranges[j, 0] <= answer[j] <= ranges[j, 1]:
                limited[k] = True
            value = min(max(answer[j], ranges[j, 0]), ranges[j, 1])
            change = min(max(value - coefficients[j, k], -rates[j]), rates[j])
            coefficients[j, k] += change


@kernel
def _solve(normal: Samples, right: Samples, answer: Samples) -> bool:
    """Solve three equations, scaled to a unit diagonal, by Cholesky; False where they are singular."""
    scale, lower = np.empty(3), np.zeros((3, 3))
    for a in range(3):
        if not normal[a, a] > 0.0:
            return False
        scale[a] = 1.0 / np.sqrt(normal[a, a])
    for a in range(3):
        for b in range(a + 1):
            value = normal[a, b] * scale[a] * scale[b]
            for c in range(b):
                value -= lower[a, c] * lower[b, c]
            if a == b:
                if not value > _SINGULAR:
                    return False
                lower[a, a] = np.sqrt(value)
            else:
                lower[a, b] = value / lower[b, b]
    for a in range(3):
        value = right[a] * scale[a]
        for c in range(a):
            value -= lower[a, c] * answer[c]
        answer[a] = value / lower[a, a]
    for a in range(2, -1, -1):
        value = answer[a]
        for c in range(a + 1, 3):
            value -= lower[c, a] * answer[c]
        answer[a] = value / lower[a, a]
    for a in range(3):
        answer[a] *= scale[a]
    return True
