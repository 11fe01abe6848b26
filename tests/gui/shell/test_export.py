"""Pictures hold what the panel shows; files are whole or not there."""

from __future__ import annotations

import os
import re
from xml.etree import ElementTree as ET

import numpy as np
import pyqtgraph as pg
import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from gui.window.export import export_picture, svg_bytes
from monitor.system.files import WriteError, atomic_write

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def panel(qtbot):
    panel = QWidget()
    qtbot.addWidget(panel)
    layout = QVBoxLayout(panel)
    layout.addWidget(QLabel("Delay & phase [°]"))
    plot = pg.PlotWidget()
    plot.setLabel("bottom", "time", units="s")
    plot.setXRange(2.0, 8.0, padding=0.0)
    plot.setYRange(-0.5, 0.5, padding=0.0)
    plot.hideButtons()
    t = np.linspace(0.0, 10.0, 500)
    plot.plot(t, np.sin(t), pen=pg.mkPen("#ff0000"))
    layout.addWidget(plot)
    panel.plot = plot
    panel.resize(500, 400)
    with qtbot.waitExposed(panel):
        panel.show()
    return panel


def test_a_png_has_twice_the_pixels_and_the_same_picture(panel, tmp_path):
    path = export_picture(panel, tmp_path / "a.png", "Histories")
    image = QImage(str(path))
    assert (image.width(), image.height()) == (1000, 800)
    assert image.text("Title") == "Histories"
    seen = panel.grab().toImage()
    for x, y in ((3, 3), (250, 200), (480, 390)):
        assert image.pixelColor(2 * x, 2 * y) == seen.pixelColor(x, y)


def test_an_svg_keeps_text_as_text_and_says_its_title_and_size(panel, tmp_path):
    root = ET.fromstring(export_picture(panel, tmp_path / "a.svg", "Histories <live>").read_bytes())
    assert root.find(f"{SVG}title").text == "Histories <live>"
    assert root.get("viewBox") == "0 0 500 400"
    texts = ["".join(text.itertext()).strip() for text in root.iter(f"{SVG}text")]
    assert "Delay & phase [°]" in texts
    assert "time (s)" in texts
    assert not list(root.iter(f"{SVG}image"))
    assert all("sans-serif" in text.get("font-family") for text in root.iter(f"{SVG}text") if text.get("font-family"))


def test_a_curve_is_cut_off_at_the_edge_of_its_plot(panel):
    """The clip that holds for the curve is the rectangle of the plot, in the panel's own coordinates."""
    svg = svg_bytes(panel).decode()
    box = panel.plot.getPlotItem().getViewBox()
    corner = panel.plot.mapTo(panel, panel.plot.mapFromScene(box.sceneBoundingRect().topLeft()))
    clips = re.findall(r'<clipPath id="(\w+)">\s*<path[^>]*d="M([-\d.]+),([-\d.]+) L([-\d.]+),', svg)
    assert any(
        float(left) == pytest.approx(corner.x(), abs=2.0)
        and float(top) == pytest.approx(corner.y(), abs=2.0)
        and float(right) - float(left) == pytest.approx(box.width(), abs=2.0)
        for _, left, top, right in clips
    )


def test_a_name_that_is_no_picture_and_a_panel_without_size_are_refused(panel, tmp_path):
    with pytest.raises(WriteError, match=r"\.png or a \.svg"):
        export_picture(panel, tmp_path / "a.pdf")
    empty = QWidget()
    empty.resize(0, 10)
    with pytest.raises(WriteError, match="no size"):
        export_picture(empty, tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a.png", "a.svg"])
def test_a_folder_that_is_missing_is_one_line(panel, tmp_path, name):
    with pytest.raises(WriteError) as told:
        export_picture(panel, tmp_path / "nowhere" / name)
    assert str(told.value) == f"{tmp_path / 'nowhere' / name}: cannot be written (No such file or directory)"


def test_a_file_is_replaced_whole_or_stays(tmp_path):
    path = tmp_path / "a.txt"
    with atomic_write(path) as file:
        file.write(b"one")
    with pytest.raises(RuntimeError), atomic_write(path) as file:
        file.write(b"tw")
        raise RuntimeError("in the middle")
    assert path.read_bytes() == b"one"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]
    assert path.stat().st_mode & 0o777 == 0o666 & ~_umask()


def test_a_folder_in_the_place_of_the_file_is_refused(tmp_path):
    (tmp_path / "a.txt").mkdir()
    with pytest.raises(WriteError, match="cannot be written"), atomic_write(tmp_path / "a.txt") as file:
        file.write(b"one")
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask
