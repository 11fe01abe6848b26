"""What the JSON of several commands has in common."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from monitor.indicators.benchmark_criteria import BenchmarkCriteria


def json_values(found: object) -> Any:
    """Return dictionaries, lists and scalars as JSON has them: of dataclasses, structs, enumerations and arrays.

    NaN and infinities, which JSON does not know, become null.
    """
    return msgspec.json.decode(msgspec.json.encode(found, enc_hook=_array_values))


def _array_values(value: Any) -> Any:
    # numpy's arrays and scalars are all that is not known to msgspec
    return value.tolist()


def number(value: float) -> float | None:
    """Return the value as JSON has it, which knows neither NaN nor infinity."""
    return float(value) if math.isfinite(value) else None


def numbers(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same with every number as JSON has it."""
    return {name: number(value) if isinstance(value, float) else value for name, value in values.items()}


def criteria_json(criteria: BenchmarkCriteria) -> dict[str, float | None]:
    """Return J1 to J3 with their units."""
    return {
        "j1_ms": number(criteria.j1),
        "j2_percent": number(criteria.j2),
        "j3_percent": number(criteria.j3),
    }


def print_records(found: Sequence[Mapping[str, Any]]) -> None:
    """Print what was found of one record, or of several as a list, as one JSON object."""
    print(json.dumps(json_values(found[0] if len(found) == 1 else {"records": found}), indent=2))
