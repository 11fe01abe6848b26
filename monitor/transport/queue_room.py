"""How many messages may wait for one that does not take them, so that they stay within so many bytes."""

from __future__ import annotations

_FIRST = 100  # before anything is known of their size
_LOOK = 50  # messages between two looks: before the first number is reached by those that are small


class QueueRoom:
    """ZeroMQ counts messages; this says how many, from the size of those that were sent of late.

    The number begins small and only grows: the other end of a pipe tells in steps of half the number what it has
    taken, and one that is lowered under what is untold would stop it for ever.

    Parameters
    ----------
    most : messages at most.
    most_bytes : that they may have together, where they do not become larger later.
    """

    def __init__(self, most: int, most_bytes: int) -> None:
        self.messages = min(_FIRST, most)
        self._most, self._room = most, most_bytes
        self._count = self._bytes = 0

    def take(self, size: int) -> bool:
        """Note a message of `size` bytes; True where `messages` has grown."""
        self._count += 1
        self._bytes += size
        if self._count < _LOOK:
            return False
        fit = min(self._room * self._count // max(self._bytes, 1), self._most)
        self._count = self._bytes = 0
        if fit <= self.messages:
            return False
        self.messages = fit
        return True
