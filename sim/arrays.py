"""Array types of the simulations, and ranges of settings: a ValueError of one line names what is out of its range."""

from __future__ import annotations

from math import isfinite

import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Response = NDArray[np.complex128]


def require(right: bool, name: str, value: object, wanted: str) -> None:
    """Raise `ValueError` where a value is not right."""
    if not right:
        raise ValueError(f"{name} {value}: must be {wanted}")


def check_positive(what: str, **settings: float | Samples) -> None:
    """Raise `ValueError` unless each of the settings of `what`, or of its values, is positive and finite."""
    for name, value in settings.items():
        _require_all(np.greater(value, 0.0), f"{what} {name}", value, "a positive number")


def check_not_negative(what: str, **settings: float | Samples) -> None:
    """Raise `ValueError` unless each of the settings of `what`, or of its values, is zero or more, and finite."""
    for name, value in settings.items():
        _require_all(np.greater_equal(value, 0.0), f"{what} {name}", value, "zero or more")


def check_finite(what: str, **settings: float | Samples) -> None:
    """Raise `ValueError` unless each of the settings of `what`, or of its values, is finite."""
    for name, value in settings.items():
        _require_all(np.isfinite(value), f"{what} {name}", value, "a finite number")


def positive(value: float) -> float:
    """Return a frequency or a time step; raises ValueError unless it is a positive number."""
    if not (isfinite(value) and value > 0.0):
        raise ValueError(f"{value} given as a frequency or a time step: must be a positive number")
    return value


def _require_all(right: bool | Flags, name: str, value: float | Samples, wanted: str) -> None:
    right = np.asarray(right & np.isfinite(value))
    if not right.all():
        require(False, name, value if right.ndim == 0 else np.asarray(value)[~right][0], wanted)
