"""Modes of vibration: frequencies, damping ratios, shapes at sensors; those of a structure, and two sets compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from sim.arrays import Integers, Samples
from sim.laboratory.structure import Structure, eigenmodes, sensor_indices

Shapes = NDArray[np.float64] | NDArray[np.complex128]

# of the largest eigenvalue of K to M: below, a mode is a rigid body's
RIGID = 1e-12
# of the largest component: a shape below it at all sensors is not seen
_UNSEEN = 1e-8
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


def check_seen(modes: Modes, full: Samples, sensors: Sequence[int] | Integers, what: str) -> None:
    """Raise ValueError where a mode has no motion at the sensors.

    Parameters
    ----------
    modes : shapes at the sensors.
    full : (k, n), shapes at all degrees of freedom.
    sensors : by number, named in the error.
    what : named in the error.
    """
    seen = np.abs(modes.shapes).max(axis=1) > _UNSEEN * np.abs(full).max(axis=1)
    if not seen.all():
        lost = int(np.argmin(seen))
        raise ValueError(
            f"{what}: sensors {', '.join(str(int(each)) for each in sensors)} see nothing of the mode at "
            f"{modes.frequencies[lost]:.4g} Hz, of which they are nodes: move a sensor, or leave the mode out"
        )


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
