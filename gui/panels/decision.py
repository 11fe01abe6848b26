"""What was decided of a model, as it stood at an instant."""

from __future__ import annotations

from gui.model.history.history import History
from gui.wording.level import Level
from monitor.messages.blocks import EventKind

_COLUMN = "reliability_decision"
_WORDS = {
    "accept": ("●", Level.GOOD),
    "watch": ("▲", Level.WARN),
    "reject": ("■", Level.BAD),
}
_UNKNOWN = "◆", Level.NONE


def decided(history: History, site: str, x: float) -> tuple[str, Level]:
    """Return the newest decision by `x` in the same run, a shape and words, and how grave it is."""
    results = history.results
    if results is None or not site:
        return "", Level.NONE
    since = history.timeline.run_of(x)
    for mark in reversed(history.events):
        if mark.event.kind is not EventKind.DECISION or not since <= mark.x <= x:
            continue
        owner, _, rest = mark.event.detail.partition(": ")
        word, _, reason = rest.partition(": ")
        if owner == site:
            shape, level = _WORDS.get(word, _UNKNOWN)
            return f"{shape} {word}" + (f": {reason}" if reason else ""), level
    if results.column(site, _COLUMN) is None:
        return "no decision of this site alone: one falls for all sites together", Level.NONE
    return "○ no decision (yet): one falls where the service has limits, after its first instants", Level.NONE
