"""Which samples are good: those that are finite and not absurdly large."""

from __future__ import annotations

from monitor.kernel import part

LARGEST_SAMPLE = 1e50
"""Beyond it a sample is a broken sensor's, and its fourth power would leave the range of a double."""


@part
def is_good(c: float, m: float) -> bool:
    """Whether command and measured are numbers that may be computed with."""
    return abs(c) < LARGEST_SAMPLE and abs(m) < LARGEST_SAMPLE
