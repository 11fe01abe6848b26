"""Panels as pictures and the span in view as a table, by keys, as their user gets them."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QContextMenuEvent, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QTableView

from gui.window.export import FigureDialog
from replay.formats import Selection, open_recording


def export(hands, title, path, *, kind="PDF", width="Two", titled=True):
    """Choose panel, width and format in the dialog that comes, by its keys, and give the file a name."""
    # as a window system does when a dialog is closed
    hands.window.activateWindow()
    hands.until(hands.window.isActiveWindow)
    hands.key("Ctrl+Shift+P")
    dialog = hands.window.findChild(FigureDialog)
    hands.until(dialog.isActiveWindow)
    for box, text in ((dialog.panel, title), (dialog.width_box, width), (dialog.format, kind)):
        box.setFocus()
        QTest.keyClicks(box, text)
        assert box.currentText().startswith(text)
    if not titled:
        hands.click(dialog.titled)
    QTest.keyClick(dialog, Qt.Key.Key_Return)
    hands.name_file(path)
    hands.until(lambda: any(f"saved as {path}" in line for line in hands.notices))


def texts(path):
    return "".join(ElementTree.parse(path).getroot().itertext())


def test_a_panel_is_exported_as_png(shown, tmp_path):
    path = tmp_path / "picture.png"
    export(shown, "Time histories", path, kind="PNG", width="One")
    picture = QImage(str(path))
    assert picture.width() == pytest.approx(88.0 / 25.4 * 300.0, abs=3.0)
    colours = {picture.pixel(x, y) for x in range(0, picture.width(), 7) for y in range(0, picture.height(), 7)}
    assert len(colours) > 5


def test_a_panel_is_exported_as_svg_with_its_text(shown, tmp_path):
    path = tmp_path / "picture.svg"
    export(shown, "Tiles", path, kind="SVG")
    # a long name may be cut short
    for name in (*(name.split()[0] for name in shown.tile_texts), "delay", "stiffness"):
        assert name in texts(path)


def test_a_panel_is_exported_as_pdf(shown, tmp_path):
    path = tmp_path / "figure.pdf"
    export(shown, "Tracking indicators", path)
    assert path.read_bytes().startswith(b"%PDF")


def test_the_title_says_rig_and_time_and_can_be_left_out(shown, tmp_path):
    export(shown, "Time histories", tmp_path / "a.svg", kind="SVG")
    rig = shown.history.health.rig
    assert rig
    for word in (f"rig {rig}", "0.00 s to ", "north", "displacement [mm]", "command", "measured"):
        assert word in texts(tmp_path / "a.svg")
    export(shown, "Time histories", tmp_path / "b.svg", kind="SVG", titled=False)
    assert f"rig {rig}" not in texts(tmp_path / "b.svg")
    assert "displacement [mm]" in texts(tmp_path / "b.svg")


def test_the_panel_that_had_the_keys_is_offered_first_and_esc_leaves(shown):
    shown.click(shown.stack.viewport())
    shown.key("Home")
    shown.key("Ctrl+Shift+P")
    dialog = shown.window.findChild(FigureDialog)
    shown.until(dialog.isActiveWindow)
    assert dialog.panel.currentText() == "Time histories"
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    shown.until(lambda: shown.window.findChild(FigureDialog) is None)


def test_the_panel_with_the_focus_is_copied(shown):
    shown.click(shown.stack.viewport())
    shown.key("Ctrl+C")
    assert "Time histories: copied to the clipboard" in shown.notices[-1]
    data = QApplication.clipboard().mimeData()
    assert data.hasImage()
    assert QApplication.clipboard().image().width() == pytest.approx(180.0 / 25.4 * 300.0, abs=3.0)
    assert b"command" in bytes(data.data("image/svg+xml").data())


def test_the_span_in_view_is_exported_as_a_table_that_replay_reads(shown, tmp_path):
    shown.key("Space")
    shown.key("1")
    path = tmp_path / "span.csv"
    shown.key("Ctrl+E")
    shown.name_file(path)
    shown.until(lambda: any("saved:" in line for line in shown.notices))
    signals, view = shown.history.signals, shown.view
    x, samples = signals.samples(view.left, view.right)
    assert 4.9 < len(x) / signals.sample_rate < 5.1
    recording = open_recording(path, Selection(auxiliary=True))
    blocks = list(recording.blocks(100_000))
    names = [channel.name for channel in recording.stream.channels]
    read = np.concatenate([block.samples for block in blocks])
    order = [names.index(channel.name) for channel in signals.channels]
    np.testing.assert_array_equal(read[:, order], samples)
    assert blocks[0].time == pytest.approx(shown.history.timeline.time_at(x[0]))
    written = [line for line in shown.notices if "saved:" in line]
    assert "span-results.csv" in written[-1]


def test_a_name_that_cannot_be_written_is_one_line(shown, tmp_path):
    shown.program.exports.write_csv(tmp_path / "nowhere" / "span.csv")
    shown.until(lambda: any("error" in line and "nowhere" in line for line in shown.notices))
    shown.program.exports.write_figure(shown.window.dock_area.panels["tiles"], tmp_path / "picture.txt")
    assert "a figure is a .pdf, .svg or .png file" in shown.notices[-1]


def test_nothing_is_exported_where_nothing_is(begin):
    hands = begin()
    for key in ("export_figure", "copy_figure", "export_csv"):
        assert not hands.program.actions[f"file.{key}"].isEnabled()


def context_menu(hands, widget):
    """Open the menu of a widget with the right button, as a window system does."""
    at = widget.rect().center()
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, widget.mapToGlobal(at))
    QApplication.sendEvent(widget, event)
    hands.until(lambda: isinstance(QApplication.activePopupWidget(), QMenu))
    return QApplication.activePopupWidget()


def test_a_panel_offers_its_exports_in_its_own_menu(shown, tmp_path):
    panel = shown.window.dock_area.panels["indicators"]
    menu = context_menu(shown, panel.heading)
    texts = {action.text().replace("&", ""): action for action in menu.actions()}
    assert {"Copy figure", "Export figure…"} <= set(texts)
    texts["Copy figure"].trigger()
    menu.close()
    assert "Tracking indicators: copied to the clipboard" in shown.notices[-1]
    menu = context_menu(shown, panel.heading)
    next(action for action in menu.actions() if "xport" in action.text()).trigger()
    menu.close()
    dialog = shown.window.findChild(FigureDialog)
    shown.until(dialog.isActiveWindow)
    assert dialog.panel.currentText() == "Tracking indicators"
    QTest.keyClick(dialog, Qt.Key.Key_Escape)


def test_the_selected_event_is_copied_as_text_too(shown):
    shown.key("Ctrl+1")
    events = shown.window.dock_area.panels["events"]
    view = next(each for each in events.findChildren(QTableView) if each.model() is events.events.table)
    view.setCurrentIndex(view.model().index(0, 0))
    view.setFocus()
    shown.key("Ctrl+C")
    text = QApplication.clipboard().mimeData().text()
    assert text.split("\t")[0].endswith(" s")
    assert "started" in text
    assert QApplication.clipboard().mimeData().hasImage()


def test_a_table_says_when_it_is_begun_and_where_it_is_when_it_is_done(shown, tmp_path):
    bar = shown.window.notification_bar
    path = tmp_path / "span.csv"
    shown.program.exports.write_csv(path)
    assert [notice.text for notice in bar.log.active] == [f"the span is being written to {path}"]
    shown.until(lambda: any("saved:" in line for line in shown.notices))
    (told,) = [notice.text for notice in bar.log.active]
    assert told.startswith(f"saved: {path}")
