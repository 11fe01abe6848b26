"""Keys belong to the field that has the focus before they are shortcuts: a space that is typed pauses nothing."""

from __future__ import annotations

from PySide6.QtCore import QChildEvent, QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QDockWidget,
    QLineEdit,
    QPlainTextEdit,
    QTabBar,
    QTextEdit,
    QWidget,
)

_TEXT = (QLineEdit, QTextEdit, QPlainTextEdit, QAbstractSpinBox)
_MOVED_THROUGH = (QAbstractItemView, QAbstractSlider, QComboBox, QTabBar)
_LIBRARIES = ("PySide6", "pyqtgraph", "Shiboken", "builtins")
_K = Qt.Key
_MOVES = frozenset(
    (_K.Key_Left, _K.Key_Right, _K.Key_Up, _K.Key_Down, _K.Key_Home, _K.Key_End, _K.Key_PageUp, _K.Key_PageDown)
)
_EDITS = _MOVES | {_K.Key_Backspace, _K.Key_Delete}
# these move and select in a text: Ctrl+Left goes a word back
_TEXT_MODIFIERS = Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.KeypadModifier


class ShortcutFilter(QObject):
    """Hears what no widget claimed before it becomes a shortcut, and claims it for the one that has the focus.

    A text field keeps whatever can be typed and what moves its cursor; a list, a slider, a row of tabs and a widget
    of ours with keys of its own what moves through it; a button the space. Docks of the window that float are windows
    of their own, and open_guard too.

    Parameters
    ----------
    window : the guard is its child and lives as long.
    """

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        window.installEventFilter(self)
        for dock in window.findChildren(QDockWidget):
            dock.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 Qt's name
        """Claim a key; watch docks that are new."""
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            if _is_claimed(QApplication.focusWidget(), event):
                event.accept()
                return True
        elif event.type() == QEvent.Type.ChildPolished and isinstance(event, QChildEvent):
            child = event.child()
            if isinstance(child, QDockWidget):
                child.installEventFilter(self)
        return super().eventFilter(watched, event)


def _is_claimed(focus: QWidget | None, event: QKeyEvent) -> bool:
    key, modifiers = Qt.Key(event.key()), event.modifiers()
    plain = not modifiers & ~_TEXT_MODIFIERS
    if isinstance(focus, _TEXT) or (isinstance(focus, QComboBox) and focus.isEditable()):
        by_word = not modifiers & ~(_TEXT_MODIFIERS | Qt.KeyboardModifier.ControlModifier)
        return (plain and (event.text().isprintable() and bool(event.text()))) or (by_word and key in _EDITS)
    if isinstance(focus, _MOVED_THROUGH) or _has_own_keys(focus):
        return plain and (key in _MOVES or key == _K.Key_Space)
    return isinstance(focus, QAbstractButton) and plain and key == _K.Key_Space


def _has_own_keys(focus: QWidget | None) -> bool:
    """Whether a class of this program, and not of a library, says what the widget does with keys."""
    if focus is None or focus.isWindow():
        return False
    kinds = (kind for kind in type(focus).__mro__ if not kind.__module__.startswith(_LIBRARIES))
    return any("keyPressEvent" in vars(kind) for kind in kinds)
