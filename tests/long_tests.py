"""Tests that take more than a second: `make test` leaves those that long.txt names to `make test-all` and to CI.

`make test-all ARGS=--write-long` writes it, on a quiet machine.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

LIST = Path(__file__).with_name("long.txt")
_LONG = 1.0  # s of a test with setup and teardown


def name_of(item: str) -> str:
    """Return the function of a test, whose cases are long or short together."""
    return item.partition("[")[0]


def mark_long(items: list[pytest.Item]) -> None:
    """Mark the tests that are named."""
    names = set(LIST.read_text("utf-8").split())
    for item in items:
        if name_of(item.nodeid) in names:
            item.add_marker(pytest.mark.long)


class Durations:
    """Plugin that writes the list from the tests that were run."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] += report.duration

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        # workers of xdist tell the process that has started them
        if not hasattr(session.config, "workerinput"):
            names = sorted({name_of(item) for item, seconds in self._seconds.items() if seconds > _LONG})
            LIST.write_text("".join(f"{name}\n" for name in names), "utf-8")
