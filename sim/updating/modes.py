"""Modes of vibration: of a structure, identified from records alone (SSI), and two sets compared at sensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import pi
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from sim.arrays import Integers, Response, Samples
from sim.laboratory.structure import Structure, eigenmodes, sensor_indices
from sim.updating.metric import sensor_record, thin_svd

Shapes = NDArray[np.float64] | NDArray[np.complex128]

# of the largest eigenvalue of K to M: below, a mode is a rigid body's
RIGID = 1e-12
# of a pair
_LEAST_MAC = 0.5
_ZERO = "is zero at all sensors: they see nothing of it"


@dataclass(frozen=True, eq=False)
class Modes:
    """Modes, the lowest frequency first.

    Parameters
    ----------
    frequencies : (k,), Hz.
    damping : (k,), ratios; NaN where it is not known.
    shapes : (k, s), real or complex, at the sensors.

    Raises
    ------
    ValueError : lengths differ, or a frequency or shape is not finite.
    """

    frequencies: Samples
    damping: Samples
    shapes: Shapes

    def __post_init__(self) -> None:
        frequencies = np.atleast_1d(np.asarray(self.frequencies, dtype=np.float64))
        damping = np.broadcast_to(np.asarray(self.damping, dtype=np.float64), frequencies.shape)
        shapes = np.atleast_2d(self.shapes)
        if frequencies.ndim != 1 or shapes.ndim != 2 or len(shapes) != len(frequencies):
            raise ValueError(
                f"modes: {frequencies.size} frequencies and shapes of {shapes.shape}: give each frequency a row of "
                "shapes, one number a sensor"
            )
        if not np.isfinite(frequencies).all() or not np.isfinite(shapes).all():
            raise ValueError("modes: a frequency or shape is not finite")
        for name, value in (("frequencies", frequencies), ("damping", damping), ("shapes", shapes)):
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.frequencies)

    def chosen(self, which: Sequence[int] | Integers | slice) -> Modes:
        """Return some of them, by index."""
        return Modes(self.frequencies[which], self.damping[which], self.shapes[which])


def natural_modes(structure: Structure, sensors: Sequence[int] | None = None, *, elastic: bool = True) -> Modes:
    """Return the undamped modes of a structure, shapes at the sensors of unit modal mass, its springs not counted.

    Parameters
    ----------
    structure : of one draw; damping ratios are those of phi' C phi.
    sensors : degrees of freedom by number, from 1; None: all.
    elastic : without rigid body modes.

    Raises
    ------
    ValueError : a sensor is not a degree of freedom, or see `eigenmodes`.
    """
    mass, damping, stiffness = structure.matrices
    if mass.ndim > 2 or stiffness.ndim > 2:
        raise ValueError("natural modes: of one structure, not of many draws")
    squares, shapes = eigenmodes(mass, stiffness)
    kept = squares > RIGID * squares[-1] if elastic else np.ones(len(squares), dtype=bool)
    squares, shapes = np.maximum(squares[kept], 0.0), shapes[:, kept]
    circular = np.sqrt(squares)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.einsum("ik,ij,jk->k", shapes, damping, shapes) / (2.0 * circular)
    ratios[squares == 0.0] = np.nan
    return Modes(circular / (2.0 * pi), ratios, shapes[sensor_indices(sensors, structure.dofs)].T)


def modal_assurance(first: Shapes, second: Shapes) -> Samples:
    """Return (k, l): |a^H b|^2 / (a^H a b^H b) of shapes, (k, s) and (l, s), real or complex; 1: the same shape.

    Source: Allemang and Brown, IMAC 1982.

    Raises
    ------
    ValueError : they have other numbers of sensors, or a shape is not finite, or zero at all of them.
    """
    a, b = np.atleast_2d(first), np.atleast_2d(second)
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"MAC of shapes at {a.shape[1]} and at {b.shape[1]} sensors: give the same sensors for both")
    left, right = _of_unit_size(a), _of_unit_size(b)
    sizes = [np.sum(np.abs(each) ** 2, axis=1) for each in (left, right)]
    return np.asarray(np.abs(left.conj() @ right.T) ** 2 / np.outer(*sizes))


def _of_unit_size(shapes: Any) -> Any:
    """Return shapes whose largest component is 1, so that squares neither vanish nor overflow."""
    largest = np.abs(shapes).max(axis=1, keepdims=True)
    for wrong, what in ((~np.isfinite(largest), "is not finite"), (largest == 0.0, _ZERO)):
        if wrong.any():
            raise ValueError(f"MAC: shape {int(np.argmax(wrong)) + 1} {what}")
    return shapes / largest


def pair_distances(first: Modes, second: Modes) -> Samples:
    """Return (k, l): 1 - MAC + 0.2 |ln f / f'|: a ratio of 1.65 counts like a loss of MAC of a tenth."""
    # two rigid body modes have the same frequency, another is far from them
    tiny = np.finfo(float).tiny
    ratio = np.abs(np.log(np.maximum(second.frequencies, tiny) / np.maximum(first.frequencies, tiny)[:, None]))
    return np.asarray(1.0 - modal_assurance(first.shapes, second.shapes) + 0.2 * ratio)


