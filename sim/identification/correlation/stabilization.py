"""Poles of realizations of rising order, and the modes that remain the same from order to order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, pi

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from sim.arrays import Response, Samples
from sim.identification.correlation.metric import thin_svd
from sim.identification.correlation.modal_comparison import modal_assurance

# of the largest singular value: below, the data are those of a system of that order, without noise
_EXACT = 1e-12
_STEP = 0.01
_FEWEST = 3
# MAC above which two poles within a bandwidth are one mode
_ALIKE = 0.9


@dataclass(frozen=True, slots=True)
class Stabilization:
    """When a pole is the same as one of a lower order, and when a mode is one.

    Parameters
    ----------
    max_order : of the realizations, two a mode: all orders from 2.
    frequency, damping : largest relative change from order to order; ratios below 1 % count as 1 %.
    mac : largest loss of MAC from order to order.
    orders : share of the orders in which a mode is found at least.
    max_damping : ratio above which a pole is no mode.
    band : Hz.

    Raises
    ------
    ValueError : a number is out of range.
    """

    max_order: int = 40
    frequency: float = 0.01
    damping: float = 0.3
    mac: float = 0.05
    orders: float = 0.35
    max_damping: float = 0.3
    band: tuple[float, float] = (0.0, inf)

    def __post_init__(self) -> None:
        if self.max_order < 2:
            raise ValueError(f"stabilization max_order {self.max_order}: must be 2 at least, two for each mode")
        for name in ("frequency", "damping", "mac", "orders", "max_damping"):
            if not 0.0 < getattr(self, name) <= 1.0:
                raise ValueError(f"stabilization {name} {getattr(self, name)}: must be in (0, 1]")
        if not 0.0 <= self.band[0] < self.band[1]:
            raise ValueError(f"stabilization band {self.band}: give a lower and a higher frequency, Hz")


@dataclass(frozen=True, slots=True, eq=False)
class Poles:
    """Poles of one order with their shapes, or one pole over several orders.

    Parameters
    ----------
    frequencies, damping : (k,), Hz and ratios.
    shapes : (k, s), complex, of unit length.
    """

    frequencies: Samples
    damping: Samples
    shapes: Response

    def __len__(self) -> int:
        return len(self.frequencies)


def stable_poles(first: Samples, shifted: Samples, sensors: int, rate: float, rules: Stabilization) -> list[Poles]:
    """Return modes, the lowest frequency first, each as its poles over the orders in which it is stable.

    The realization of order n is A = S^-1/2 U' H1 V S^-1/2, C the first rows of U S^1/2, of the first n
    singular triples of H0 (Juang and Pappa, J. Guidance 8, 1985, 620); one of each other is a part of the largest.
    Data without noise have few singular values: the poles of that order are returned alone.

    Parameters
    ----------
    first, shifted : H0 and H1, (rows, columns), of Markov parameters or covariances, H1 one sample later.
    sensors : number of rows that belong to one sample.
    rate : Hz.
    rules : of the stabilization.
    """
    left, values, right = thin_svd(first)
    rank = int(np.sum(values > _EXACT * values[0]))
    order = min(rules.max_order, rank)
    root = np.sqrt(values[:order])
    transition = (left[:, :order].T @ shifted @ right[:order].T) / np.outer(root, root)
    output = left[:sensors, :order] * root
    # values of noise, or of a force that is not white, fall smoothly; those of a finite order end in a step
    if rank < min(rules.max_order, len(values)) and values[rank] < _STEP * values[rank - 1]:
        exact = _poles(transition, output, rate, rules)
        one = [
            Poles(exact.frequencies[i : i + 1], exact.damping[i : i + 1], exact.shapes[i : i + 1])
            for i in range(len(exact))
        ]
        return sorted(one, key=lambda each: float(each.frequencies[0]))
    return list(
        _tracked([_poles(transition[:n, :n], output[:, :n], rate, rules) for n in range(2, order + 1)], rules)
    )


def _poles(transition: Samples, output: Samples, rate: float, rules: Stabilization) -> Poles:
    values, vectors = np.linalg.eig(transition)
    shapes = (output @ vectors).T
    with np.errstate(divide="ignore", invalid="ignore"):
        continuous = np.log(values.astype(np.complex128)) * rate
        frequencies, damping = np.abs(continuous) / (2.0 * pi), -continuous.real / np.abs(continuous)
    size = np.linalg.norm(shapes, axis=1)
    kept = (values.imag > 0.0) & (damping > -1e-9) & (damping <= rules.max_damping) & (size > 0.0)
    kept &= (frequencies >= rules.band[0]) & (frequencies <= rules.band[1])
    return Poles(frequencies[kept], damping[kept], (shapes[kept] / size[kept, None]).astype(np.complex128))


def _tracked(orders: list[Poles], rules: Stabilization) -> Iterator[Poles]:
    tracks: list[list[tuple[float, float, Response]]] = []
    for poles in orders:
        taken: set[int] = set()
        if tracks and len(poles):
            last = Poles(*(np.array(each) for each in zip(*(track[-1] for track in tracks), strict=True)))
            distance = pole_distances(last, poles, rules)
            rows, columns = linear_sum_assignment(np.minimum(distance, 1e3))
            for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
                if distance[row, column] < 1.0:
                    # it may be missing in orders before, in which noise splits it
                    tracks[row].append(_pole(poles, column))
                    taken.add(column)
        tracks += [[_pole(poles, i)] for i in range(len(poles)) if i not in taken]
    fewest = max(_FEWEST, round(rules.orders * len(orders)))
    long = sorted((track for track in tracks if len(track) >= fewest), key=lambda track: -len(track))
    found: list[Poles] = []
    for track in long:
        one = Poles(*(np.array(each) for each in zip(*track, strict=True)))
        if not any(_overlap(other, one) for other in found):
            found.append(one)
    yield from sorted(found, key=lambda each: float(np.median(each.frequencies)))


def _overlap(first: Poles, second: Poles) -> bool:
    # noise splits a mode into poles of one shape within its bandwidth
    one, other = median_pole(first), median_pole(second)
    apart = np.abs(one.frequencies - other.frequencies)
    width = one.damping * one.frequencies + other.damping * other.frequencies
    return bool((apart < width)[0] and modal_assurance(one.shapes, other.shapes)[0, 0] > _ALIKE)


def _pole(poles: Poles, i: int) -> tuple[float, float, Response]:
    return float(poles.frequencies[i]), float(poles.damping[i]), poles.shapes[i]


def median_pole(poles: Poles) -> Poles:
    """Return the median of a pole over orders, with the shape that is nearest to all of theirs."""
    _, _, right = np.linalg.svd(poles.shapes, full_matrices=False)
    return Poles(np.median(poles.frequencies, keepdims=True), np.median(poles.damping, keepdims=True), right[:1])


def pole_distances(first: Poles, second: Poles, rules: Stabilization) -> Samples:
    """Return (k, l): the largest of the changes of frequency, damping and shape, relative to what is allowed."""
    frequency = np.abs(second.frequencies / first.frequencies[:, None] - 1.0) / rules.frequency
    scale = np.maximum(first.damping[:, None], 0.01)
    damping = np.abs(second.damping - first.damping[:, None]) / scale / rules.damping
    loss = (1.0 - modal_assurance(first.shapes, second.shapes)) / rules.mac
    return np.asarray(np.maximum(np.maximum(frequency, damping), loss))


def real_shapes(shapes: NDArray[np.complex128]) -> tuple[Samples, Samples]:
    """Return (k, s) real shapes of unit length, the largest number positive, and (k,) modal phase collinearity.

    The phase is that in which the real part is largest. Collinearity is 1 for a real shape, 0 for a wave.

    Source: Pappa, Elliott and Schenk, J. Guidance 16, 1993, 1152.
    """
    turned = shapes * np.exp(-0.5j * np.angle(np.sum(shapes**2, axis=1, keepdims=True)))
    real = turned.real / np.linalg.norm(turned.real, axis=1, keepdims=True)
    largest = np.argmax(np.abs(real), axis=1)
    real *= np.sign(real[np.arange(len(real)), largest])[:, None]
    xx, yy, xy = (
        np.sum(a * b, axis=1)
        for a, b in ((shapes.real, shapes.real), (shapes.imag, shapes.imag), (shapes.real, shapes.imag))
    )
    return real, np.asarray(((xx - yy) ** 2 + 4.0 * xy**2) / (xx + yy) ** 2)
