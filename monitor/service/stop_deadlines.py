"""What a service that is told to stop still does with samples that have arrived."""

from __future__ import annotations

import math
from collections.abc import Callable

_RESULTS, _SAMPLES = 0.5, 3.0  # s
_ON_THE_WAY = 0.15  # s


class StopDeadlines:
    """For half a second results are computed as ever; then samples are only passed on; after three seconds no longer.

    What had been sent may still be on its way through the kernel and libzmq, on a busy machine for a tenth of a
    second: so long it is waited for.

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

    def on_the_way(self, now: float) -> float:
        """Return for how many s more may be on its way; asked at `now`, s."""
        return max(0.0, self._since + _ON_THE_WAY - now)

    def over(self, now: float) -> bool:
        """Tell whether there is no time left at all."""
        return now >= self._since + _SAMPLES
