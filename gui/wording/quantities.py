"""Long times and large amounts as a person says them."""

from __future__ import annotations

_UNITS = ("B", "kB", "MB", "GB", "TB")


def duration_text(seconds: float) -> str:
    """Return ``45 s``, ``12 min``, ``3 h 20 min`` or ``5 days``; never more than there is."""
    whole = int(max(0.0, seconds))
    if whole < 60:
        return f"{whole} s"
    minutes = whole // 60
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{hours // 24:,} days"


def bytes_text(amount: int) -> str:
    """Return ``1.2 GB``: two or three figures, in powers of 1000."""
    value = float(max(0, amount))
    for unit in _UNITS:
        # 999.5 would be written as 1000
        if value < 999.5 or unit == _UNITS[-1]:
            return f"{value:.1f} {unit}" if value < 9.95 and unit != "B" else f"{value:,.0f} {unit}"
        value /= 1000.0
    raise AssertionError
