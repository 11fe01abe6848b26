"""Waiting for what other threads and processes do."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic, sleep


def until(condition: Callable[[], object], meanwhile: Callable[[], object] = lambda: None) -> None:
    """Wait until a condition holds."""
    end = monotonic() + 30.0
    while not condition():
        assert monotonic() < end, "waited for 30 s"
        meanwhile()
        sleep(0.002)
