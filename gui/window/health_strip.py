"""Health strip: state of the service, its counts and its recording, in one line at the bottom of the window."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPalette, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from gui.model.health_items import HealthItem, fit, health_items
from gui.model.history import History
from gui.widgets.labels import PlainLabel, plain_tip
from gui.widgets.theme import Theme, level_colour
from gui.wording.level import Level

_MARGIN, _GAP, _PADDING = 8, 12, 3
_OPERATOR_MODE = HealthItem(
    "mode",
    "operator mode: read-only, F11 or Esc leaves it",
    "operator mode: read-only; F11 or Esc leaves it",
    rank=1,
    brief="F11 leaves operator mode",
)


class HealthStrip(QWidget):
    """One line; items of low priority are hidden where it is too narrow, and tool tips have the details."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._items: tuple[HealthItem, ...] = ()
        self._in_operator_mode = False
        self._labels: dict[str, QLabel] = {}
        self._set_metrics()
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("health of the service")
        self.show_disconnected()

    @property
    def texts(self) -> tuple[str, ...]:
        """The visible texts, from left to right."""
        visible = [label for label in self._labels.values() if not label.isHidden()]
        return tuple(label.text() for label in sorted(visible, key=QWidget.x))

    def show_health(self, history: History, dropped: int = 0, loading: float | None = None) -> None:
        """Show the health of the service, samples that this window has dropped, and progress as in `health_items`."""
        self._show(health_items(history, dropped, loading))

    def show_disconnected(self, waiting_for: str = "") -> None:
        """Show that no service is connected, or what is waited for."""
        text = f"○ {waiting_for or 'not connected'}"
        self._show((HealthItem("state", text, text, Level.WARN if waiting_for else Level.NONE, 0),))

    def show_operator_mode(self, on: bool) -> None:
        """Show, after the other items, how the operator mode is left."""
        self._in_operator_mode = on
        self._show(self._items[:-1] if not on and _OPERATOR_MODE in self._items else self._items)

    def apply_theme(self, theme: Theme) -> None:
        """Apply a theme."""
        self._theme = theme
        self._update_layout()

    def sizeHint(self) -> QSize:
        """Return the height of one line; it uses the width that there is."""
        return QSize(600, round(self._metrics.height()) + 10)

    def minimumSizeHint(self) -> QSize:
        """Return the height of one line."""
        return QSize(0, self.sizeHint().height())

    def changeEvent(self, event: QEvent) -> None:
        """Use another font."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._set_metrics()
            for label in self._labels.values():
                label.setFont(self._font)
            self.updateGeometry()
            self._update_layout()

    def _set_metrics(self) -> None:
        self._font = QFont(self.font())
        self._font.setFeature(QFont.Tag("tnum"), 1)
        self._metrics = QFontMetricsF(self._font)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Lay out the items in the new width."""
        super().resizeEvent(event)
        self._update_layout()

    def _show(self, items: tuple[HealthItem, ...]) -> None:
        if self._in_operator_mode and _OPERATOR_MODE not in items:
            items = (*items, _OPERATOR_MODE)
        if items != self._items:
            self._items = items
            self._update_layout()

    def _update_layout(self) -> None:
        room = self.width() - 2 * _MARGIN
        fitted = fit(self._items, room, self._width_of, _GAP)
        left = float(_MARGIN)
        for item, text in fitted:
            label = self._labels.get(item.key) or self._label(item.key)
            width = min(self._width_of(text), max(0.0, _MARGIN + room - left))
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

    def _width_of(self, text: str) -> float:
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
        background, foreground = theme.window, theme.text if plain else level_colour(theme, item.level)
        if item.level is Level.BAD:
            # inverted, so that it is seen from a distance
            background, foreground = foreground, theme.base
        palette.setColor(QPalette.ColorRole.Window, QColor(background))
        palette.setColor(QPalette.ColorRole.WindowText, QColor(foreground))
        if palette != label.palette():
            label.setPalette(palette)
