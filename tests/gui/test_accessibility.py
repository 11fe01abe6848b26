"""Names for screen readers: of every control that has no text of its own."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QComboBox, QLabel, QWidget


def unnamed(root):
    """Return the focusable controls without a name: text with letters, accessible name, or label of its own."""
    labelled = [label.buddy() for label in root.findChildren(QLabel)]
    found = []
    for widget in root.findChildren(QWidget):
        text = widget.text() if isinstance(widget, QAbstractButton) else ""
        named = widget.accessibleName() or any(letter.isalpha() for letter in text) or widget in labelled
        # parts of Qt's own widgets
        inner = widget.objectName().startswith("qt_") or any(
            isinstance(parent, QComboBox) for parent in (widget.parentWidget(), widget.parentWidget().parentWidget())
        )
        if widget.focusPolicy() != Qt.FocusPolicy.NoFocus and not widget.isHidden() and not (named or inner):
            found.append(f"{type(widget.parentWidget()).__name__} > {type(widget).__name__}")
    return found


def test_every_control_of_the_window_has_a_name(fed, hybrid_arrivals):
    hands = fed()
    assert unnamed(hands.window) == []
    hands.played.say(*hybrid_arrivals[:100])
    hands.until(lambda: hands.history.end_x > 3.0)
    for dock in hands.window.dock_area.docks.values():
        dock.show()
    hands.program.actions["replay.faults"].trigger()
    hands.ticks()
    assert unnamed(hands.window) == []


_DIALOGS = "window.settings", "window.derived", "help.keys", "help.palette", "file.export_figure"


@pytest.mark.parametrize("key", [*_DIALOGS, "source.connect", "source.serve"])
def test_every_control_of_a_dialog_has_a_name(fed, hybrid_arrivals, key):
    hands = fed()
    hands.played.say(*hybrid_arrivals[:50])
    hands.until(lambda: hands.history.end_x > 1.0)
    hands.program.actions[key].trigger()
    assert unnamed(hands.window) == []
