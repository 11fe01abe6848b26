"""Numbers as text of a fixed width: what means nothing is a dash, never a number."""

from __future__ import annotations

import math

DASH = "—"


def number(value: float, width: int, decimals: int) -> str:
    """Return `value` in at most `width` characters, with fewer decimals where there is no room."""
    if not math.isfinite(value):
        return DASH
    for places in range(decimals, -1, -1):
        # plus zero: nothing is ever "-0.0"
        text = f"{round(value, places) + 0.0:.{places}f}"
        if len(text) <= width:
            return text
    return ("<-" if value < 0.0 else ">") + "9" * (width - 1 - (value < 0.0))


def count(value: int) -> str:
    """Return a count with its thousands set apart."""
    return f"{value:,}"


def shortened(text: str, width: int) -> str:
    """Return `text`, or its end after an ellipsis where it has no room."""
    return text if len(text) <= width else "…" + text[len(text) - max(0, width - 1) :]