@dataclass(frozen=True, eq=False)
class ModalComparison:
    """Identified modes beside those of a model, paired (Tables 1 and 3 of Hemez and Doebling).

    Parameters
    ----------
    identified, model : at the same sensors.
    pairs : (k, 2), indices of identified and model modes, the lowest identified first.
    mac : (k,), of the pairs.
    """

    identified: Modes
    model: Modes
    pairs: Integers
    mac: Samples

    @property
    def frequency_errors(self) -> Samples:
        """(k,): (model - identified) / identified; NaN of an identified rigid body mode, which is at 0 Hz."""
        identified = self.identified.frequencies[self.pairs[:, 0]]
        difference = self.model.frequencies[self.pairs[:, 1]] - identified
        missing = np.full(len(identified), np.nan)
        return np.asarray(np.divide(difference, identified, out=missing, where=identified > 0.0))


def compare_modes(identified: Modes, model: Modes) -> ModalComparison:
    """Pair modes by their MAC, all together.

    Few sensors see different modes alike; between such, the frequency decides: see `pair_distances`. A mode that is
    like none by a MAC of a half remains without a partner.

    Parameters
    ----------
    identified, model : at the same sensors.

    Raises
    ------
    ValueError : see `modal_assurance`.
    """
    mac = modal_assurance(identified.shapes, model.shapes)
    rows, columns = linear_sum_assignment(pair_distances(identified, model))
    kept = mac[rows, columns] >= _LEAST_MAC
    pairs = np.stack([rows[kept], columns[kept]], axis=1).astype(np.int64)
    return ModalComparison(identified, model, pairs, mac[pairs[:, 0], pairs[:, 1]])


# two a mode: all orders from 2
MAX_ORDER = 40
# from order to order: largest relative changes of frequency and damping, where ratios below 1 % count as 1 %, and
# largest loss of MAC
_FREQUENCY, _DAMPING, _MAC = 0.01, 0.3, 0.05
# share of the orders in which a mode is found at least; ratio above which a pole is no mode
_ORDERS, _MOST_DAMPING = 0.35, 0.3
# of the largest singular value: below, the data are those of a system of that order, without noise
_EXACT = 1e-12
_STEP = 0.01
_FEWEST = 3
# MAC above which two poles within a bandwidth are one mode
_ALIKE = 0.9
# rows of the block matrix, if not given: this many samples
_ROWS = 40
# damping ratio: one that is small is estimated with either sign
_LEAST_DAMPING, _ROUNDING = -0.005, 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class _Poles:
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


