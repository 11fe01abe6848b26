"""Modes of vibration: frequencies, damping ratios and shapes at sensors, and those of a structure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sim.arrays import Integers, Samples
from sim.laboratory.structure import Structure

Shapes = NDArray[np.float64] | NDArray[np.complex128]

# of the largest eigenvalue of K to M: below, a mode is a rigid body's
RIGID = 1e-12
# of the largest component: a shape below it at all sensors is not seen
_UNSEEN = 1e-8


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


def eigenmodes(mass: ArrayLike, stiffness: ArrayLike) -> tuple[Samples, Samples]:
    """Return (..., n) squared circular frequencies, rising, and (..., n, n) shapes in columns, of unit modal mass.

    Raises
    ------
    ValueError : K is not symmetric, or the mass matrix not positive.
    """
    m, k = np.asarray(mass, dtype=np.float64), np.asarray(stiffness, dtype=np.float64)
    for name, matrix in (("mass", m), ("stiffness", k)):
        if not np.allclose(matrix, np.swapaxes(matrix, -1, -2), rtol=1e-9, atol=1e-9 * float(np.abs(matrix).max())):
            raise ValueError(f"modes: the {name} matrix is not symmetric")
    try:
        root = np.linalg.cholesky(m)
    except np.linalg.LinAlgError:
        raise ValueError(
            "modes: the mass matrix is singular or negative, give every mass a positive number"
        ) from None
    half = np.linalg.solve(*np.broadcast_arrays(root, k))
    scaled = np.linalg.solve(*np.broadcast_arrays(root, np.swapaxes(half, -1, -2)))
    squares, vectors = np.linalg.eigh(0.5 * (scaled + np.swapaxes(scaled, -1, -2)))
    shapes = np.linalg.solve(*np.broadcast_arrays(np.swapaxes(root, -1, -2), vectors))
    return squares, shapes


def sensor_indices(sensors: Sequence[int] | None, dofs: int) -> Integers:
    """Return indices, from 0, of sensors by number, from 1; None: all.

    Raises
    ------
    ValueError : there is none, one twice, or one that is not a degree of freedom.
    """
    numbers = np.arange(1, dofs + 1) if sensors is None else np.asarray(sensors)
    if numbers.ndim != 1 or not numbers.size or not np.issubdtype(numbers.dtype, np.integer):
        raise ValueError(f"sensors {sensors}: give degrees of freedom by number, from 1")
    if len(set(numbers.tolist())) < numbers.size or numbers.min() < 1 or numbers.max() > dofs:
        raise ValueError(f"sensors {numbers.tolist()}: give degrees of freedom 1 to {dofs}, each once")
    return np.asarray(numbers - 1, dtype=np.int64)


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
