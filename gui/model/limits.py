"""Limits of what is shown: lines in the plots over time, and words on the tiles, where the service has no alarms."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from gui.model.verdict import FAR_BEHIND, IN_STEP, RIGHT_SIZE


@dataclass(frozen=True, slots=True)
class LimitLine:
    """Where a deviation begins to warn, and where it is too large, up or down.

    Parameters
    ----------
    quantity : delay [ms], phase [deg] or ratio [% off 1].
    warn, trip : positive; infinite for none.

    Raises
    ------
    ValueError : a limit is not positive, or trip comes before warn.
    """

    quantity: str
    warn: float = math.inf
    trip: float = math.inf

    def __post_init__(self) -> None:
        if not self.warn > 0.0:
            raise ValueError(f"{self.quantity}: warn at {self.warn:g}: must be more than 0")
        if not self.trip > 0.0 or (self.warn < math.inf and self.trip < self.warn):
            raise ValueError(f"{self.quantity}: trip at {self.trip:g}: must not come before warn at {self.warn:g}")


Limits = Mapping[str, LimitLine]
"""By quantity."""

DEFAULT: Limits = {
    line.quantity: line
    for line in (
        LimitLine("delay", warn=1e3 * IN_STEP),
        LimitLine("phase", trip=math.degrees(FAR_BEHIND)),
        LimitLine("ratio", warn=1e2 * RIGHT_SIZE),
    )
}
"""What the words of a verdict change at."""
