"""Settings that must lie in a range: one line that says which does not."""

from __future__ import annotations

from math import isfinite


def check_positive(what: str, **settings: float) -> None:
    """Raise `ValueError` unless each of the settings of `what` is positive and finite."""
    for name, value in settings.items():
        if not (isfinite(value) and value > 0.0):
            raise ValueError(f"{what} {name} {value}: must be a positive number")


def check_not_negative(what: str, **settings: float) -> None:
    """Raise `ValueError` unless each of the settings of `what` is zero or more, and finite."""
    for name, value in settings.items():
        if not (isfinite(value) and value >= 0.0):
            raise ValueError(f"{what} {name} {value}: must be zero or more")
