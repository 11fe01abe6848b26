"""How far one of several long things is."""

from __future__ import annotations

from replay.ensembles.simulated import Progress


class Count:
    """How much of one thing is done; it is told of from the beginning on.

    Parameters
    ----------
    progress : who is told.
    what : the thing.
    total : how much there is of it.
    """

    def __init__(self, progress: Progress, what: str, total: int) -> None:
        self._progress, self._what, self._total, self._done = progress, what, total, 0
        self.add(0)

    def add(self, number: int) -> None:
        """Tell that so many more are done."""
        self._done += number
        self._progress(self._what, self._done, self._total)
