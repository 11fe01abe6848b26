"""Base class of the panels, and the instant that a panel shows: now, paused, stale, in a break."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from gui.model.history import History
from gui.model.verdict import Verdict
from gui.plots.view import View
from gui.widgets.theme import Theme
from gui.wording.numbers import DASH, instant_text
from monitor.config import IndicatorSettings


class Panel(QWidget):
    """A picture of a history. `configure` makes what depends on the channels, `refresh` draws; nothing else does.

    Parameters
    ----------
    view : what is looked at; shared by all panels.
    theme : colours to begin with.
    """

    key: ClassVar[str]
    title: ClassVar[str]

    def __init__(self, view: View, theme: Theme) -> None:
        super().__init__()
        self.view = view
        self.theme = theme
        self.window_seconds = IndicatorSettings().window
        """s, of the indicators' windows; set from what the service says."""
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def configure(self, history: History) -> None:
        """Make what depends on channels and columns, which are new or other ones; there may be none."""
        raise NotImplementedError

    def refresh(self, history: History) -> None:
        """Draw the history as `view` looks at it."""
        raise NotImplementedError

    def apply_theme(self, theme: Theme) -> None:
        """Take other colours; `refresh` follows."""
        self.theme = theme


_DECIMALS = 2
_STANDING = {"ended": "ended", "halted": "paused"}
_LATE = 2.0  # instants that results may come after their signals


@dataclass(frozen=True, slots=True)
class TileMoment:
    """Where to read values.

    Parameters
    ----------
    x : s on the display's axis; None for the newest.
    said : ``at 12.34 s`` where that is not now; empty where it is.
    instead : what stands in place of values that are out of date; None where they are not.
    why : the same in a sentence.
    running : s since samples have come without a break.
    """

    x: float | None
    said: str = ""
    instead: Verdict | None = None
    why: str = ""
    running: float = math.inf

    def value(self, history: History, owner: str, name: str) -> float:
        """Return what the result `name` of an actuator or site is; NaN where there is none."""
        if history.results is None or self.instead is not None:
            return math.nan
        return history.results.value(owner, name, self.x)


def tile_moment(history: History, x: float | None) -> TileMoment:
    """Return the moment of `x`, or of now for None: the newest values are shown only while they are current."""
    running = _running(history, history.end_x if x is None else x)
    if x is not None:
        said = instant_text(history.timeline.time_at(x), _DECIMALS)
        return TileMoment(_reached(history, x), "in a break" if said == DASH else f"at {said}", running=running)
    state = history.state
    if state.key in _STANDING:
        said = instant_text(history.timeline.time_at(history.end_x), _DECIMALS)
        return TileMoment(None, f"{_STANDING[state.key]} at {said}", running=running)
    if state.current:
        return TileMoment(None, running=running)
    instead = Verdict(state.brief or state.words, state.shape, state.level)
    return TileMoment(None, "", instead, state.words if state.brief else "", running)


def _reached(history: History, x: float) -> float:
    """Return `x`, or the newest result where it is on its way to `x`: signals come a little earlier."""
    results = history.results
    if results is None:
        return x
    behind = x - results.end_x
    return results.end_x if 0.0 < behind <= _LATE / results.rate else x


def _running(history: History, x: float) -> float:
    """Return how long samples had come without a break at `x`, s."""
    begin = history.timeline.run_of(x)
    return math.inf if math.isnan(begin) else x - begin


@dataclass(frozen=True, slots=True)
class Moment:
    """What stands above the picture of one instant.

    Parameters
    ----------
    text : a shape and words.
    x : where results are to be read, s on the display's axis; None: the newest.
    old : the newest is shown, and nothing comes any more: no number may be taken for the present one.
    """

    text: str
    x: float | None = None
    old: bool = False


def moment(history: History, view: View) -> Moment:
    """Return what is shown of `history`."""
    now = view.following and view.pinned is None
    when = tile_moment(history, None if now else view.instant)
    if not now:
        return Moment(f"◆ {when.said}", when.x)
    if when.instead is not None:
        return Moment(f"{when.instead.shape} {when.why or when.instead.words}", old=True)
    return Moment(f"■ {when.said}" if when.said else "● live")
