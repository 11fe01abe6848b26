"""Which alarm was meant by a name that none has."""

from __future__ import annotations

from collections.abc import Sequence

_NEAR = 0.6  # of the longer name


def nearest(name: str, names: Sequence[str]) -> str:
    """Return the one of `names` that is most like `name`, from its beginning and its end; empty if none is."""
    near = max(names, key=lambda other: _alike(name, other))
    return near if _alike(name, near) >= _NEAR * max(len(name), len(near)) else ""


def _alike(one: str, other: str) -> int:
    before = _common(one, other)
    return before + _common(one[before:][::-1], other[before:][::-1])


def _common(one: str, other: str) -> int:
    """Return how many letters are the same from the beginning."""
    shorter = min(len(one), len(other))
    return next((i for i in range(shorter) if one[i] != other[i]), shorter)
