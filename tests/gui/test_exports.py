"""Panels as pictures and the span in view as a table, by keys, as their user gets them."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication, QMenu

from replay.formats import Selection, open_recording


@pytest.fixture
def shown(fed, hybrid_arrivals):
    hands = fed()
    hands.played.say(*hybrid_arrivals[:200])
    hands.until(lambda: hands.history.end_x > 7.9)
    hands.ticks()
    return hands


def export(hands, keys, title, path):
    """Choose a panel in the menu that comes, and give the file a name."""
    hands.key(keys)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    for _ in menu.actions():
        if menu.activeAction().text() == title:
            break
        hands.key("Down")
    hands.key("Return")
    hands.name_file(path)
    hands.until(lambda: any(f"saved as {path}" in line for line in hands.notices))


def test_a_panel_is_exported_as_png(shown, tmp_path):
    path = tmp_path / "picture.png"
    # what is told of it takes room from the panels
    size = shown.window.dock_area.panels["histories"].size()
    export(shown, "Ctrl+Shift+P", "Time histories", path)
    picture = QImage(str(path))
    assert picture.size() == 2 * size
    colours = {picture.pixel(x, y) for x in range(0, picture.width(), 7) for y in range(0, picture.height(), 7)}
    assert len(colours) > 5


def test_a_panel_is_exported_as_svg_with_its_text(shown, tmp_path):
    path = tmp_path / "picture.svg"
    export(shown, "Ctrl+Shift+V", "Tiles", path)
    root = ElementTree.parse(path).getroot()
    text = "".join(root.itertext())
    for name in shown.tile_texts:
        assert name in text
    assert "delay" in text
    assert "ms" in text


def test_the_panel_that_had_the_keys_is_offered_first(shown):
    shown.click(shown.stack.viewport())
    shown.key("Home")
    shown.key("Ctrl+Shift+P")
    menu = QApplication.activePopupWidget()
    assert menu.activeAction().text() == "Time histories"
    shown.key("Esc")
    assert QApplication.activePopupWidget() is None


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
    shown.program.exports.write_picture(shown.window.dock_area.panels["tiles"], tmp_path / "picture.txt")
    assert "a picture is a .png or a .svg file" in shown.notices[-1]


def test_nothing_is_exported_where_nothing_is(begin):
    hands = begin()
    for key in ("png", "svg", "csv"):
        assert not hands.program.actions[f"file.export_{key}"].isEnabled()
