"""Waiting for what other threads and processes do."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic, sleep
from typing import Any


def until(condition: Callable[[], Any], meanwhile: Callable[[], Any] = lambda: None, patience: float = 30.0) -> Any:
    """Wait until a condition holds, and return what it says."""
    end = monotonic() + patience
    while not (found := condition()):
        assert monotonic() < end, f"waited for {patience:g} s"
        meanwhile()
        sleep(0.002)
    return found
