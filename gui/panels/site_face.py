"""What the tile of a site says where a model is judged: how reliable it is, and what was decided."""

from __future__ import annotations

import math

from gui.model.history.history import History
from gui.model.verdict import NO_VALUE, Verdict
from gui.panels.tile_face import WIDTH, Reading, TileFace, spread_text
from gui.panels.tile_moment import TileMoment
from gui.wording.level import Level
from gui.wording.numbers import number

_DECISIONS = {
    1.0: Verdict("accept", "●", Level.GOOD),
    0.0: Verdict("watch", "▲", Level.WARN),
    -1.0: Verdict("reject", "■", Level.BAD),
}
_UNDECIDED = Verdict("not decided", "○", Level.NONE)


def site_face(history: History, site: str, at: TileMoment) -> TileFace:
    """Return the tile of a site where a model is judged.

    Now, it shows what was last known of the model, and says so where that is not of now: after the end of its time
    there are no new values, and the old ones stay true.
    """
    results = history.results
    now = at.value(history, site, "reliability_accumulated")
    kept = at.x is None and results is not None and at.instead is None

    def value(name: str) -> float:
        if kept and results is not None:
            return results.last_valid(site, f"reliability_{name}")
        return at.value(history, site, f"reliability_{name}")

    readings = tuple(
        Reading(label, number(value(name), WIDTH, 3), "", spread_text(value(f"{name}_se"), 4))
        for name, label in (("accumulated", "accumulated"), ("first_passage", "first-passage"))
    )
    known = math.isfinite(value("accumulated"))
    remark = at.why or ("last known" if known and math.isnan(now) else "")
    if at.instead is not None:
        decided = at.instead
    elif results is not None and results.column(site, "reliability_decision") is not None:
        decided = _DECISIONS.get(value("decision"), _UNDECIDED)
    else:
        decided = Verdict("no limits", "○", Level.NONE) if known else NO_VALUE
    return TileFace(site, "model", decided, readings, remark, said=at.said)
