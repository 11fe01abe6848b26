"""Modes of vibration: frequencies, damping ratios and shapes at sensors, and those of a structure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi

import numpy as np
from numpy.typing import NDArray

from sim.arrays import Integers, Samples
from sim.laboratory.structure import Structure, eigenmodes, sensor_indices

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
