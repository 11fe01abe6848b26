"""The texts of the window use the terms of the field: none of its labels, menus, tips and tables has an odd word."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QAbstractItemModel, QAbstractListModel, QModelIndex, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QComboBox,
    QGroupBox,
    QHeaderView,
    QLabel,
    QLineEdit,
    QTabBar,
    QWidget,
)

from gui.panels.tiles import TilesPanel
from gui.settings.dialog import SERVICE_SECTIONS, WINDOW_SECTIONS
from gui.window.action_table import ACTIONS
from gui.window.help import SECTIONS
from monitor.config import fields_of

ODD = re.compile(
    r"\b(told|tells?|telling|said|says|nobody|somebody|whoever|anew|trouble|goes on|go on|parted|apart|stands?"
    r"|standing|kept|beneath|heard|hears?|word from|no word|too late|refused|in step|in vain|found by itself"
    r"|as at first|last turn|takes? (in|up|note|away)|stand still|normal too|opened last|keys in|listen to"
    r"|(?<!not )judged?(?! again))\b"
    r"|lags, (under|over)|undershoots|overshoots|\bdeg(C|s)?\b|normal [±≤≥\d]|has returned(?! to normal)",
    re.IGNORECASE,
)
"""Words that are not the field's; each was on the screen once."""


def texts_of(window: QWidget) -> Iterator[str]:
    """Yield every text that a window and its children show or read to a screen reader."""
    for widget in (window, *window.findChildren(QWidget)):
        yield from (widget.toolTip(), widget.statusTip(), widget.windowTitle())
        yield from (widget.accessibleName(), widget.accessibleDescription())
        match widget:
            case QLabel() | QAbstractButton():
                yield widget.text()
            case QLineEdit():
                yield widget.placeholderText()
            case QGroupBox():
                yield widget.title()
            case QComboBox():
                yield from (widget.itemText(row) for row in range(widget.count()))
                yield widget.placeholderText()
            case QTabBar():
                yield from (widget.tabText(tab) for tab in range(widget.count()))
            case QHeaderView():
                pass
            case QAbstractItemView():
                yield from _cells(widget.model())
    for action in window.findChildren(QAction):
        yield from (action.text(), action.toolTip(), action.statusTip())


def _cells(model: QAbstractItemModel | None, parent: QModelIndex | None = None) -> Iterator[str]:
    if model is None:
        return
    place = QModelIndex() if parent is None else parent
    # of a list Qt hides the number of columns
    columns = range(1 if isinstance(model, QAbstractListModel) else model.columnCount(place))
    if parent is None:
        yield from (str(model.headerData(n, Qt.Orientation.Horizontal) or "") for n in columns)
    for row in range(model.rowCount(place)):
        for column in columns:
            cell = model.index(row, column, place)
            yield str(cell.data() or "")
            yield str(cell.data(Qt.ItemDataRole.ToolTipRole) or "")
        if not isinstance(model, QAbstractListModel):
            yield from _cells(model, model.index(row, 0, place))


def odd(texts: Iterator[str]) -> set[str]:
    return {text for text in texts if ODD.search(text.replace("&&", "\0").replace("&", ""))}


def _open_windows() -> list[QWidget]:
    return [widget for widget in QApplication.topLevelWidgets() if widget.isVisible()]


def test_the_start_page_and_every_dialog(begin):
    hands = begin()
    for key in ("window.settings", "help.keys", "help.palette", "source.connect", "source.serve", "help.about"):
        hands.program.actions[key].trigger()
    windows = _open_windows()
    assert len(windows) >= 6
    found = [text for window in windows for text in texts_of(window)]
    for window in windows:
        if window is not hands.window:
            window.close()
    # the walk reaches menus, lists, forms, tool tips and tables
    for expected in ("&Quit", "Simulations", "Frame rate", "Find a setting", "zoom in time, around the pointer"):
        assert expected in found
    assert odd(iter(found)) == set()


def test_a_test_that_is_watched_with_every_panel(fed, hybrid_arrivals):
    hands = fed(layout="Replay")
    hands.played.say(*hybrid_arrivals[:80])
    hands.until(lambda: hands.history.end_x > 3.0)
    hands.ticks()
    for dock in hands.window.dock_area.docks.values():
        dock.show()
    found = list(texts_of(hands.window))
    assert {"Time histories", "Events"} <= set(found)
    assert odd(iter(found)) == set()
    drawn = [tile.content.text for tile in hands.window.dock_area.panel(TilesPanel)._grid.tiles]
    assert len(drawn) == 6
    assert odd(iter((*drawn, *hands.window.health_strip.texts, hands.window.alarm_banner.text))) == set()


def test_the_tables_that_menus_forms_and_help_are_made_from():
    actions = [text for spec in ACTIONS for text in (spec.text, spec.tip)]
    shortcuts = [text for title, rows in SECTIONS for text in (title, *(effect for _, effect in rows))]
    sections = (*WINDOW_SECTIONS, *SERVICE_SECTIONS)
    about = [text for section in sections for text in (section.title, section.description)]
    fields = [field for section in sections for field in fields_of(section.model)]
    settings = [text for field in fields for text in (field.title, field.description, field.empty, field.unit)]
    choices = [label for field in fields if field.kind in ("choice", "several") for _, label in field.choices]
    assert min(map(len, (actions, shortcuts, about, settings, choices))) > 10
    assert odd(iter((*actions, *shortcuts, *about, *settings, *choices))) == set()


@pytest.mark.parametrize("kind", ["label", "tip", "placeholder", "action", "item"])
def test_an_odd_word_is_found_wherever_it_is(qtbot, kind):
    window, text = QWidget(), "Take note of all that stands."
    qtbot.addWidget(window)
    match kind:
        case "label":
            QLabel(text, window)
        case "tip":
            window.setToolTip(text)
        case "placeholder":
            QLineEdit(window).setPlaceholderText(text)
        case "action":
            QAction(text, window)
        case "item":
            QComboBox(window).addItem(text)
    assert odd(texts_of(window)) == {text}
