"""Figures hold what the panel shows; files are whole or not there."""

from __future__ import annotations

import os
import re
import zlib
from xml.etree import ElementTree as ET

import numpy as np
import pyqtgraph as pg
import pytest
from PySide6.QtGui import QFont, QImage
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QPushButton, QVBoxLayout, QWidget

from gui.model.alarms import AlarmLimit
from gui.panels.histories import HistoriesPanel
from gui.panels.hysteresis import HysteresisPanel
from gui.panels.indicators import IndicatorsPanel
from gui.panels.subspace import SubspacePanel
from gui.panels.tiles import TilesPanel
from gui.panels.transfer import TransferPanel
from gui.plots.figure import ONE_COLUMN, TWO_COLUMNS, Page, widget_figure
from gui.plots.time.curves import value_scale
from gui.plots.value_axis import ValueRange
from gui.plots.view import View
from gui.widgets.theme import DARK
from gui.window.export_files import pdf_bytes, png_image, svg_bytes, with_title, write_figure
from gui.wording.quantity_names import QUANTITIES
from monitor.messages.alarms import Severity
from monitor.system.files import WriteError, atomic_write

PAGE = Page(TWO_COLUMNS, 96.0)
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


def shown(kind, history, qtbot, width=420, height=260):
    """Return a panel in the dark theme, too low for its rows, as it is in the window."""
    view = View()
    view.extend(history.begin_x, history.end_x)
    view.select_actuator("north")
    panel = kind(view, DARK)
    qtbot.addWidget(panel)
    panel.resize(width, height)
    with qtbot.waitExposed(panel):
        panel.show()
    panel.configure(history)
    panel.refresh(history)
    # pyqtgraph lays labels out when the size changes
    panel.resize(width, 2 * height)
    panel.resize(width, height)
    panel.refresh(history)
    return panel


def texts(svg):
    return ["".join(text.itertext()).strip() for text in ET.fromstring(svg).iter(f"{SVG}text")]


def content(pdf):
    """Return what a PDF draws, its compressed parts expanded."""
    parts = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL)
    found = []
    for part in parts:
        try:
            found.append(zlib.decompress(part))
        except zlib.error:
            found.append(part)
    return b"\n".join(found)


def test_a_png_has_300_pixels_an_inch(panel, tmp_path):
    page = Page(ONE_COLUMN, 96.0)
    write_figure(widget_figure(panel, "Histories", page.width), page, tmp_path / "a.png")
    image = QImage(str(tmp_path / "a.png"))
    assert image.width() == pytest.approx(ONE_COLUMN / 25.4 * 300.0, abs=3.0)
    assert image.dotsPerMeterX() == pytest.approx(300.0 / 0.0254, rel=1e-3)
    assert image.text("Title") == "Histories"


def test_an_svg_keeps_text_as_text_and_says_its_title_and_size(panel):
    svg = svg_bytes(widget_figure(panel, "Histories <live>"), PAGE)
    root = ET.fromstring(svg)
    assert root.find(f"{SVG}title").text == "Histories <live>"
    assert root.get("viewBox") == "0 0 500 400"
    assert {"Delay & phase [°]", "time (s)"} <= set(texts(svg))
    assert not list(root.iter(f"{SVG}image"))
    assert all("sans-serif" in text.get("font-family") for text in root.iter(f"{SVG}text") if text.get("font-family"))


def test_a_curve_is_cut_off_at_the_edge_of_its_plot(panel):
    """The clip that holds for the curve is the rectangle of the plot, in the panel's own coordinates."""
    svg = svg_bytes(widget_figure(panel), PAGE).decode()
    box = panel.plot.getPlotItem().getViewBox()
    corner = panel.plot.mapTo(panel, panel.plot.mapFromScene(box.sceneBoundingRect().topLeft()))
    clips = re.findall(r'<clipPath id="(\w+)">\s*<path[^>]*d="M([-\d.]+),([-\d.]+) L([-\d.]+),', svg)
    assert any(
        float(left) == pytest.approx(corner.x(), abs=2.0)
        and float(top) == pytest.approx(corner.y(), abs=2.0)
        and float(right) - float(left) == pytest.approx(box.width(), abs=2.0)
        for _, left, top, right in clips
    )


