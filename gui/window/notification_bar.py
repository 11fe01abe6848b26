"""Messages to the user: which are shown, how often each came, and the bar that shows them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QKeyEvent, QPalette
from PySide6.QtWidgets import QFrame, QHBoxLayout, QListWidget, QPushButton, QVBoxLayout, QWidget

from gui.widgets.labels import ElidedLabel, PlainLabel
from gui.widgets.theme import Theme, level_colour
from gui.wording.level import Level
from gui.wording.numbers import instant_text

MOST = 100
INFO_STANDS = 8.0
"""s after which a piece of information goes by itself."""
_LEVELS = {"info": Level.INFO, "warning": Level.WARN, "error": Level.BAD}
_SHAPES = {Level.INFO: "●", Level.WARN: "▲", Level.BAD: "■"}
_WORDS = {level: word for word, level in _LEVELS.items()}
_GRAVITY = list(Level)


@dataclass(frozen=True, slots=True)
class Notice:
    """One message; `first` and `last` are when it was told, s since 1970, `count` how often."""

    level: Level
    text: str
    first: float
    last: float
    count: int = 1

    @property
    def line(self) -> str:
        """Shape, word, text, and how often where that is more than once."""
        often = f" (×{self.count})" if self.count > 1 else ""
        return f"{_SHAPES[self.level]} {_WORDS[self.level]}: {self.text}{often}"


class Notices:
    """The last messages, `most` of them; what is told again is counted and not repeated."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._log: dict[tuple[Level, str], Notice] = {}
        self._standing: set[tuple[Level, str]] = set()

    @property
    def log(self) -> tuple[Notice, ...]:
        """All that is kept, told last at the end."""
        return tuple(self._log.values())

    @property
    def standing(self) -> tuple[Notice, ...]:
        """What was neither dismissed nor went by itself: the gravest first, of these the newest first."""
        newest_first = [notice for key, notice in reversed(self._log.items()) if key in self._standing]
        return tuple(sorted(newest_first, key=lambda notice: -_GRAVITY.index(notice.level)))

    def tell(self, level: str, text: str, now: float) -> None:
        """Take a message: info, warning or error; another word is taken for an error. `now` is s since 1970."""
        key = _LEVELS.get(level, Level.BAD), " ".join(text.split())
        before = self._log.pop(key, None)
        again = before is not None and replace(before, last=now, count=before.count + 1)
        self._log[key] = again or Notice(*key, first=now, last=now)
        self._standing.add(key)
        while len(self._log) > self._most:
            oldest = next(iter(self._log))
            del self._log[oldest]
            self._standing.discard(oldest)

    def dismiss(self) -> None:
        """Take away what stands first."""
        for notice in self.standing[:1]:
            self._standing.discard((notice.level, notice.text))

    def tick(self, now: float) -> bool:
        """Let go by what has stood long enough; return whether anything has. A clock set back lets it go too."""
        gone = {
            (notice.level, notice.text)
            for notice in self.standing
            if notice.level is Level.INFO and not 0.0 <= now - notice.last < INFO_STANDS
        }
        self._standing -= gone
        return bool(gone)


_LIST = 560, 260


class NotificationBar(QWidget):
    """Show the gravest message that stands; hidden while there is none.

    Its buttons can be reached with Tab; the window leads Esc to `dismiss`.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.notices = Notices()
        self._text = ElidedLabel()
        self._further = PlainLabel()
        self._all = QPushButton("All…", flat=True)
        self._all.setToolTip("the last messages, with their times")
        self._all.clicked.connect(self.show_all)
        self._dismiss = QPushButton("Dismiss", flat=True)
        self._dismiss.setToolTip("take this message away (Esc)")
        self._dismiss.clicked.connect(self.dismiss)
        for button in (self._all, self._dismiss):
            # a click leaves the focus where it is
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._list = _LogPopup(self)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(8, 2, 8, 2)
        for widget in (self._text, self._further, self._all, self._dismiss):
            layout.addWidget(widget)
        layout.setStretchFactor(self._text, 1)
        self.setAutoFillBackground(True)
        self.setAccessibleName("messages")
        self._show()

    def tell(self, level: str, text: str, now: float) -> None:
        """Show a message: info, warning or error; `now` is s since 1970."""
        self.notices.tell(level, text, now)
        self._show()

    def tick(self, now: float) -> None:
        """Let information go that has stood for some seconds."""
        if self.notices.tick(now):
            self._show()

    def dismiss(self) -> bool:
        """Take the message away that is shown, and show the next; return whether there was one."""
        stood = bool(self.notices.standing)
        self.notices.dismiss()
        self._show()
        return stood

    def show_all(self) -> None:
        """Open the list of the last messages; a click elsewhere or Esc closes it."""
        self._list.open([f"{instant_text(notice.last)}  {notice.line}" for notice in reversed(self.notices.log)])

    def apply_theme(self, theme: Theme) -> None:
        """Take other colours."""
        self._theme = theme
        self._show()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Dismiss at Esc, where one of the buttons has the focus."""
        if event.key() != Qt.Key.Key_Escape or not self.dismiss():
            super().keyPressEvent(event)

    def _show(self) -> None:
        standing = self.notices.standing
        if standing:
            first, theme = standing[0], self._theme
            self._text.set_text(first.line)
            self._further.setText(f"and {len(standing) - 1} more" if len(standing) > 1 else "")
            palette = QPalette(self.palette())
            palette.setColor(QPalette.ColorRole.Window, QColor(theme.base))
            palette.setColor(QPalette.ColorRole.WindowText, QColor(level_colour(theme, first.level)))
            self.setPalette(palette)
            self.setAccessibleDescription(first.line)
        self.setVisible(bool(standing))


class _LogPopup(QFrame):
    """A list below or above the bar."""

    def __init__(self, bar: QWidget) -> None:
        super().__init__(bar, Qt.WindowType.Popup)
        self._bar = bar
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self._messages = QListWidget()
        self._messages.setAccessibleName("the last messages, the newest first")
        self._messages.setWordWrap(True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(1, 1, 1, 1)
        layout.addWidget(self._messages)

    def open(self, lines: list[str]) -> None:
        """Show these lines at the right end of the bar, where the screen has room."""
        self._messages.clear()
        self._messages.addItems(lines)
        bar = self._bar
        self.resize(*_LIST)
        corner = bar.mapToGlobal(QPoint(bar.width() - self.width(), bar.height()))
        room = bar.screen().availableGeometry()
        if corner.y() + self.height() > room.bottom():
            corner.setY(bar.mapToGlobal(QPoint(0, 0)).y() - self.height())
        self.move(max(room.left(), corner.x()), max(room.top(), corner.y()))
        self.show()
        self._messages.setFocus()
