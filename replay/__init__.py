"""Recordings and simulations: read, played as a rig would send them, assessed, and compared with models."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with the name of a task, how much of it is done, and its total."""


def silent(_task: str, _done: int, _total: int) -> None:
    """Report no progress."""
