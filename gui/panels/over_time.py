"""Base of panels over time: a stack of rows, a menu that chooses them, limits of alarms as lines."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence

from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout

from gui.model.alarms import WatchedLimit
from gui.model.history import History, PlacedEvent
from gui.panels.base import Panel
from gui.panels.controls import Choice, RowMenu
from gui.plots.time.rows import Frame, Limit, Reader, Row, RowData, no_values
from gui.plots.time.stack import TimeStack
from gui.plots.view import View
from gui.widgets.labels import PlainLabel
from gui.widgets.theme import Theme
from monitor.messages.alarms import Severity

Source = tuple[str, str]
"""An actuator or site, and the name of one of its results."""


def alarm_lines(
    watched: Iterable[WatchedLimit], labels: Mapping[Source, str], factor: float = 1.0
) -> tuple[Limit, ...]:
    """Return the lines of a row.

    Parameters
    ----------
    watched : all limits there are; those of other rows are left out.
    labels : of the row's curves, by what they show; empty for the one that is read first. A line says whose it is
        unless it holds for all of them.
    factor : of the values that are shown.
    """
    found: dict[tuple[Severity, float], list[str]] = {}
    for limit in watched:
        label = labels.get((limit.actuator, limit.value))
        for side in () if label is None else limit.sides:
            found.setdefault((limit.severity, side * factor), []).append(str(label))
    # those that trip are drawn over those that warn
    by_gravity = sorted(found.items(), key=lambda item: (item[0][0] is Severity.TRIP, item[0][1]))
    return tuple(
        Limit(value, _word(severity, owners, len(labels)), *_LOOKS[severity])
        for (severity, value), owners in by_gravity
    )


def _word(severity: Severity, owners: list[str], n_curves: int) -> str:
    told = [] if len(owners) >= n_curves else [owner for owner in owners if owner]
    return f"{severity.value} {', '.join(told)}".rstrip()


_LOOKS = {Severity.WARN: ("warn", False), Severity.TRIP: ("bad", True)}


_OLD = ("stale", "silent")
_MOST_MARKS = 200


class TimePanel(Panel):
    """A stack of rows below a line with a few controls.

    Parameters
    ----------
    view, theme : as of any panel.
    nothing : what to say while there is nothing to show.
    """

    def __init__(self, view: View, theme: Theme, nothing: str) -> None:
        super().__init__(view, theme)
        self._history: History | None = None
        self._drawn: tuple[object, ...] | None = None
        self._offered: tuple[tuple[Row, str], ...] = ()
        self._shown: tuple[str, ...] | None = None
        self.stack = TimeStack(view, theme, self)
        self.stack.message = nothing
        self.heading = PlainLabel(self)
        self.controls = QHBoxLayout()
        self.controls.setContentsMargins(6, 2, 6, 0)
        self.controls.setSpacing(8)
        self.controls.addWidget(self.heading, 1)
        self.menu = RowMenu(self)
        self.controls.addWidget(self.menu)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(0)
        box.addLayout(self.controls)
        box.addWidget(self.stack, 1)
        # the keys of a panel over time are those of its plot
        self.setFocusProxy(self.stack)
        self.menu.chosen.connect(self.show_rows)
        self.stack.rows_revealed.connect(self._on_rows_revealed)

    def choices(self) -> tuple[Choice, ...]:
        """Return the rows that can be shown."""
        return tuple(Choice(row.key, f"{row.name} {row.quantity}".strip(), group) for row, group in self._offered)

    @property
    def shown(self) -> tuple[str, ...]:
        """Keys of the rows that are shown."""
        return tuple(row.key for row in self.stack.rows)

    def show_rows(self, keys: Sequence[str]) -> None:
        """Show the rows of these keys, of those there are, and no others."""
        self._shown = tuple(keys)
        self._set_rows()
        self.menu.tick(self.shown)
        self._again()

    def configure(self, history: History) -> None:
        """Take the rows that these channels and columns allow."""
        self._history = history
        self.stack.reset_scales()
        self._reoffer()

    def refresh(self, history: History) -> None:
        """Draw, unless the picture would be the same."""
        self._history = history
        view, stack = self.view, self.stack
        stale = self._stale(history)
        now = (history.version, view.left, view.right, stack.columns, stack.seen, stale, self._more(history))
        if now == self._drawn or not stack.rows:
            stack.flush_readouts()
            return
        self._drawn = now
        left, right = view.left, view.right
        rows = self.rows_data(history, left, right)
        segments, marks = history.timeline.segments, _marks(history, left, right)
        stack.draw(Frame(left, right, rows, segments, marks, self.reader(history), stale), more=view.following)

    def apply_theme(self, theme: Theme) -> None:
        """Take other colours."""
        super().apply_theme(theme)
        self.stack.apply_theme(theme)

    @abstractmethod
    def offer(self, history: History) -> tuple[tuple[Row, str], ...]:
        """Return all rows that can be shown, each with its group in the menu."""

    @abstractmethod
    def usual(self, history: History) -> Sequence[str]:
        """Return the keys of the rows that are shown unless others are chosen."""

    @abstractmethod
    def rows_data(self, history: History, left: float, right: float) -> tuple[RowData | None, ...]:
        """Return the numbers of all rows of the stack; None for those out of sight."""

    def reader(self, history: History) -> Reader:  # noqa: ARG002 - of those that have one
        """Return what reads the values of all rows of the stack at an x."""
        return no_values

    def _more(self, history: History) -> object:  # noqa: ARG002 - of those that have more
        """Return what else a picture depends on."""
        return None

    def _reoffer(self) -> None:
        """Rebuild the rows, and show those that were shown, where there are such."""
        history = self._history
        if history is None:
            return
        self._offered = self.offer(history)
        self._set_rows()
        self.menu.offer(self.choices(), self.shown)

    def _set_rows(self) -> None:
        if self._history is None:
            return
        chosen = self._shown
        if chosen is None or not any(row.key in chosen for row, _ in self._offered):
            chosen = tuple(self.usual(self._history)) if chosen is None or chosen else ()
        self.stack.set_rows([row for row, _ in self._offered if row.key in chosen])
        self._drawn = None

    def _on_rows_revealed(self) -> None:
        self._again()

    def _again(self) -> None:
        if self._history is not None:
            self.refresh(self._history)

    def _stale(self, history: History) -> str:
        """Return a word where the newest values are shown and are old."""
        if not self.view.following:
            return ""
        state = history.state
        return state.words if state.key in _OLD else ""


def _marks(history: History, left: float, right: float) -> tuple[PlacedEvent, ...]:
    """Return the newest events in sight."""
    return tuple(mark for mark in history.events if left <= mark.x <= right)[-_MOST_MARKS:]
