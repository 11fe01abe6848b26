"""Headline values: the delay and ratio displayed first, and the indicators that contradict them.

The broadband delay and ratio are those of all frequencies. FDB and PAEI are of one or few frequencies, and agree with
them on any motion if delay and gain are the same at all frequencies and amplitudes; otherwise they contradict
(docs/decisions/0014). All displays of a single value of an actuator use the names defined here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

HEADLINE = "broadband"
"""Prefix of the headline values: ``broadband_delay``, ``broadband_ratio``, each with its ``_sd``."""
FALLBACKS = ("paei", "fdb", "paei_adaptive", "xcorr")
"""Prefixes used instead where a service does not compute it, in order of preference."""
QUANTITIES = ("delay", "ratio")
"""Headline values that can have an alarm under this name, which is that of whichever indicator speaks."""
COMPARED_QUANTITIES = {"fdb": ("delay",), "paei": QUANTITIES, "paei_adaptive": QUANTITIES}
"""What of each can contradict: FDB's ratio is that at one instant, the headline's that to the delayed command."""
LABELS = {
    "broadband": "broadband",
    "fdb": "FDB",
    "paei": "PAEI",
    "paei_adaptive": "adaptive PAEI",
    "xcorr": "correlation",
}
# s of delay, and share of a ratio: smaller differences are irrelevant, even where bands without noise have no width
TOLERANCE = {"delay": 2e-4, "ratio": 5e-3}
RIGHT = {"delay": 1e-3, "ratio": 0.02}
"""s of delay, and deviation of a ratio from 1, below which a value is right."""
_Number = TypeVar("_Number", float, NDArray[np.float64])
# half width of a band in standard deviations
_BAND = 2.0
_NARROW = 0.1  # of what is right


@dataclass(frozen=True, slots=True)
class HeadlineValues:
    """Headline values of an actuator.

    Parameters
    ----------
    indicator : prefix of the results.
    delay, delay_sd : s, > 0 where the measured signal lags; NaN where not valid or not computed.
    ratio, ratio_sd : command over measured.
    contradicting : prefixes of the indicators that contradict; see `contradicting`.
    """

    indicator: str
    delay: float = math.nan
    delay_sd: float = math.nan
    ratio: float = math.nan
    ratio_sd: float = math.nan
    contradicting: tuple[str, ...] = ()


def label_of(column: str) -> str:
    """Return the name of the indicator of a headline column, such as ``paei_delay``; of an unknown one its prefix."""
    prefix = column.rpartition("_")[0]
    return LABELS.get(prefix, prefix)


def first_indicator(computed: Callable[[str], bool], paused: Collection[str] = ()) -> str:
    """Return the prefix of the headline delay; `HEADLINE` where a service computes no delay.

    Parameters
    ----------
    computed : whether there is a result of this name.
    paused : what the service has shed: another indicator speaks for a headline that is, unless all are.
    """
    found = [prefix for prefix in (HEADLINE, *FALLBACKS) if computed(f"{prefix}_delay")]
    return next((prefix for prefix in found if prefix not in paused), found[0] if found else HEADLINE)


def read_headline(indicator: str, read: Callable[[str], float]) -> HeadlineValues:
    """Return the values of `indicator` and the indicators that contradict; `read` as in `contradicting`."""
    delay, delay_sd, ratio, ratio_sd = (
        read(f"{indicator}_{name}") for name in ("delay", "delay_sd", "ratio", "ratio_sd")
    )
    others = contradicting(read) if indicator == HEADLINE else ()
    return HeadlineValues(indicator, delay, delay_sd, ratio, ratio_sd, others)


def is_right(quantity: str, value: float, sd: float) -> bool | None:
    """Return whether a delay [s] or a ratio is right, as far as its band tells; None: not determined.

    Right if all of the band is within `RIGHT` of no delay or of one, wrong if none of it is; where the band is narrow
    the value alone decides.

    Parameters
    ----------
    quantity : one of `QUANTITIES`.
    value, sd : in SI, with the standard deviation; where that is NaN, the value alone decides.
    """
    error, band = abs(value - (quantity == "ratio")), _BAND * (sd if math.isfinite(sd) else 0.0)
    limit = RIGHT[quantity]
    return error <= limit if abs(error - limit) >= band or band < _NARROW * limit else None


def contradicts(
    quantity: str, value: ArrayLike, sd: ArrayLike, other: ArrayLike, other_sd: ArrayLike
) -> NDArray[np.bool_]:
    """Return where two values of `quantity` differ by more than their bands, any shape; a NaN contradicts nothing.

    Irrelevant differences do not count, however narrow the bands.

    Parameters
    ----------
    quantity : one of `QUANTITIES`.
    value, sd, other, other_sd : numbers, or arrays of one shape, in SI: two values and their standard deviations. A
        band is two of them to either side.
    """
    a, b, sd_a, sd_b = (np.asarray(x, dtype=np.float64) for x in (value, other, sd, other_sd))
    with np.errstate(invalid="ignore"):
        return np.asarray(np.abs(a - b) > _margin(quantity, a, sd_a, sd_b))


def contradicting(read: Callable[[str], float]) -> tuple[str, ...]:
    """Return the prefixes of the indicators with a `COMPARED_QUANTITIES` that contradicts the headline's.

    Parameters
    ----------
    read : returns a result by its name, such as ``fdb_delay_sd``; NaN where there is none.
    """
    return tuple(
        prefix for prefix, names in COMPARED_QUANTITIES.items() if any(_differs(read, prefix, name) for name in names)
    )


def _differs(read: Callable[[str], float], prefix: str, quantity: str) -> bool:
    a, sd_a, b, sd_b = (read(f"{one}_{quantity}{end}") for one in (HEADLINE, prefix) for end in ("", "_sd"))
    # as `contradicts`, for plain numbers, because it runs for many actuators several times a second
    return abs(a - b) > _margin(quantity, a, sd_a, sd_b)


def _margin(quantity: str, value: _Number, sd: _Number, other_sd: _Number) -> _Number:
    """Return the largest difference of another value that does not contradict."""
    matters = TOLERANCE[quantity]
    return _BAND * (sd + other_sd) + (matters * abs(value) if quantity == "ratio" else matters)
