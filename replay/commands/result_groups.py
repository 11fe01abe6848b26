"""Which indicator a result belongs to, and in which order the indicators are shown."""

from __future__ import annotations

from collections.abc import Iterable

from monitor.messages.blocks import Column
from monitor.messages.headline import BESIDE, HEADLINE

_ORDER = (HEADLINE, *BESIDE, "xcorr", "hsem")
# paei_adaptive_delay begins with paei too
_LONGEST_FIRST = sorted(_ORDER, key=len, reverse=True)


def group_of(name: str) -> str:
    """Return the indicator that a result is of, by its name: the headline's, one beside it, xcorr, hsem; or empty."""
    return next((group for group in _LONGEST_FIRST if f"{name}_".startswith(f"{group}_")), "")


def headline_first(columns: Iterable[Column]) -> list[Column]:
    """Return the columns with the headline's first, then those of the indicators beside it, then the rest."""
    order = {group: i for i, group in enumerate((*_ORDER[:-1], "", "hsem"))}
    return sorted(columns, key=lambda column: order[group_of(column.name)])
