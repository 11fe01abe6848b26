"""JSON of what a command found: dataclasses and arrays as builtins, NaN as null, units in the keys."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import msgspec

_UNITS = {
    "delay": ("delay_ms", 1e3),
    "delay_sd": ("delay_sd_ms", 1e3),
    "delay_range": ("delay_range_ms", 1e3),
    "phase": ("phase_rad", 1.0),
    "frequency": ("frequency_hz", 1.0),
    "j1": ("j1_ms", 1.0),
    "j2": ("j2_percent", 1.0),
    "j3": ("j3_percent", 1.0),
}
"""Keys of fields that have a unit, and the factor from SI to it."""


def json_values(found: object) -> Any:
    """Return dictionaries, lists and scalars as JSON has them: of dataclasses, structs, enumerations and arrays.

    NaN and infinities, which JSON does not know, become null.
    """
    # through JSON itself, because msgspec.to_builtins leaves NaN as it is
    return msgspec.json.decode(msgspec.json.encode(found, enc_hook=_array_values))


def _array_values(value: Any) -> Any:
    # numpy's arrays and scalars are all that is not known to msgspec
    return value.tolist()


def with_units(found: Any, units: Mapping[str, tuple[str, float]] = _UNITS) -> dict[str, Any]:
    """Return the fields of a dataclass or a named tuple by their keys in JSON, in the units that these name.

    Parameters
    ----------
    found : numbers, pairs of numbers or None in SI; other fields stay as they are.
    units : by the name of the field its key, and the factor from SI.
    """
    names = found._fields if hasattr(found, "_fields") else [field.name for field in fields(found)]
    values = {}
    for name in names:
        value = getattr(found, name)
        key, factor = units.get(name, (name, 1.0))
        values[key] = value if factor == 1.0 or value is None else _scaled(value, factor)
    return values


def _scaled(value: Any, factor: float) -> Any:
    return [factor * each for each in value] if isinstance(value, tuple) else factor * value


def print_json(found: object) -> None:
    """Print one JSON object."""
    print(json.dumps(json_values(found), indent=2), flush=True)


def print_records(found: Sequence[Mapping[str, Any]]) -> None:
    """Print what was found of one record, or of several as a list, as one JSON object."""
    print_json(found[0] if len(found) == 1 else {"records": found})
