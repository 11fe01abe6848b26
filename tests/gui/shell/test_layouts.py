"""Layouts put panels where they are said to be, come back, and survive whatever a store holds."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest
from PySide6.QtCore import QByteArray, QPoint, QRect, QSettings, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QDockWidget, QLabel, QMainWindow

from gui.panels.catalogue import PANELS
from gui.window import layout_controller
from gui.window.layout_controller import LayoutStore
from gui.window.panel_docks import BUILT_IN, Tabs, arrange, column, panels_of, row

KEYS = tuple(panel.key for panel in PANELS)


@pytest.fixture
def store(tmp_path):
    return QSettings(str(tmp_path / "store.ini"), QSettings.Format.IniFormat)


@pytest.fixture
def make(qtbot, store):
    def make(keys=KEYS):
        window = QMainWindow()
        qtbot.addWidget(window)
        docks = {}
        for key in keys:
            docks[key] = QDockWidget(key, window)
            docks[key].setWidget(QLabel(key))
        return window, docks, LayoutStore(window, docks, store)

    return make


def _show(qtbot, window):
    with qtbot.waitExposed(window):
        window.show()


def _places(docks):
    QApplication.processEvents()
    return {key: dock.geometry().getRect() for key, dock in docks.items() if dock.isVisible()}


def test_parts_stand_as_they_are_described(qtbot, make):
    window, docks, _ = make()
    window.resize(1200, 800)
    _show(qtbot, window)
    arrange(window, docks, row((column(("tiles", 1), ("events", 3)), 1), ("histories", 2)))
    assert set(_places(docks)) == {"tiles", "events", "histories"}
    tiles, events, histories = (docks[key].geometry() for key in ("tiles", "events", "histories"))
    assert tiles.bottom() < events.top()
    assert tiles.left() == events.left()
    assert max(tiles.right(), events.right()) < histories.left()
    assert histories.height() >= tiles.height() + events.height()
    assert histories.width() == pytest.approx(2 * tiles.width(), rel=0.05)
    assert events.height() == pytest.approx(3 * tiles.height(), rel=0.1)


def test_the_first_of_several_tabs_is_in_front(qtbot, make):
    window, docks, _ = make()
    _show(qtbot, window)
    arrange(window, docks, row((Tabs(("frequency", "events")), 1), ("tiles", 1)))
    qtbot.waitUntil(lambda: not docks["frequency"].visibleRegion().isEmpty())
    assert docks["events"].visibleRegion().isEmpty()
    assert window.tabifiedDockWidgets(docks["frequency"]) == [docks["events"]]


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_layout_fits_a_small_screen(qtbot, make, name):
    window, docks, layouts = make()
    window.resize(1280, 680)
    _show(qtbot, window)
    assert layouts.apply(name) == ""
    shown = panels_of(BUILT_IN[name])
    assert set(shown) == {key for key, dock in docks.items() if not dock.isHidden()}
    assert len(set(shown)) == len(shown)
    assert (window.width(), window.height()) == (1280, 680)
    for key, (x, y, width, height) in _places(docks).items():
        if x + width < 0:  # where Qt keeps what is behind another tab
            assert len(window.tabifiedDockWidgets(docks[key])) > 0
            continue
        assert x >= 0 and y >= 0 and x + width <= 1280 and y + height <= 680, key
        assert width >= 200 and height >= 90, key


def test_a_panel_that_is_not_there_has_no_place(qtbot, make):
    window, docks, layouts = make(("histories", "events"))
    _show(qtbot, window)
    for name in BUILT_IN:
        layouts.apply(name)
        assert docks["histories"].isVisible() == ("histories" in panels_of(BUILT_IN[name]))


def test_a_saved_layout_comes_back_exactly(qtbot, make):
    window, docks, layouts = make()
    window.resize(1200, 800)
    _show(qtbot, window)
    layouts.apply("Tracking")
    window.resizeDocks([docks["histories"]], [700], Qt.Orientation.Horizontal)
    docks["frequency"].hide()
    before = _places(docks)
    layouts.save("  mine / all ")
    layouts.apply("Replay")
    assert _places(docks) != before
    assert layouts.apply("mine / all") == ""
    assert _places(docks) == before
    assert layouts.current == "mine / all"
    assert layouts.names == (*BUILT_IN, "mine / all")


@pytest.mark.parametrize("name", ["", "   ", "x" * 41, "operator"])
def test_names_that_cannot_be_kept_are_refused(make, name):
    with pytest.raises(ValueError, match="name"):
        make()[2].save(name)


def test_a_layout_is_forgotten(make):
    _, _, layouts = make()
    layouts.save("mine")
    layouts.delete("mine")
    assert layouts.names == tuple(BUILT_IN)
    assert layouts.current == "Operator"
    assert "mine" in layouts.apply("mine")


def test_reset_undoes_what_was_moved(qtbot, make):
    window, docks, layouts = make()
    window.resize(1200, 800)
    _show(qtbot, window)
    layouts.apply("Tracking")
    before = _places(docks)
    docks["histories"].hide()
    docks["xy"].setFloating(True)
    layouts.reset()
    assert _places(docks) == before
    assert not docks["xy"].isFloating()


def test_the_next_start_is_as_the_last_end(qtbot, make):
    window, docks, layouts = make()
    layouts.restore_state()
    _show(qtbot, window)
    assert layouts.current == "Operator"
    layouts.apply("Reliability")
    window.resize(700, 610)
    before = _places(docks)
    layouts.save_state()
    again, docks, layouts = make()
    layouts.restore_state()
    _show(qtbot, again)
    assert again.size() == window.size()
    assert layouts.current == "Reliability"
    assert _places(docks) == before


def test_the_first_window_is_on_the_screen_with_its_title_bar(qtbot, make, monkeypatch):
    class Screen:
        @staticmethod
        def availableGeometry():  # noqa: N802 - Qt's name
            return QRect(0, 0, 1280, 720)

    monkeypatch.setattr(
        layout_controller, "QGuiApplication", SimpleNamespace(primaryScreen=Screen, screens=lambda: [Screen])
    )
    window, _, layouts = make()
    layouts.restore_state()
    # title bars of desktops are 24 to 38 px high
    assert (window.width(), window.height()) == (1280, 680)


def test_other_panels_make_an_old_layout_unusable(qtbot, make):
    window, docks, layouts = make(("histories", "events"))
    _show(qtbot, window)
    layouts.apply("Operator")
    layouts.save("old")
    layouts.save_state()
    again, docks, layouts = make()
    layouts.restore_state()
    _show(qtbot, again)
    assert set(_places(docks)) == set(panels_of(BUILT_IN["Operator"]))
    told = layouts.apply("old")
    assert "old" in told and "\n" not in told
    assert layouts.current == "Operator"


def test_a_floating_panel_off_every_screen_is_taken_back(qtbot, make):
    window, docks, layouts = make()
    layouts.restore_state()
    _show(qtbot, window)
    layouts.apply("Tracking")
    docks["xy"].setFloating(True)
    docks["xy"].move(QPoint(20_000, 20_000))
    layouts.save("far")
    layouts.apply("Operator")
    assert layouts.apply("far") == ""
    assert docks["xy"].isVisible()
    screen = QGuiApplication.primaryScreen().availableGeometry()
    corner = docks["xy"].mapToGlobal(QPoint(0, 0))
    assert screen.contains(corner)


def test_a_window_off_every_screen_comes_back(qtbot, make, store):
    window, _, layouts = make()
    layouts.restore_state()
    _show(qtbot, window)
    window.move(30_000, 30_000)
    layouts.save_state()
    again, _, layouts = make()
    layouts.restore_state()
    _show(qtbot, again)
    assert QGuiApplication.primaryScreen().availableGeometry().contains(again.pos())


def test_a_layout_without_any_panel_is_not_restored(qtbot, make):
    window, docks, layouts = make()
    _show(qtbot, window)
    layouts.apply("Operator")
    for dock in docks.values():
        dock.hide()
    layouts.save_state()
    layouts.restore_state()
    assert set(_places(docks)) == set(panels_of(BUILT_IN["Operator"]))


@pytest.mark.parametrize("seed", range(12))
def test_damaged_bytes_never_break_the_window(qtbot, make, store, seed):
    window, docks, layouts = make()
    window.resize(1000, 700)
    _show(qtbot, window)
    layouts.apply("Replay")
    layouts.save_state()
    layouts.save("mine")
    chance = random.Random(seed)
    whole = {key: bytes(store.value(key)) for key in ("window/state", "window/geometry", "layouts/" + b"mine".hex())}
    for key, held in whole.items():
        damaged = bytearray(held)
        if seed % 3 == 0:
            damaged = damaged[: chance.randrange(len(damaged))]
        elif seed % 3 == 1:
            # behind the mark and the version, which would give it away; let through, this crashes Qt
            for _ in range(4):
                damaged[chance.randrange(16, len(damaged))] ^= 1 << chance.randrange(8)
        else:
            damaged = bytearray(chance.randbytes(len(held)))
        store.setValue(key, QByteArray(bytes(damaged)))
    again, docks, layouts = make()
    layouts.restore_state()
    _show(qtbot, again)
    layouts.apply("mine")
    assert any(dock.isVisible() for dock in docks.values())
    layouts.apply("Operator")
    assert set(_places(docks)) == set(panels_of(BUILT_IN["Operator"]))


@pytest.mark.parametrize("junk", ["text", 12, b"\x00\xff", ["a", "list"], True])
def test_a_store_of_other_kinds_of_values_is_a_first_start(qtbot, make, store, junk):
    for key in ("window/layout", "window/state", "window/geometry", "layouts/zz", "layouts/ff"):
        store.setValue(key, junk)
    window, docks, layouts = make()
    layouts.restore_state()
    _show(qtbot, window)
    assert layouts.names == tuple(BUILT_IN)
    assert set(_places(docks)) == set(panels_of(BUILT_IN["Operator"]))


def test_shares_hold_for_a_window_that_was_arranged_before_it_was_shown(qtbot, make):
    window, docks, layouts = make()
    window.resize(1200, 800)
    layouts.apply("Tracking")
    _show(qtbot, window)
    places = _places(docks)
    _, _, width, height = places["histories"]
    assert width == pytest.approx(1200 * 3 / 5, abs=8)
    assert height == pytest.approx(800 * 4 / 7, abs=8)
