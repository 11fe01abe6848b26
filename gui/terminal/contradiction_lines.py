"""Which indicators contradict the headline of which actuator, in a line of a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from rich.text import Text

from gui.model.contradiction import contradiction_mark
from gui.model.history.results import ResultHistory
from monitor.messages.headline import HEADLINE, LABELS, contradicting

_MOST = 3  # actuators by name


def contradiction_lines(results: ResultHistory, width: int) -> Iterator[Text]:
    """Yield one line where there is a contradiction, and none where there is not."""
    found = ((name, contradiction_mark(contradicting(partial(results.value, name)))) for name in results.actuators)
    marks = [f"{name} {mark}" for name, mark in found if mark]
    if not marks:
        return
    more = f" and {len(marks) - _MOST} more" if len(marks) > _MOST else ""
    said = f"{'; '.join(marks[:_MOST])}{more}"
    why = f": believe {LABELS[HEADLINE]}; several frequencies, or a delay that changes"
    text = Text(no_wrap=True, overflow="ellipsis")
    text.append(said, style="cyan")
    text.append(why, style="dim")
    text.truncate(width, overflow="ellipsis")
    yield text
