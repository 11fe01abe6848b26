"""Notifications: the log of messages, and the bar that shows them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import time

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QKeyEvent, QPalette
from PySide6.QtWidgets import QFrame, QHBoxLayout, QListWidget, QPushButton, QVBoxLayout, QWidget

from gui.widgets.layout import fill
from gui.widgets.painting import ElidedLabel, PlainLabel
from gui.widgets.theme import Theme, level_colour
from gui.wording.level import Level
from monitor.text.numbers import instant_text

MAX_LOGGED = 100
INFO_TIMEOUT = 8.0
"""s after which an info message is dismissed."""
_LEVELS = {"info": Level.INFO, "warning": Level.WARN, "error": Level.BAD}
_SHAPES = {Level.INFO: "●", Level.WARN: "▲", Level.BAD: "■"}
_WORDS = {level: word for word, level in _LEVELS.items()}
_LEVEL_ORDER = list(Level)


@dataclass(frozen=True, slots=True)
class Notification:
    """One message; `first` and `last` are when it was shown, s since 1970, `count` how often."""

    level: Level
    text: str
    first: float
    last: float
    count: int = 1

    @property
    def line(self) -> str:
        """Shape, level, text, and the count if it is more than one."""
        repeated = f" (×{self.count})" if self.count > 1 else ""
        return f"{_SHAPES[self.level]} {_WORDS[self.level]}: {self.text}{repeated}"


class NotificationLog:
    """The last messages, at most `most`; a repeated message is counted."""

    def __init__(self, most: int = MAX_LOGGED) -> None:
        self._most = most
        self._log: dict[tuple[Level, str], Notification] = {}
        self._active: set[tuple[Level, str]] = set()
        self._of_source: set[tuple[Level, str]] = set()

    @property
    def entries(self) -> tuple[Notification, ...]:
        """All messages, the newest last."""
        return tuple(self._log.values())

    @property
    def active(self) -> tuple[Notification, ...]:
        """Messages that are not dismissed: by level, then the newest first."""
        newest_first = [notice for key, notice in reversed(self._log.items()) if key in self._active]
        return tuple(sorted(newest_first, key=lambda notice: -_LEVEL_ORDER.index(notice.level)))

    def add(self, level: str, text: str, now: float, *, of_source: bool = False) -> None:
        """Add a message: info, warning or error; another level is an error. `now` is s since 1970.

        A message `of_source` is about the source that is open, and dismissed with it.
        """
        key = _LEVELS.get(level, Level.BAD), " ".join(text.split())
        before = self._log.pop(key, None)
        again = before is not None and replace(before, last=now, count=before.count + 1)
        self._log[key] = again or Notification(*key, first=now, last=now)
        self._active.add(key)
        (self._of_source.add if of_source else self._of_source.discard)(key)
        while len(self._log) > self._most:
            oldest = next(iter(self._log))
            del self._log[oldest]
            self._active.discard(oldest)
            self._of_source.discard(oldest)

    def dismiss(self) -> None:
        """Dismiss the first active message."""
        for notice in self.active[:1]:
            self._active.discard((notice.level, notice.text))

    def dismiss_of_source(self, text: str = "") -> None:
        """Dismiss the messages about the source: those that begin with `text`."""
        self._active -= {key for key in self._of_source if key[1].startswith(text)}

    def end(self, text: str) -> None:
        """Dismiss the messages that begin with `text`: what they said has ended."""
        self._active -= {key for key in self._active if key[1].startswith(text)}

    def tick(self, now: float) -> bool:
        """Dismiss info messages after their timeout, or when the clock was set back; return whether any was."""
        expired = {
            (notice.level, notice.text)
            for notice in self.active
            if notice.level is Level.INFO and not 0.0 <= now - notice.last < INFO_TIMEOUT
        }
        self._active -= expired
        return bool(expired)


_POPUP_SIZE = 560, 260


class NotificationBar(QWidget):
    """Shows the first active message; hidden while there is none.

    Its buttons can be reached with Tab; the window calls `dismiss` at Esc.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.log = NotificationLog()
        self._problem = ""
        self._text = ElidedLabel()
        self._more = PlainLabel()
        self._all = QPushButton("All…", flat=True)
        self._all.setToolTip("Show the last messages with their times.")
        self._all.clicked.connect(self.show_all)
        self._act = QPushButton(flat=True)
        self._act.clicked.connect(self._do)
        self._act.hide()
        self._offers: dict[str, tuple[str, Callable[[], None]]] = {}
        self._dismiss = QPushButton("Dismiss", flat=True)
        self._dismiss.setToolTip("Dismiss this message (Esc).")
        self._dismiss.clicked.connect(self.dismiss)
        for button in (self._act, self._all, self._dismiss):
            # a click does not move the focus
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._popup = _LogPopup(self)
        fill(
            QHBoxLayout(self), (self._text, 1), self._act, self._more, self._all, self._dismiss, margins=(8, 2, 8, 2)
        )
        self.setAutoFillBackground(True)
        self.setAccessibleName("Messages")
        self._update()

    def show_message(self, level: str, text: str, now: float, *, of_source: bool = False, ends: str = "") -> None:
        """Show a message: info, warning or error; `now` is s since 1970; `of_source` as in the log.

        The messages that begin with `ends` are dismissed.
        """
        if ends:
            self.log.end(ends)
        self.log.add(level, text, now, of_source=of_source)
        self._update()

    def offer(self, text: str, label: str, act: Callable[[], None]) -> None:
        """Show a message about the source with a button that does something about it."""
        # as the log has it
        self._offers[" ".join(text.split())] = label, act
        self.show_message("warning", text, time(), of_source=True)

    def _do(self) -> None:
        _, act = self._offers[self.log.active[0].text]
        self.dismiss()
        act()

    def show_problem(self, text: str, now: float) -> None:
        """Show an error about the source as long as it lasts, in place of the previous one; empty: there is none."""
        if text != self._problem:
            if self._problem:
                self.log.dismiss_of_source(self._problem)
            self._problem = text
            if text:
                self.log.add("error", text, now, of_source=True)
            self._update()

    def dismiss_of_source(self) -> None:
        """Dismiss the messages about the source."""
        self.log.dismiss_of_source()
        self._update()

    def tick(self, now: float) -> None:
        """Dismiss info messages after their timeout."""
        if self.log.tick(now):
            self._update()

    def dismiss(self) -> bool:
        """Dismiss the message that is shown, and show the next; return whether there was one."""
        dismissed = bool(self.log.active)
        self.log.dismiss()
        self._update()
        return dismissed

    def show_all(self) -> None:
        """Open a popup with the last messages; a click elsewhere or Esc closes it."""
        self._popup.open([f"{instant_text(entry.last)}  {entry.line}" for entry in reversed(self.log.entries)])

    def apply_theme(self, theme: Theme) -> None:
        """Apply a theme."""
        self._theme = theme
        self._update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Dismiss with Esc, where one of the buttons has the focus."""
        if event.key() != Qt.Key.Key_Escape or not self.dismiss():
            super().keyPressEvent(event)

    def _update(self) -> None:
        active = self.log.active
        if active:
            first, theme = active[0], self._theme
            offer = self._offers.get(first.text)
            self._act.setVisible(offer is not None)
            self._act.setText(offer[0] if offer is not None else "")
            self._text.setText(first.line)
            self._more.setText(f"and {len(active) - 1} more" if len(active) > 1 else "")
            palette = QPalette(self.palette())
            palette.setColor(QPalette.ColorRole.Window, QColor(theme.base))
            palette.setColor(QPalette.ColorRole.WindowText, QColor(level_colour(theme, first.level)))
            self.setPalette(palette)
            self.setAccessibleDescription(first.line)
        self.setVisible(bool(active))


class _LogPopup(QFrame):
    """List of messages, below or above the bar."""

    def __init__(self, bar: QWidget) -> None:
        super().__init__(bar, Qt.WindowType.Popup)
        self._bar = bar
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self._messages = QListWidget()
        self._messages.setAccessibleName("Messages, the newest first")
        self._messages.setWordWrap(True)
        fill(QVBoxLayout(self), self._messages, margins=(1, 1, 1, 1))

    def open(self, lines: list[str]) -> None:
        """Show lines at the right end of the bar, below it or above it."""
        self._messages.clear()
        self._messages.addItems(lines)
        bar = self._bar
        self.resize(*_POPUP_SIZE)
        corner = bar.mapToGlobal(QPoint(bar.width() - self.width(), bar.height()))
        screen = bar.screen().availableGeometry()
        if corner.y() + self.height() > screen.bottom():
            corner.setY(bar.mapToGlobal(QPoint(0, 0)).y() - self.height())
        self.move(max(screen.left(), corner.x()), max(screen.top(), corner.y()))
        self.show()
        self._messages.setFocus()
