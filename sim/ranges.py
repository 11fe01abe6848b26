"""Ranges of settings: a ValueError of one line names the one that is out of its range."""

from __future__ import annotations

from math import isfinite


def require(right: bool, name: str, value: float, wanted: str) -> None:
    """Raise `ValueError` where a value is not right."""
    if not right:
        raise ValueError(f"{name} {value}: must be {wanted}")


def check_positive(what: str, **settings: float) -> None:
    """Raise `ValueError` unless each of the settings of `what` is positive and finite."""
    for name, value in settings.items():
        require(isfinite(value) and value > 0.0, f"{what} {name}", value, "a positive number")


def check_not_negative(what: str, **settings: float) -> None:
    """Raise `ValueError` unless each of the settings of `what` is zero or more, and finite."""
    for name, value in settings.items():
        require(isfinite(value) and value >= 0.0, f"{what} {name}", value, "zero or more")
