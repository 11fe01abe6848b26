"""The headline: the delay and the ratio to read first, and which other indicators contradict them.

The broadband delay and ratio are those of all frequencies. FDB and PAEI, of one frequency or of few, agree on any
motion where delay and gain are the same at all frequencies and amplitudes; else they contradict
(docs/decisions/0014). Every place that shows one number of an actuator takes its name from here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

HEADLINE = "broadband"
"""Prefix of the results to read first: ``broadband_delay``, ``broadband_ratio``, each with its ``_sd``."""
BESIDE = ("fdb", "paei", "paei_adaptive")
"""Prefixes of the results that are compared with it."""
IN_ITS_PLACE = (*BESIDE, "xcorr")
"""Prefixes of what is read first where a service computes some measures only, the best of them first."""
QUANTITIES = ("delay", "ratio")
LABELS = {
    "broadband": "broadband",
    "fdb": "FDB",
    "paei": "PAEI",
    "paei_adaptive": "adaptive PAEI",
    "xcorr": "correlation",
}
# s of delay, and share of a ratio: smaller differences matter to nobody, though bands without noise have no width
_LEAST = {"delay": 2e-4, "ratio": 5e-3}
_Number = TypeVar("_Number", float, NDArray[np.float64])
# standard deviations of either that a band reaches to each side
_BAND = 2.0


@dataclass(frozen=True, slots=True)
class Headline:
    """What is read first of an actuator.

    Parameters
    ----------
    indicator : prefix of the results that it is taken from.
    delay, delay_sd : s, > 0 where the measured signal lags; NaN where they mean nothing or are not computed.
    ratio, ratio_sd : command over measured.
    contradicting : prefixes of the indicators that say something else; see `contradicting`.
    """

    indicator: str
    delay: float = math.nan
    delay_sd: float = math.nan
    ratio: float = math.nan
    ratio_sd: float = math.nan
    contradicting: tuple[str, ...] = ()


def first_indicator(computed: Callable[[str], bool]) -> str:
    """Return the prefix of the delay to read first; `HEADLINE` where a service computes none.

    Parameters
    ----------
    computed : whether there is a result of this name.
    """
    return next((prefix for prefix in (HEADLINE, *IN_ITS_PLACE) if computed(f"{prefix}_delay")), HEADLINE)


def read_headline(indicator: str, read: Callable[[str], float]) -> Headline:
    """Return what `indicator` says, and what contradicts it; `read` is as of `contradicting`."""
    delay, delay_sd, ratio, ratio_sd = (
        read(f"{indicator}_{name}") for name in ("delay", "delay_sd", "ratio", "ratio_sd")
    )
    others = contradicting(read) if indicator == HEADLINE else ()
    return Headline(indicator, delay, delay_sd, ratio, ratio_sd, others)


def contradicts(
    quantity: str, value: ArrayLike, sd: ArrayLike, other: ArrayLike, other_sd: ArrayLike
) -> NDArray[np.bool_]:
    """Return where two values of `quantity` differ by more than their bands, any shape; a NaN contradicts nothing.

    A difference that matters to nobody is none, however narrow the bands.

    Parameters
    ----------
    quantity : one of `QUANTITIES`.
    value, sd, other, other_sd : numbers, or arrays of one shape, in SI: two values and their standard deviations. The
        band of each reaches two of them to either side.
    """
    a, b, sd_a, sd_b = (np.asarray(x, dtype=np.float64) for x in (value, other, sd, other_sd))
    with np.errstate(invalid="ignore"):
        return np.asarray(np.abs(a - b) > _margin(quantity, a, sd_a, sd_b))


def contradicting(read: Callable[[str], float]) -> tuple[str, ...]:
    """Return the prefixes of the indicators whose delay or ratio contradicts the headline's, now.

    Parameters
    ----------
    read : gives a result by its name, such as ``fdb_delay_sd``; NaN where there is none.
    """
    return tuple(prefix for prefix in BESIDE if any(_differs(read, prefix, quantity) for quantity in QUANTITIES))


def _differs(read: Callable[[str], float], prefix: str, quantity: str) -> bool:
    a, sd_a, b, sd_b = (read(f"{one}_{quantity}{end}") for one in (HEADLINE, prefix) for end in ("", "_sd"))
    # as `contradicts`, of numbers alone: many actuators are asked several times a second
    return abs(a - b) > _margin(quantity, a, sd_a, sd_b)


def _margin(quantity: str, value: _Number, sd: _Number, other_sd: _Number) -> _Number:
    """Return by how much another value may differ."""
    matters = _LEAST[quantity]
    return _BAND * (sd + other_sd) + (matters * abs(value) if quantity == "ratio" else matters)