def test_buttons_fields_and_scroll_bars_are_not_in_a_figure(panel):
    button = QPushButton("press me")
    panel.layout().addWidget(button)
    panel.layout().addWidget(QLineEdit("type here"))
    QApplication.processEvents()
    place, colours = button.geometry(), panel.palette()
    seen = texts(svg_bytes(widget_figure(panel), PAGE))
    assert "Delay & phase [°]" in seen
    assert not {"press me", "type here"} & set(seen)
    assert button.isVisible()
    assert button.geometry() == place
    assert panel.palette() == colours


@pytest.mark.parametrize("kind", [HistoriesPanel, IndicatorsPanel])
def test_a_figure_has_all_rows_as_lines_with_units_and_legend(kind, watched, qtbot):
    panel = shown(kind, watched, qtbot, height=120)
    if kind is IndicatorsPanel:
        panel.show_rows(["delay", "ratio", "phase", "ti", "hsem", "nrmse"])
    assert len(panel.stack.seen) < len(panel.stack.rows)
    svg = svg_bytes(panel.figure(PAGE, watched), PAGE)
    assert not list(ET.fromstring(svg).iter(f"{SVG}image"))
    seen = texts(svg)
    for row in panel.stack.rows:
        assert row.name in seen
    assert len([text for text in seen if "[" in text and "]" in text]) >= len(panel.stack.rows) - 1
    labels = {curve.label for row in panel.stack.rows for curve in row.curves if len(row.curves) > 1}
    assert labels <= set(seen)
    assert len(panel.stack.seen) < len(panel.stack.rows)


def test_a_curve_of_many_samples_is_one_line_through_its_extremes(watched, qtbot):
    """Twelve thousand samples in a column of a paper: a line, which reaches as far as the samples do."""
    panel = shown(HistoriesPanel, watched, qtbot)
    panel.show_rows(["motion:roof"])
    page = Page(ONE_COLUMN, 96.0)
    svg = svg_bytes(panel.figure(page, watched), page).decode()
    inset = value_scale(ValueRange(), 0.0, 100.0).top
    lines = re.findall(r'<polyline[^>]*points="([^"]*)"', svg)
    curves = [np.array([point.split(",") for point in line.split()], dtype=float) for line in lines]
    long = [curve for curve in curves if len(curve) > 500]
    assert len(long) == 2
    pair = watched.signals.pairs[2]
    # the frame is a pixel higher than the plot, in which a curve at a limit is beside the frame
    height = (
        max(float(text) for text in re.findall(r'<rect x="[1-9]\d*"[^>]*height="([^"]*)"', svg)) - 1.0 - 2.0 * inset
    )
    _, samples = watched.signals.samples(watched.begin_x, watched.end_x)
    for curve, column in zip(long, (pair.command, pair.measured), strict=True):
        x, y = curve.T
        assert (np.diff(x) > 0.0).all()
        values = samples[:, column]
        low, high = panel.stack.limits("motion:roof")
        assert np.ptp(y) == pytest.approx(np.ptp(values) * height / (high - low), abs=0.1)


@pytest.mark.parametrize("kind", [HistoriesPanel, SubspacePanel, HysteresisPanel, TransferPanel, TilesPanel])
def test_a_figure_is_on_white_and_the_panel_stays_dark(kind, watched, qtbot):
    panel = shown(kind, watched, qtbot)
    before = panel.grab().toImage()
    image = png_image(with_title(panel.figure(PAGE, watched), PAGE, panel.font(), ("rig a",)), PAGE)
    corners = [(1, 1), (image.width() - 2, 1), (1, image.height() - 2), (image.width() - 2, image.height() - 2)]
    assert {image.pixelColor(x, y).name() for x, y in corners} == {"#ffffff"}
    step = 9
    pixels = [image.pixelColor(x, y) for x in range(0, image.width(), step) for y in range(0, image.height(), step)]
    assert sum(colour.lightness() > 200 for colour in pixels) > 0.8 * len(pixels)
    assert len({colour.name() for colour in pixels}) > 2
    panel.refresh(watched)
    after = panel.grab().toImage()
    if kind is TransferPanel:
        # pyqtgraph adapts the height of its axes by what was drawn last
        assert after.pixelColor(408, 200) == before.pixelColor(408, 200)
        assert panel.theme is DARK
    else:
        assert after == before


