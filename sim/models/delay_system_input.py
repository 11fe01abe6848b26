"""What is given to a delay system, looked through: every complaint is one line."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite, nan
from numbers import Real

import numpy as np

from sim.arrays import Samples

Signal = Callable[[Samples], Samples]
# a letter is any number
Shape = tuple[int | str, ...]


def array(name: str, value: object, shape: Shape) -> Samples:
    """Return the value as an array of finite numbers.

    Raises
    ------
    ValueError : it is not of the shape, or an entry is not a finite number.
    """
    found = _of_shape(f"{name}: must be", value, shape)
    lost = np.argwhere(~np.isfinite(found))
    if len(lost):
        place = ", ".join(map(str, lost[0].tolist()))
        raise ValueError(f"delay system {name}[{place}] {found[tuple(lost[0])]}: must be a finite number")
    return found


def signal(name: str, function: Signal, time: Samples, width: int) -> Samples:
    """Return what a signal is at the times, (n_times, width).

    Raises
    ------
    ValueError : it returns another shape, or an entry that is not a finite number.
    """
    found = _of_shape(f"{name}: at {len(time)} times must return an array", function(time), (len(time), width))
    lost = np.argwhere(~np.isfinite(found))
    if len(lost):
        row, column = lost[0].tolist()
        raise ValueError(f"delay system {name} {found[row, column]} at {time[row]:g} s: must return finite numbers")
    return found


def function(name: str, value: object) -> None:
    """Raise a ValueError unless the value is a function or None."""
    if not (value is None or callable(value)):
        raise ValueError(f"delay system {name}: must be a function of the times [s], not {type(value).__name__}")


def positive(name: str, value: object, *, endless: bool = False) -> float:
    """Return the value, a positive number, which may be infinite only if `endless`.

    Raises
    ------
    ValueError : it is something else.
    """
    seconds = float(value) if isinstance(value, Real) else nan
    if not seconds > 0.0 or not (endless or isfinite(seconds)):
        raise ValueError(f"delay system {name} {value}: must be a positive number, in s")
    return seconds


def _of_shape(complaint: str, value: object, shape: Shape) -> Samples:
    wanted = f"{complaint} of shape ({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
    try:
        found = np.asarray(value)
    except ValueError:
        raise ValueError(f"delay system {wanted}, its rows differ in length") from None
    if found.dtype.kind not in "fiu" and found.size:
        raise ValueError(f"delay system {wanted}, of real numbers, not of {found.dtype}")
    fits = (isinstance(want, str) or want == size for want, size in zip(shape, found.shape, strict=False))
    if found.ndim != len(shape) or not all(fits):
        raise ValueError(f"delay system {wanted}, not {found.shape}")
    return np.asarray(found, dtype=np.float64)