def _stable_poles(first: Samples, shifted: Samples, sensors: int, rate: float, max_order: int) -> list[_Poles]:
    """Return modes, the lowest frequency first, each as its poles over the orders in which it is stable.

    The realization of order n is A = S^-1/2 U' H1 V S^-1/2, C the first rows of U S^1/2, of the first n
    singular triples of H0 (Juang and Pappa, J. Guidance 8, 1985, 620); one of each other is a part of the largest.
    Data without noise have few singular values: the poles of that order are returned alone.

    H0 and H1, (rows, columns), are of covariances, H1 one sample later; `sensors` rows belong to one sample.
    """
    left, values, right = thin_svd(first)
    rank = int(np.sum(values > _EXACT * values[0]))
    order = min(max_order, rank)
    root = np.sqrt(values[:order])
    transition = (left[:, :order].T @ shifted @ right[:order].T) / np.outer(root, root)
    output = left[:sensors, :order] * root
    # values of noise, or of a force that is not white, fall smoothly; those of a finite order end in a step
    if rank < min(max_order, len(values)) and values[rank] < _STEP * values[rank - 1]:
        exact = _poles(transition, output, rate)
        one = [
            _Poles(exact.frequencies[i : i + 1], exact.damping[i : i + 1], exact.shapes[i : i + 1])
            for i in range(len(exact))
        ]
        return sorted(one, key=lambda each: float(each.frequencies[0]))
    return list(_tracked([_poles(transition[:n, :n], output[:, :n], rate) for n in range(2, order + 1)]))


def _poles(transition: Samples, output: Samples, rate: float) -> _Poles:
    values, vectors = np.linalg.eig(transition)
    shapes = (output @ vectors).T
    with np.errstate(divide="ignore", invalid="ignore"):
        continuous = np.log(values.astype(np.complex128)) * rate
        frequencies, damping = np.abs(continuous) / (2.0 * pi), -continuous.real / np.abs(continuous)
    size = np.linalg.norm(shapes, axis=1)
    kept = (values.imag > 0.0) & (damping > _LEAST_DAMPING) & (damping <= _MOST_DAMPING) & (size > 0.0)
    return _Poles(frequencies[kept], damping[kept], (shapes[kept] / size[kept, None]).astype(np.complex128))


def _tracked(orders: list[_Poles]) -> Iterator[_Poles]:
    tracks: list[list[tuple[float, float, Response]]] = []
    for poles in orders:
        taken: set[int] = set()
        if tracks and len(poles):
            last = _Poles(*(np.array(each) for each in zip(*(track[-1] for track in tracks), strict=True)))
            distance = _pole_distances(last, poles)
            rows, columns = linear_sum_assignment(np.minimum(distance, 1e3))
            for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
                if distance[row, column] < 1.0:
                    # it may be missing in orders before, in which noise splits it
                    tracks[row].append(_pole(poles, column))
                    taken.add(column)
        tracks += [[_pole(poles, i)] for i in range(len(poles)) if i not in taken]
    fewest = max(_FEWEST, round(_ORDERS * len(orders)))
    long = sorted((track for track in tracks if len(track) >= fewest), key=lambda track: -len(track))
    found: list[_Poles] = []
    for track in long:
        one = _Poles(*(np.array(each) for each in zip(*track, strict=True)))
        if not any(_overlap(other, one) for other in found):
            found.append(one)
    yield from sorted(found, key=lambda each: float(np.median(each.frequencies)))


def _overlap(first: _Poles, second: _Poles) -> bool:
    # noise splits a mode into poles of one shape within its bandwidth
    one, other = _median_pole(first), _median_pole(second)
    apart = np.abs(one.frequencies - other.frequencies)
    width = one.damping * one.frequencies + other.damping * other.frequencies
    return bool((apart < width)[0] and modal_assurance(one.shapes, other.shapes)[0, 0] > _ALIKE)


def _pole(poles: _Poles, i: int) -> tuple[float, float, Response]:
    return float(poles.frequencies[i]), float(poles.damping[i]), poles.shapes[i]


