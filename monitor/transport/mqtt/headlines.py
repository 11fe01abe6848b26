"""What is read first of each actuator, as the messages tell it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monitor.messages.blocks import ResultStream, Samples
from monitor.messages.headline import first_indicator, read_headline


class Headlines:
    """Make the objects that stand before the values of a row; an actuator without a delay has none."""

    def __init__(self, stream: ResultStream) -> None:
        places: dict[str, dict[str, int]] = {}
        for place, column in enumerate(stream.columns):
            places.setdefault(column.actuator, {})[column.name] = place
        found = ((name, first_indicator(own.__contains__), own) for name, own in places.items())
        self._columns = {name: (first, own) for name, first, own in found if f"{first}_delay" in own}
        self.names = tuple(self._columns)
        self.delays: NDArray[np.intp] = np.array(
            [own[f"{one}_delay"] for one, own in self._columns.values()], np.intp
        )
        """(n_actuators,) columns of their delays."""

    def of(self, actuator: str, row: Samples, window: float) -> dict[str, Any]:
        """Return what a row of results, (n_columns,), says of one of `names`; `window` [s] is the indicators'."""
        first, own = self._columns[actuator]
        found = read_headline(first, lambda name: float(row[own[name]]) if name in own else math.nan)
        return {
            "delay": _told(found.delay),
            "delay_sd": _told(found.delay_sd),
            "ratio": _told(found.ratio),
            "ratio_sd": _told(found.ratio_sd),
            "indicator": found.indicator,
            "window": window,
            "contradicting": found.contradicting,
        }


def _told(value: float) -> float | None:
    return value if math.isfinite(value) else None
