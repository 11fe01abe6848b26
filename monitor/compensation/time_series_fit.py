"""The fit of a time series: what was sent is a polynomial in derivatives of what was measured, by least squares.

Both signals pass the same low-pass. Every few milliseconds a row, derivatives of measured and what was sent, is added
to the sums of each actuator, and its coefficients move towards their solution. Rows are forgotten at the end of a
window or exponentially, and a Gaussian prior may stand beside them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from monitor.compensation.base import Compensator, Shape, block_of, derivative_weights
from monitor.compensation.fixed_inverse import FixedInverse
from monitor.compensation.lead import BLOCK, FIT, GAP, LEAD, Lead, follow_coefficients, is_absent, open_lead
from monitor.indicators.parts.memory import (
    Cube,
    IntMatrix,
    IntVector,
    Matrix,
    Vector,
    arrays_of,
    first_array,
    open_state,
)
from monitor.kernel import borrowed, kernel, part
from monitor.messages.blocks import Samples

_AMPLITUDE_MEMORY = 0.3  # s, of an exponential memory
_CORRELATION = 6.0  # rows that are as good as one independent one
_UNEXPLAINED = 3e-4  # of the motion, at best
_OF_VELOCITY = 10.0  # squares of the motion without its offset, at most, by those of the scaled velocity
_SINGULAR = 1e-9  # reciprocal condition number of the scaled equations below which the coefficients are held
_GRID, _CUTOFFS = 4096, 8.0  # frequencies of an integral, and how many cutoffs it reaches

_KEEP, _KEEP_NOISE, _GATE, _THRESHOLD, _AMPLITUDE = range(5)
_LONGEST, _SETTLING, _WINDOW = range(3)
_SEEN, _WHOLE, _PUSHED, _MISSING, BRIDGED, ADAPTING, LIMITED, _AT, _ROW, _N_COUNTS = range(10)
_POWER, _WEIGHT, _NOISE, _NOISE_WEIGHT, _NOW, _LARGEST, _ERROR, _N_SUMS = range(8)
_ABSURD = 1e30  # a larger value is none
_DIFFERENCE = 4  # order of the differences of measured that are noise, not motion
_DIFFERENCE_GAIN = 70.0  # of the variance of white noise


class Fit(NamedTuple):
    """What the fit remembers, of n actuators with q coefficients each; derivatives are scaled to about one size.

    Attributes
    ----------
    sections : (order / 2, 5) of the low-pass.
    derivatives : (q, q) weights of the taps for a scaled derivative a column, which are those of the lead.
    scale : (q,) of the derivatives: coefficients are ``solution * scale``.
    noise : (q, q) covariance of the derivatives of white noise of variance 1.
    rates : (q,) largest change of a coefficient at a row.
    settings : share that is kept of the sums, and of those of the noise; gate, threshold; share of the amplitude.
    sizes : samples of the longest gap, and until the filters have settled; rows of a window, 0: exponential.
    ranges : (n, q, 2) lowest and highest coefficients.
    nominal, precision : (n, q), (n, q, q) mean and inverse covariance of the prior.
    filters, recent : (n, 2 sections, 2), (n, 2, length) of the low-pass, and newest sent and measured behind it.
    raw : (n, 4) newest measured.
    pending : (n, 2, longest gap) commands and what was sent while the measured signal is lost.
    counts : (n, 9) samples since a gap, since one was lost, and since a row; lost ones; `BRIDGED`, `ADAPTING`,
        `LIMITED`; position of the newest; rows.
    rows : (n, window, q + 1).
    normal, right : (n, q, q), (n, q) of the equations, the former's lower half.
    sums : (n, 7) squares of sent, number of rows; squares of differences, their number; amplitude, largest amplitude;
        newest error.
    solution : (n, q).
    work : (q + 2, q) for intermediate results.
    """

    sections: Matrix
    derivatives: Matrix
    scale: Vector
    noise: Matrix
    rates: Vector
    settings: Vector
    sizes: IntVector
    ranges: Cube
    nominal: Matrix
    precision: Cube
    filters: Cube
    recent: Cube
    raw: Matrix
    pending: Cube
    counts: IntMatrix
    rows: Cube
    normal: Cube
    right: Matrix
    sums: Matrix
    solution: Matrix
    work: Matrix


open_fit = open_state(Fit)


class FitSettings(NamedTuple):
    """What a method decides of its fit; see the settings of the methods.

    Parameters
    ----------
    ranges : (n, q, 2) lowest and highest coefficients.
    precision : (n, q, q) of the prior about the first coefficients in their units; None: there is none.
    window : s; exponential: it is the time in which the weight of a row falls to 1/e.
    """

    ranges: Samples
    precision: Samples | None
    window: float
    rates: tuple[float, ...]
    cutoff: float
    filter_order: int
    settling: float
    longest_gap: float
    gate: float
    threshold: float = 0.0


def stacked_coefficients(inverse: FixedInverse, shape: Shape, order: int) -> Samples:
    """Return the coefficients of an inverse, (n, q), zero up to `order` where it has fewer."""
    given = inverse.stacked(shape)
    a: Samples = np.zeros((int(np.prod(shape)), max(order + 1, len(given))))
    a[:, : len(given)] = given.reshape(len(given), -1).T
    return a


def new_fit(coefficients: Samples, spacing: float, dt: float, settings: FitSettings) -> Fit:
    """Return a fit at rest with these first coefficients, (n, q); raises ValueError for a cutoff beyond the rate."""
    if not settings.cutoff < 0.4 / dt:
        raise ValueError(f"cutoff = {settings.cutoff} Hz: must be below {0.4 / dt:g} Hz at this rate")
    n, q = coefficients.shape
    block, gap = block_of(dt), max(1, round(spacing / dt))
    row, longest = block * dt, max(1, round(settings.longest_gap / dt))
    scale = (0.5 * np.pi * settings.cutoff) ** -np.arange(q, dtype=np.float64)
    derivatives = derivative_weights(q - 1, gap * dt) * scale
    sections = butterworth(settings.cutoff * dt, settings.filter_order)
    recursive = settings.precision is not None
    precision = np.zeros((n, q, q)) if settings.precision is None else settings.precision * np.outer(scale, scale)
    kept = [np.exp(-each / settings.window) for each in (row, dt)]
    n_rows = 0 if recursive else max(4, round(settings.window / row))
    return Fit(
        sections=sections,
        derivatives=derivatives,
        scale=scale,
        noise=_noise_covariance(sections, derivatives, gap, settings.cutoff * dt),
        rates=np.array(settings.rates[:q]) * row,
        settings=np.array([*kept, settings.gate, settings.threshold, np.exp(-row / _AMPLITUDE_MEMORY)]),
        sizes=np.array([longest, round(settings.settling / dt), n_rows]),
        ranges=settings.ranges.copy(),
        nominal=coefficients / scale,
        precision=precision,
        filters=np.zeros((n, 2 * len(sections), 2)),
        recent=np.zeros((n, 2, (q - 1) * gap + 1)),
        raw=np.zeros((n, _DIFFERENCE)),
        pending=np.zeros((n, 2, longest)),
        counts=np.zeros((n, _N_COUNTS), np.int64),
        rows=np.zeros((n, n_rows, q + 1)),
        normal=np.zeros((n, q, q)),
        right=np.zeros((n, q)),
        sums=np.zeros((n, _N_SUMS)),
        solution=coefficients / scale,
        work=np.zeros((q + 2, q)),
    )


def butterworth(cutoff: float, order: int) -> Samples:
    """Return (order / 2, 5): b0, b1, b2, a1, a2 of the low-pass's sections; `cutoff` in cycles a sample."""
    warped = np.tan(np.pi * cutoff)
    damping = 2.0 * np.sin(np.pi * (2 * np.arange(order // 2) + 1) / (2 * order))
    scale = 1.0 + damping * warped + warped**2
    b0 = warped**2 / scale
    return np.stack(
        (b0, 2.0 * b0, b0, 2.0 * (warped**2 - 1.0) / scale, (1.0 - damping * warped + warped**2) / scale), 1
    )


def _noise_covariance(sections: Samples, derivatives: Samples, gap: int, cutoff: float) -> Samples:
    """Return the covariance of the derivatives, behind the low-pass, of white noise of variance 1, (q, q)."""
    frequency = np.linspace(0.0, min(0.5, _CUTOFFS * cutoff), _GRID)
    delay = np.exp(-2j * np.pi * frequency)
    response = np.ones(_GRID, np.complex128)
    for b0, b1, b2, a1, a2 in sections:
        response *= (b0 + delay * (b1 + delay * b2)) / (1.0 + delay * (a1 + delay * a2))
    # (q, frequencies) of each derivative
    parts = response * np.sum(
        derivatives[:, :, None] * delay ** (gap * np.arange(len(derivatives)))[:, None, None], 0
    )
    return np.asarray(2.0 * np.trapezoid((parts[:, None] * parts.conj()).real, frequency))


class TimeSeriesCompensator(Compensator):
    """A running compensator whose coefficients are those of a fit."""

    def __init__(
        self, coefficients: Samples, nominal: FixedInverse, dt: float, shape: Shape, settings: FitSettings
    ) -> None:
        super().__init__(
            dt, shape, coefficients.T.reshape(-1, *shape), spacing=nominal.spacing, ramp=nominal.ramp,
            fit=new_fit(coefficients, nominal.spacing, dt, settings),
        )  # fmt: skip
        fit = arrays_of(self.memory, FIT, Fit)
        # views, which follow the kernel
        self._adapting, self._bridged, self._limited = (fit.counts[:, i] for i in (ADAPTING, BRIDGED, LIMITED))

    def observe(self, command: ArrayLike, measured: ArrayLike) -> None:
        """See `Compensator`."""
        learn(self.memory, *self._checked(command, measured))

    def _values(self) -> list[Samples]:
        return [*super()._values(), *self.coefficients]


@kernel
def learn(memory: Samples, command: Samples, measured: Samples) -> None:
    """Learn from command and measured signal of one instant, (n,) each; lost samples are NaN."""
    memory = borrowed(memory)
    words = memory.view(np.int64)
    lead, fit = open_lead(memory, first_array(words, LEAD)), open_fit(memory, first_array(words, FIT))
    for k in range(len(command)):
        learn_pair(lead, fit, k, command[k], measured[k])


@part
def learn_pair(lead: Lead, fit: Fit, k: int, command: float, measured: float) -> None:
    """Learn from a sample of one actuator.

    Lost ones are bridged when the signal is back: the difference of measured and command is interpolated, so that the
    error is a fraction of the tracking error, not of the motion.
    """
    counts, sums, longest = fit.counts[k], fit.sums[k], fit.sizes[_LONGEST]
    # what was compensated is known, even where its record is lost
    c = command if np.isfinite(command) else lead.command[k]
    lost = counts[_MISSING]
    if not abs(measured) < _ABSURD or is_absent(lead, k):
        if lost < longest:
            fit.pending[k, 0, lost], fit.pending[k, 1, lost] = c, lead.sent[k]
        counts[_MISSING] += 1
        counts[ADAPTING] = counts[_WHOLE] = 0
        return
    _measure_noise(fit, k, measured)
    error = measured - c
    if lost > longest or counts[_SEEN] == 0:
        # the filters begin anew, and are used when they have settled
        counts[_SEEN] = lost = 0
    added = False
    for i in range(lost + 1):
        if i < lost:
            between = sums[_ERROR] + (i + 1) / (lost + 1) * (error - sums[_ERROR])
            due = _filter(lead, fit, k, fit.pending[k, 1, i], fit.pending[k, 0, i] + between)
        else:
            due = _filter(lead, fit, k, lead.sent[k], measured)
        if due:
            added = _add_row(lead, fit, k)
    if added and _fit(fit, k):
        _move(lead, fit, k)
    counts[BRIDGED] += lost
    counts[_MISSING], sums[_ERROR] = 0, error


@part
def _measure_noise(fit: Fit, k: int, measured: float) -> None:
    """Add the square of the fourth difference of measured, in which white noise is 70 times its variance."""
    raw, sums, counts = fit.raw[k], fit.sums[k], fit.counts[k]
    difference = measured - 4.0 * raw[3] + 6.0 * raw[2] - 4.0 * raw[1] + raw[0]
    for i in range(_DIFFERENCE - 1):
        raw[i] = raw[i + 1]
    raw[_DIFFERENCE - 1] = measured
    counts[_WHOLE] += 1
    # of the samples whose rows are used: a start with a jerk is no noise
    if counts[_WHOLE] > _DIFFERENCE and counts[_SEEN] >= fit.sizes[_SETTLING]:
        keep = fit.settings[_KEEP_NOISE]
        sums[_NOISE] = keep * sums[_NOISE] + difference * difference / _DIFFERENCE_GAIN
        sums[_NOISE_WEIGHT] = keep * sums[_NOISE_WEIGHT] + 1.0


@part
def _filter(lead: Lead, fit: Fit, k: int, sent: float, measured: float) -> bool:
    """Filter a sample of both signals; return whether a row is due."""
    counts, sections, recent = fit.counts[k], fit.sections, fit.recent[k]
    counts[_AT] = (counts[_AT] + 1) % recent.shape[1]
    for signal in range(2):
        x = sent if signal == 0 else measured
        for i in range(len(sections)):
            state, b = fit.filters[k, signal * len(sections) + i], sections[i]
            if counts[_SEEN] == 0:
                # as if the signal had always been there: an offset is no step
                state[0], state[1] = (1.0 - b[0]) * x, (b[2] - b[4]) * x
            y = b[0] * x + state[0]
            state[0] = b[1] * x - b[3] * y + state[1]
            state[1] = b[2] * x - b[4] * y
            x = y
        recent[signal, counts[_AT]] = x
    counts[_SEEN] += 1
    counts[_PUSHED] = (counts[_PUSHED] + 1) % lead.sizes[BLOCK]
    return bool(counts[_PUSHED] == 0 and counts[_SEEN] >= fit.sizes[_SETTLING])


@part
def _add_row(lead: Lead, fit: Fit, k: int) -> bool:
    """Add a row to the sums; return whether there is motion enough for a solution."""
    counts, sums, recent, q = fit.counts[k], fit.sums[k], fit.recent[k], len(fit.scale)
    length, row = recent.shape[1], fit.work[0]
    for j in range(q):
        row[j] = 0.0
        for tap in range(q):
            row[j] += fit.derivatives[tap, j] * recent[1, (counts[_AT] - tap * lead.sizes[GAP]) % length]
    sent = recent[0, counts[_AT]]
    counts[ADAPTING] = 0
    if fit.sizes[_WINDOW]:
        rows = fit.rows[k]
        at = counts[_ROW] % len(rows)
        counts[_ROW] += 1
        rows[at, q] = sent
        for j in range(q):
            rows[at, j] = row[j]
        return bool(counts[_ROW] >= len(rows))
    # by the velocity, which an offset leaves as it is; nothing is forgotten while nothing moves
    if not _is_enough(fit, k, max(abs(row[1]), sums[_NOW] * fit.settings[_AMPLITUDE])):
        return False
    keep, normal, right = fit.settings[_KEEP], fit.normal[k], fit.right[k]
    for a in range(q):
        right[a] = keep * right[a] + row[a] * sent
        for b in range(a + 1):
            normal[a, b] = keep * normal[a, b] + row[a] * row[b]
    sums[_POWER] = keep * sums[_POWER] + sent * sent
    sums[_WEIGHT] = keep * sums[_WEIGHT] + 1.0
    return True


@part
def _is_enough(fit: Fit, k: int, amplitude: float) -> bool:
    """Return whether the motion has the amplitude for a fit."""
    sums = fit.sums[k]
    sums[_NOW], sums[_LARGEST] = amplitude, max(sums[_LARGEST], amplitude)
    return bool(amplitude > max(fit.settings[_THRESHOLD], fit.settings[_GATE] * sums[_LARGEST]))


@part
def _sum_window(fit: Fit, k: int) -> float:
    """Sum the window, and return its largest amplitude."""
    rows, normal, right, q = fit.rows[k], fit.normal[k], fit.right[k], len(fit.scale)
    amplitude = 0.0
    normal[:], right[:] = 0.0, 0.0
    for i in range(len(rows)):
        amplitude = max(amplitude, abs(rows[i, 0]))
        for a in range(q):
            right[a] += rows[i, a] * rows[i, q]
            for b in range(a + 1):
                normal[a, b] += rows[i, a] * rows[i, b]
    return amplitude


@part
def _fit(fit: Fit, k: int) -> bool:
    """Find the coefficients; False where the equations are singular.

    The prior weighs as much as the variance of a row: that of the noise, by what a fit leaves on which the prior has
    next to no weight. By what the likeliest coefficients leave, a wrong nominal inverse would pass as noise.
    """
    sums = fit.sums[k]
    if fit.sizes[_WINDOW]:
        return _is_enough(fit, k, _sum_window(fit, k)) and _solve(fit, k, 0.0, 1.0)
    noise = sums[_WEIGHT] * sums[_NOISE] / max(sums[_NOISE_WEIGHT], 1.0)
    rows = max(sums[_WEIGHT] / _CORRELATION, 1.0)
    moved = min(sums[_POWER], _OF_VELOCITY * fit.normal[k, 1, 1])
    least, free = _UNEXPLAINED * _UNEXPLAINED * moved / rows, rows - len(fit.scale)
    if free < 1.0:
        # so few rows that nothing is left of them
        free = rows
    elif not _solve(fit, k, 0.0, least):
        return False
    return _solve(fit, k, noise, _left(fit, k) / free + least)


@part
def _left(fit: Fit, k: int) -> float:
    """Return the sum of squares that the solution leaves."""
    normal, right, solution = fit.normal[k], fit.right[k], fit.solution[k]
    left = fit.sums[k, _POWER]
    for a in range(len(solution)):
        left -= 2.0 * right[a] * solution[a]
        for b in range(a + 1):
            left += (1.0 if a == b else 2.0) * solution[a] * solution[b] * normal[a, b]
    return max(float(left), 0.0)


@part
def _solve(fit: Fit, k: int, noise: float, variance: float) -> bool:
    """Solve the equations, by Cholesky's method with a diagonal of 1; False where they are singular.

    Noise of the measured signal makes sums of squares too large, and the coefficients too small: it is taken out.
    """
    normal, prior, nominal, q = fit.normal[k], fit.precision[k], fit.nominal[k], len(fit.scale)
    answer, scale, lower = fit.work[0], fit.work[1], fit.work[2 : q + 2]
    for a in range(q):
        diagonal = normal[a, a] - noise * fit.noise[a, a] + variance * prior[a, a]
        if not diagonal > 0.0:
            return False
        scale[a] = 1.0 / np.sqrt(diagonal)
        answer[a] = fit.right[k, a]
        for b in range(q):
            answer[a] += variance * prior[a, b] * nominal[b]
        answer[a] *= scale[a]
        for b in range(a + 1):
            value = normal[a, b] - noise * fit.noise[a, b] + variance * prior[a, b]
            value *= scale[a] * scale[b]
            for c in range(b):
                value -= lower[a, c] * lower[b, c]
            if a != b:
                lower[a, b] = value / lower[b, b]
            elif value > _SINGULAR:
                lower[a, a] = np.sqrt(value)
            else:
                return False
        for c in range(a):
            answer[a] -= lower[a, c] * answer[c]
        answer[a] /= lower[a, a]
    for a in range(q - 1, -1, -1):
        for c in range(a + 1, q):
            answer[a] -= lower[c, a] * answer[c]
        answer[a] /= lower[a, a]
    for a in range(q):
        fit.solution[k, a] = answer[a] * scale[a]
    return True


@part
def _move(lead: Lead, fit: Fit, k: int) -> None:
    """Move the coefficients towards the solution, within their ranges and rates."""
    coefficients, counts = lead.coefficients[k], fit.counts[k]
    counts[ADAPTING], counts[LIMITED] = 1, 0
    for j in range(len(coefficients)):
        wanted = fit.solution[k, j] * fit.scale[j]
        low, high = fit.ranges[k, j, 0], fit.ranges[k, j, 1]
        if not low <= wanted <= high:
            counts[LIMITED] = 1
        step = min(max(wanted, low), high) - coefficients[j]
        coefficients[j] += min(max(step, -fit.rates[j]), fit.rates[j])
    follow_coefficients(lead, k)
