"""What a service that is told to stop still does with samples that have arrived."""

from __future__ import annotations

import math
from collections.abc import Callable

_RESULTS, _SAMPLES = 0.5, 3.0  # s


class StopDeadlines:
    """For half a second results are computed as ever; then samples are only passed on; after three seconds no longer.

    Parameters
    ----------
    stop : says whether to stop.
    """

    def __init__(self, stop: Callable[[], bool]) -> None:
        self._stop = stop
        self._since = math.inf

    def told(self, now: float) -> bool:
        """Tell whether to stop; asked at `now`, s."""
        if self._since == math.inf and self._stop():
            self._since = now
        return self._since < math.inf

    def compute(self, now: float) -> bool:
        """Tell whether there is time for results; asked at `now`, s."""
        return not self.told(now) or now < self._since + _RESULTS

    def over(self, now: float) -> bool:
        """Tell whether there is no time left at all."""
        return now >= self._since + _SAMPLES
