"""The strip that is always there: how the service is, and whether this is recorded."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPalette, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from gui.model.history import History
from gui.widgets.labels import PlainLabel, plain_tip
from gui.widgets.theme import Theme, level_colour
from gui.window.health_items import HealthItem, fit, health_items
from gui.wording.level import Level

_MARGIN, _GAP, _PADDING = 8, 12, 3


class HealthStrip(QWidget):
    """One line; where it is too narrow the least important goes, and every piece says more in its tooltip."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._items: tuple[HealthItem, ...] = ()
        self._labels: dict[str, QLabel] = {}
        self._font = QFont(self.font())
        self._font.setFeature(QFont.Tag("tnum"), 1)
        self._metrics = QFontMetricsF(self._font)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("health of the service")
        self.show_nothing()

    @property
    def texts(self) -> tuple[str, ...]:
        """What can be read, from left to right."""
        seen = [label for label in self._labels.values() if not label.isHidden()]
        return tuple(label.text() for label in sorted(seen, key=QWidget.x))

    def show_health(self, history: History, dropped: int = 0) -> None:
        """Show how the service of `history` is, and what this window was too late to take."""
        self._show(health_items(history, dropped))

    def show_nothing(self, waiting_for: str = "") -> None:
        """Show that no service is watched, or what is waited for until there is one."""
        text = f"○ {waiting_for or 'not connected'}"
        self._show((HealthItem("state", text, text, Level.WARN if waiting_for else Level.NONE, 0),))

    def apply_theme(self, theme: Theme) -> None:
        """Take other colours."""
        self._theme = theme
        self._lay_out()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return one line; it takes the width that there is."""
        return QSize(600, round(self._metrics.height()) + 10)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the height of a line."""
        return QSize(0, self.sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """See again what has room."""
        super().resizeEvent(event)
        self._lay_out()

    def _show(self, items: tuple[HealthItem, ...]) -> None:
        if items != self._items:
            self._items = items
            self._lay_out()

    def _lay_out(self) -> None:
        room = self.width() - 2 * _MARGIN
        fitted = fit(self._items, room, self._wide, _GAP)
        left = float(_MARGIN)
        for item, text in fitted:
            label = self._labels.get(item.key) or self._label(item.key)
            width = min(self._wide(text), max(0.0, _MARGIN + room - left))
            elided = self._metrics.elidedText(text, Qt.TextElideMode.ElideRight, width - 2 * _PADDING + 0.5)
            label.setText(elided)
            label.setToolTip(plain_tip(item.tip))
            label.setAccessibleName(item.tip)
            self._colour(label, item)
            label.setGeometry(round(left), 2, round(width), self.height() - 4)
            label.show()
            left += width + _GAP
        shown = {item.key for item, _ in fitted}
        for key, label in self._labels.items():
            label.setVisible(key in shown)

    def _wide(self, text: str) -> float:
        return self._metrics.horizontalAdvance(text) + 2 * _PADDING + 1

    def _label(self, key: str) -> QLabel:
        label = self._labels[key] = PlainLabel(self)
        label.setFont(self._font)
        label.setMargin(_PADDING)
        label.setAutoFillBackground(True)
        return label

    def _colour(self, label: QLabel, item: HealthItem) -> None:
        theme, palette = self._theme, QPalette(label.palette())
        plain = item.level is Level.NONE
        ground, letters = theme.window, theme.text if plain else level_colour(theme, item.level)
        if item.level is Level.BAD:
            # seen from the other end of the room
            ground, letters = letters, theme.base
        palette.setColor(QPalette.ColorRole.Window, QColor(ground))
        palette.setColor(QPalette.ColorRole.WindowText, QColor(letters))
        if palette != label.palette():
            label.setPalette(palette)
