"""Units: their symbols, what one of them is in SI, and factors between two of a kind."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from replay.formats.base import RecordingError
from replay.formats.columns import SECONDS, is_unit

STANDARD_GRAVITY = 9.80665
_LONGEST = 120  # characters of an unknown unit
_LENGTHS = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "µm": 1e-6, "um": 1e-6, "in": 0.0254, "ft": 0.3048}
# SI of one unit of each quantity, in the spelling of `_plain`
_SI = {
    "displacement": _LENGTHS,
    "velocity": {f"{name}/s": value for name, value in _LENGTHS.items()},
    "acceleration": {**{f"{name}/s2": value for name, value in _LENGTHS.items()}, "g": STANDARD_GRAVITY, "gal": 0.01},
    "force": {"N": 1.0, "mN": 1e-3, "kN": 1e3, "MN": 1e6, "lbf": 4.4482216152605, "kip": 4448.2216152605},
}


def units_of(quantity: str) -> str:
    """Return the units that `si_factor` knows of a quantity, for messages."""
    return ", ".join(_SI[quantity])


def si_factor(unit: str, quantity: str) -> float:
    """Return the SI value of one unit. Other case is accepted where it is unambiguous.

    Parameters
    ----------
    unit : such as ``mm``, ``cm/s^2``, ``cm/sec/sec`` or ``G``.
    quantity : displacement, velocity, acceleration or force.

    Raises
    ------
    RecordingError : it is not a unit of that quantity.
    """
    known, plain = _SI[quantity], _plain(unit)
    # mN and MN differ by case alone
    alike = [plain] if plain in known else [name for name in known if name.lower() == plain.lower()]
    if len(alike) != 1:
        raise RecordingError(f"{unit!r} is not a unit of {quantity}: give one of {units_of(quantity)}")
    return known[alike[0]]


def _plain(unit: str) -> str:
    """Return a unit without ^, brackets and spaces, seconds as s."""
    plain = re.sub(r"[\s^*()]", "", unit).replace("²", "2").replace("μ", "µ")
    return re.sub(r"/s/s$", "/s2", re.sub(r"sec", "s", plain, flags=re.IGNORECASE), flags=re.IGNORECASE)


def unit_symbol(text: object) -> str:
    """Return the symbol of a unit that a file gives, ``mm`` for ``millimeters``; an unknown one as it is written.

    So is every unusual one without pint, since formats of the base give units too.
    """
    unit = " ".join(str(text).split())[:_LONGEST].strip("[]() ")
    if is_unit(unit) or unit.lower() in SECONDS:
        return "" if unit in ("-", "1") else unit
    registry = _registry()
    if registry is None:
        return unit
    for text_form in (unit, unit.lower()):
        try:
            found = registry.parse_units(text_form)
        # what is no unit raises anything, of pint, of tokenize or of Python's arithmetic
        except Exception:  # noqa: BLE001, S112
            continue
        return f"{found:~C}".replace("**", "^") or unit
    return unit


def unit_factor(given: str, wanted: str) -> float | None:
    """Return what a value in one unit is multiplied by to be in another; None where they are not of one kind.

    None too of units that only pint knows, where it is not installed: then the values stay in their units, and
    `assess` warns of it.
    """
    for known in _SI.values():
        if _plain(given) in known and _plain(wanted) in known:
            # decimal numbers are divided without rounding
            one, other = (Fraction(str(known[_plain(unit)])) for unit in (given, wanted))
            return float(one / other)
    registry = _registry()
    if registry is None:
        return None
    try:
        # s2 means s^2 in headings
        source, target = (re.sub(r"(?<=[a-zA-Z])(\d)", r"^\1", unit) for unit in (given, wanted))
        found = [float(registry.convert(value, source, target)) for value in (0.0, 1.0, 2.0)]
    # what is no unit raises anything, of pint, of tokenize or of Python's arithmetic
    except Exception:  # noqa: BLE001
        return None
    # temperatures have an offset
    return found[1] if found[0] == 0.0 and np.isclose(found[2], 2.0 * found[1]) else None


@cache
def _registry() -> Any:
    """Return the units that pint knows; None without pint."""
    try:
        return import_module("pint").UnitRegistry(cache_folder=None)
    except ModuleNotFoundError:
        return None
