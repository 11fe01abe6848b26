"""Which results stand in which row of the indicators over time."""

from __future__ import annotations

import math
from dataclasses import dataclass

from monitor.messages.headline import HEADLINE, LABELS

_DEGREES = 180.0 / math.pi


@dataclass(frozen=True, slots=True)
class Measure:
    """One curve of a quantity: the result it shows, by name; its standard deviation is `name` with ``_sd``.

    `colour` is the number of a series: an indicator has the same one in every row. What is `beside` the headline is
    drawn below it.
    """

    name: str
    label: str
    colour: int = 0
    beside: bool = False


@dataclass(frozen=True, slots=True)
class Quantity:
    """What one row shows.

    Parameters
    ----------
    key, title : of the row.
    note : where its sign turns, or the like.
    measures : over each other for one actuator; of several actuators the first that is computed is shown.
    factor, unit : of the values shown; no unit: the results' own.
    least_span : in `unit`; changes that are smaller are none.
    usual : shown unless others are chosen.
    """

    key: str
    title: str
    measures: tuple[Measure, ...]
    factor: float = 1.0
    unit: str = ""
    least_span: float = 0.0
    usual: bool = True
    note: str = ""


_TRACKING = (HEADLINE, "fdb", "paei")
"""Whose values are drawn over each other, the headline first."""
_COLOURS = {LABELS[prefix]: number for number, prefix in enumerate(_TRACKING)}


def _tracking(name: str, prefixes: tuple[str, ...] = _TRACKING) -> tuple[Measure, ...]:
    return tuple(
        Measure(f"{prefix}_{name}", LABELS[prefix], _TRACKING.index(prefix), prefixes[0] == HEADLINE != prefix)
        for prefix in prefixes
    )


def _one(name: str, label: str) -> tuple[Measure, ...]:
    return (Measure(name, label, _COLOURS.get(label, 0)),)


QUANTITIES = (
    Quantity("delay", "delay", _tracking("delay"), 1e3, "ms", 1.0, note="> 0 lags"),
    Quantity("ratio", "ratio", _tracking("ratio"), least_span=0.02, note="command/measured"),
    Quantity("phase", "phase", _tracking("phase", _TRACKING[1:]), _DEGREES, "°", 1.0, note="> 0 leads"),
    Quantity("ti", "tracking indicator", _one("ti", "TI")),
    Quantity("hsem", "energy error", _one("hsem_energy", "HSEM")),
    Quantity("nrmse", "NRMSE", _one("nrmse", "NRMSE"), 1e2, "%", 1.0),
    Quantity(
        "added_damping",
        "added damping",
        (*_one("fdb_added_damping", "FDB"), *_one("hsem_added_damping", "HSEM")),
        1e2,
        "%",
        0.2,
        note="< 0 feeds energy in",
    ),
    Quantity("peak_error", "peak error", _one("peak_error", "peak error")),
    Quantity("adaptive_delay", "delay, adaptive window", _one("paei_adaptive_delay", "PAEI"), 1e3, "ms", 1.0, False),
    Quantity("xcorr_delay", "delay by correlation", _one("xcorr_delay", "xcorr"), 1e3, "ms", 1.0, False),
    Quantity("amplitude_error", "amplitude error", _one("paei_amplitude_error", "PAEI"), usual=False),
    Quantity("frequency", "dominant frequency", _one("fdb_frequency", "FDB"), least_span=0.1, usual=False),
    Quantity("amplitude", "command amplitude", _one("fdb_amplitude", "FDB"), usual=False),
    Quantity("coherence", "coherence", _one("broadband_coherence", "broadband"), least_span=0.1, usual=False),
    Quantity("ti_angle", "angle by TI", _one("ti_angle", "TI"), _DEGREES, "°", 1.0, False),
    Quantity("ti_normalized", "tracking indicator, normalised", _one("ti_normalized", "TI"), 1.0, "", 0.01, False),
    Quantity("hsem_total", "energy error since the start", _one("hsem_energy_total", "HSEM"), usual=False),
    Quantity("hsem_index", "energy error, of the work", _one("hsem", "HSEM"), usual=False),
    Quantity(
        "peak_error_relative",
        "peak error, relative",
        _one("peak_error_relative", "peak error"),
        1e2,
        "%",
        1.0,
        False,
    ),
)
"""All rows there can be, in their order; those without a result are left out."""
