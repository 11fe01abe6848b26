"""Base class of the panels, and the instant that a panel shows: live, paused, stale, in a break."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from PySide6.QtCore import Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QWidget

from gui.model.history import History
from gui.model.timeline import DisplayTimeline
from gui.model.tracking_status import Status
from gui.plots.figure import PAPER, Figure, Page, widget_figure
from gui.plots.view import View
from gui.widgets.menus import MenuEntry, MenuPlace, show_context_menu
from gui.widgets.theme import Theme
from monitor.config import IndicatorSettings
from monitor.text.numbers import DASH, instant_text, is_dated


class Panel(QWidget):
    """Base of all panels: `configure` adapts a panel to the channels, `refresh` draws; no other method draws.

    Parameters
    ----------
    view : visible time range, cursors and actuator; shared by all panels.
    theme : initial colours.

    Attributes
    ----------
    menu_sources : return entries of the context menu of the panel at a place, after its own.
    """

    key: ClassVar[str]
    title: ClassVar[str]

    def __init__(self, view: View, theme: Theme) -> None:
        super().__init__()
        self.view = view
        self.theme = theme
        self.window_seconds = IndicatorSettings().window
        """Window of the indicators, s; set from the health of the service."""
        self.menu_sources: list[Callable[[MenuPlace], Iterable[MenuEntry]]] = []
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(self.title)

    def configure(self, history: History) -> None:
        """Adapt to the channels and columns of a history, which may have none yet."""
        raise NotImplementedError

    def refresh(self, history: History) -> None:
        """Draw the history at the time range or instant of `view`."""
        raise NotImplementedError

    def apply_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme; `refresh` is called next."""
        self.theme = theme

    def menu_entries(self, place: MenuPlace) -> Iterable[Iterable[MenuEntry]]:  # noqa: ARG002 - for subclasses
        """Return the panel's own entries of its context menu, in groups."""
        return ()

    def show_menu(self, place: MenuPlace) -> None:
        """Show the context menu of the panel: its own entries, then those of `menu_sources`."""
        others = (source(place) for source in self.menu_sources)
        show_context_menu(self, place.at, *self.menu_entries(place), *others)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Show the context menu where no part of the panel has handled the event."""
        self.show_menu(MenuPlace(event.globalPos()))

    def figure(self, page: Page, history: History) -> Figure:
        """Return what the panel shows as a figure for a file: by default the panel itself, in the colours of paper.

        Raises
        ------
        ValueError : the panel has nothing to draw.
        """
        with self.on_paper(history):
            return widget_figure(self, self.title, page.width)

    @contextmanager
    def on_paper(self, history: History) -> Iterator[None]:
        """Show the panel in the colours of paper while it is drawn into a file."""
        shown = self.theme
        self.apply_theme(PAPER)
        self.refresh(history)
        try:
            yield
        finally:
            self.apply_theme(shown)
            self.refresh(history)


_DECIMALS = 2


def span_text(timeline: DisplayTimeline, left: float, right: float) -> str:
    """Return a span in the rig's time: ``2.00 s to 12.00 s``, with its date where the rig has one."""
    begin, end = timeline.time_at(left), timeline.time_at(right)
    date = f"{datetime.fromtimestamp(begin):%Y-%m-%d} " if is_dated(begin) else ""
    return f"{date}{instant_text(begin, _DECIMALS)} to {instant_text(end, _DECIMALS)}"


def no_signals(history: History) -> str:
    """Return why no signals are shown: a service that sends results without them publishes none."""
    return "waiting for signals" if history.results is None else "the service publishes no signals"


_STOPPED = {"ended": "ended", "halted": "paused"}
COMPUTING = "Indicators are being computed."
"""Text of a panel without rows while a recording is computed."""
_NOT_COMPUTED = Status("not computed yet", "○")
_MAX_LAG = 2.0  # display instants by which results may be later than their signals


@dataclass(frozen=True, slots=True)
class PanelInstant:
    """The instant at which values are read.

    Parameters
    ----------
    x : s on the display's axis; None for the newest.
    label : ``at 12.34 s``; empty for now.
    replacement : status shown instead of stale values; None where values are current.
    reason : its full text.
    """

    x: float | None
    label: str = ""
    replacement: Status | None = None
    reason: str = ""

    def value(self, history: History, owner: str, name: str) -> float:
        """Return the result `name` of an actuator or site; NaN where there is none."""
        if history.results is None or self.replacement is not None:
            return math.nan
        return history.results.value(owner, name, self.x)

    @property
    def stale(self) -> bool:
        """Whether the newest values are shown, but are not current."""
        return self.x is None and self.replacement is not None

    @property
    def heading(self) -> str:
        """A shape and words."""
        if self.x is not None:
            return f"◆ {self.label}"
        if self.replacement is not None:
            return f"{self.replacement.shape} {self.reason or self.replacement.words}"
        return f"■ {self.label}" if self.label else "● live"


def panel_instant(history: History, x: float | None) -> PanelInstant:
    """Return the instant `x`, or now for None: the newest values are shown only while they are current."""
    if x is not None:
        time = instant_text(history.timeline.time_at(x), _DECIMALS)
        if history.computed is not None and (history.results is None or x > history.results.end_x):
            return PanelInstant(x, f"at {time}", _NOT_COMPUTED)
        return PanelInstant(_reached(history, x), "in a break" if time == DASH else f"at {time}")
    state = history.state
    if state.key in _STOPPED:
        time = instant_text(history.timeline.time_at(history.end_x), _DECIMALS)
        return PanelInstant(None, f"{_STOPPED[state.key]} at {time}")
    if state.current:
        return PanelInstant(None)
    replacement = Status(state.brief or state.words, state.shape, state.level)
    return PanelInstant(None, "", replacement, state.words if state.brief else "")


def _reached(history: History, x: float) -> float:
    """Return `x`, or the newest result where it is about to reach `x`: signals arrive slightly earlier."""
    results = history.results
    if results is None:
        return x
    behind = x - results.end_x
    return results.end_x if 0.0 < behind <= _MAX_LAG / results.rate else x


def instant_of(history: History, view: View) -> PanelInstant:
    """Return the instant that a view shows."""
    return panel_instant(history, None if view.following and view.pinned is None else view.instant)