def _median_pole(poles: _Poles) -> _Poles:
    """Return the median of a pole over orders, with the shape that is nearest to all of theirs."""
    _, _, right = np.linalg.svd(poles.shapes, full_matrices=False)
    return _Poles(np.median(poles.frequencies, keepdims=True), np.median(poles.damping, keepdims=True), right[:1])


def _pole_distances(first: _Poles, second: _Poles) -> Samples:
    """Return (k, l): the largest of the changes of frequency, damping and shape, relative to what is allowed."""
    frequency = np.abs(second.frequencies / first.frequencies[:, None] - 1.0) / _FREQUENCY
    scale = np.maximum(first.damping[:, None], 0.01)
    damping = np.abs(second.damping - first.damping[:, None]) / scale / _DAMPING
    loss = (1.0 - modal_assurance(first.shapes, second.shapes)) / _MAC
    return np.asarray(np.maximum(np.maximum(frequency, damping), loss))


def identify_modes(record: ArrayLike, rate: float, *, rows: int | None = None, max_order: int = MAX_ORDER) -> Modes:
    """Identify modes from the response alone: covariance-driven stochastic subspace identification.

    The excitation is assumed to be white noise that does not depend on the response, or zero, as in a free decay: an
    exact one gives exact modes. Source: Peeters and De Roeck, Mech. Systems and Signal Processing 13, 1999, 855.

    Parameters
    ----------
    record : (n, s), of accelerations, velocities or displacements; means are removed.
    rate : Hz.
    rows : samples in a column of the block matrix, which should span a period of the lowest mode; None: 40, or as
        many as the highest order needs.
    max_order : of the realizations, which are of all orders from 2.

    Returns
    -------
    All that are stable, also modes of noise; shapes are real, of unit length, the largest number positive. Damping
    that is estimated as negative is NaN.

    Raises
    ------
    ValueError : the record is too short or zero, or no mode is stable.
    """
    samples = sensor_record(record, "modal identification: record")
    samples = samples - samples.mean(axis=0)
    n, s = samples.shape
    i = _rows(rows, s, max_order)
    if n < 4 * i:
        raise ValueError(f"modal identification: {n} samples, {4 * i} are needed for {i} rows: give fewer rows")
    if not 0.0 < rate < np.inf:
        raise ValueError(f"modal identification: rate {rate} Hz, must be positive")
    if not np.abs(samples).max() > 0.0:
        raise ValueError("modal identification: the record is constant: its sensors see nothing")
    usable = n - 2 * i
    covariances = np.stack([samples[lag : usable + lag].T @ samples[:usable] for lag in range(2 * i + 1)])
    places = np.arange(i)[:, None] + np.arange(i)[::-1]
    first, shifted = (covariances[places + shift].transpose(0, 2, 1, 3).reshape(i * s, i * s) for shift in (1, 2))
    found = [_median_pole(each) for each in _stable_poles(first, shifted, s, rate, max_order)]
    if not found:
        raise ValueError("modal identification: no mode is stable: raise max_order or the number of rows")
    frequencies, damping, shapes = (
        np.concatenate([getattr(each, name) for each in found]) for name in ("frequencies", "damping", "shapes")
    )
    # of unit length, the largest number positive: the largest real part of all phases
    turned = shapes * np.exp(-0.5j * np.angle(np.sum(shapes**2, axis=1, keepdims=True)))
    real = turned.real / np.linalg.norm(turned.real, axis=1, keepdims=True)
    largest = np.argmax(np.abs(real), axis=1)
    real = real * np.sign(real[np.arange(len(real)), largest])[:, None]
    return Modes(frequencies, np.where(damping > -_ROUNDING, damping, np.nan), real)


def _rows(rows: int | None, sensors: int, max_order: int) -> int:
    least = -(-max_order // sensors)
    if rows is None:
        return max(_ROWS, least)
    if rows < least:
        raise ValueError(f"modal identification: {rows} rows: order {max_order} at {sensors} sensors needs {least}")
    return rows