@pytest.mark.parametrize("kind", [HistoriesPanel, SubspacePanel, HysteresisPanel, TransferPanel])
def test_a_pdf_is_a_page_of_the_size_of_a_column_with_fonts_and_without_images(kind, watched, qtbot):
    panel = shown(kind, watched, qtbot)
    page = Page(ONE_COLUMN, 96.0)
    pdf = pdf_bytes(panel.figure(page, watched), page)
    width, _ = re.search(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf).groups()
    assert float(width) / 72.0 * 25.4 == pytest.approx(ONE_COLUMN, abs=0.5)
    whole = pdf + content(pdf)
    assert b"/FontFile2" in whole
    assert b"/Subtype /Image" not in whole
    assert len(re.findall(rb"[\d.]+ [\d.]+ l\b", content(pdf))) > 100


def test_a_plot_zoomed_by_hand_stays_as_it_was(watched, qtbot):
    panel = shown(SubspacePanel, watched, qtbot)
    panel.plot.zoom(0.5)
    size, ranges = panel.pane.size(), np.array(panel.plot.view_box.viewRange())
    panel.figure(PAGE, watched)
    assert panel.pane.size() == size
    np.testing.assert_allclose(panel.plot.view_box.viewRange(), ranges, rtol=1e-9)


def test_a_legend_is_repeated_only_where_the_one_above_is_another(watched, qtbot):
    panel = shown(HistoriesPanel, watched, qtbot)
    seen = texts(svg_bytes(panel.figure(PAGE, watched), PAGE))
    assert seen.count("command") == seen.count("measured") == 1
    panel = shown(IndicatorsPanel, watched, qtbot)
    panel.show_rows(["delay", "phase", "ratio"])
    labels = [tuple(curve.label for curve in row.curves) for row in panel.stack.rows]
    seen = texts(svg_bytes(panel.figure(PAGE, watched), PAGE))
    drawn = [label for label, above in zip(labels, [(), *labels], strict=False) if label != above]
    assert seen.count("FDB") == sum(label.count("FDB") for label in drawn)


def test_the_title_names_rig_run_and_time_and_is_wrapped(watched, qtbot):
    page = Page(ONE_COLUMN, 96.0)
    figure = shown(HistoriesPanel, watched, qtbot).figure(page, watched)
    whole = with_title(figure, page, QFont(), ("rig hybrid", "run of-a-long-name-" + 3 * "and-more-" + ".h5"))
    assert whole.size.height() > figure.size.height() + 30.0
    seen = " ".join(texts(svg_bytes(whole, page)))
    for word in ("Time histories", "rig hybrid", "run of-a-long-name", "0.00 s to 12.00 s"):
        assert word in seen


def test_a_panel_without_data_is_refused(qtbot):
    from gui.model.history import History

    history = History()
    for kind in (HistoriesPanel, SubspacePanel, TransferPanel):
        panel = kind(View(), DARK)
        qtbot.addWidget(panel)
        panel.configure(history)
        with pytest.raises(ValueError, match=f"{panel.title}: there is nothing to draw"):
            panel.figure(PAGE, history)


def test_a_name_of_no_format_and_a_widget_without_size_are_refused(panel, tmp_path):
    with pytest.raises(WriteError, match=r"\.pdf, \.svg or \.png"):
        write_figure(widget_figure(panel), PAGE, tmp_path / "a.gif")
    empty = QWidget()
    empty.resize(0, 10)
    with pytest.raises(ValueError, match="no size"):
        widget_figure(empty, "Tiles")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a.png", "a.svg", "a.pdf"])
def test_a_folder_that_is_missing_is_one_line(panel, tmp_path, name):
    with pytest.raises(WriteError) as told:
        write_figure(widget_figure(panel), PAGE, tmp_path / "nowhere" / name)
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


def test_labels_of_limits_are_within_the_figure(watched, qtbot):
    name = QUANTITIES[0].curves[0].name
    watched.limits = (
        AlarmLimit(name, "north", Severity.WARN, -0.01, 0.01),
        AlarmLimit(name, "north", Severity.TRIP, -0.02, 0.02),
    )
    panel = shown(IndicatorsPanel, watched, qtbot)
    page = Page(ONE_COLUMN, 96.0)
    image = png_image(panel.figure(page, watched), page)
    edge = [image.pixelColor(image.width() - 2, y).name() for y in range(image.height())]
    assert {"warn −10 ↓", "trip −20 ↓"} <= set(texts(svg_bytes(panel.figure(page, watched), page)))
    assert set(edge) == {"#ffffff"}
