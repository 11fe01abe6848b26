"""Derived channels in the window: defined in a dialog, live and of a recording, in plots, exports, the next start."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu

from gui.panels.histories import HistoriesPanel
from gui.panels.spectrum import SpectrumPanel
from gui.panels.xy_panel import PairPanel
from gui.window.derived_channels import DerivedDialog

ERROR = "(north.command - north.measured) * 1e3"


@pytest.fixture
def live(fed, hybrid_arrivals):
    hands = fed(layout="Tracking")
    hands.played.say(*hybrid_arrivals[:100])
    hands.until(lambda: hands.history.end_x > 3.9)
    hands.ticks()
    return hands


def dialog_of(hands):
    """Open the dialog by its key."""
    hands.window.activateWindow()
    hands.until(hands.window.isActiveWindow)
    hands.key("Ctrl+Shift+D")
    dialog = hands.window.findChild(DerivedDialog)
    hands.until(dialog.isActiveWindow)
    return dialog


def fill(dialog, *texts):
    for field, text in zip((dialog.name, dialog.unit, dialog.formula), texts, strict=True):
        field.setFocus()
        field.selectAll()
        QTest.keyClick(field, Qt.Key.Key_Delete)
        QTest.keyClicks(field, text)


def define(hands, *texts):
    dialog = dialog_of(hands)
    fill(dialog, *texts)
    assert dialog.problem.text() == " "
    hands.click(dialog.add)
    hands.ticks()
    dialog.close()


def panel_of(hands, kind=HistoriesPanel):
    return hands.window.dock_area.panel(kind)


def expected(history):
    _, samples = history.signals.samples(0.0, 1e6)
    names = [channel.name for channel in history.signals.channels]
    return (samples[:, names.index("north.command")] - samples[:, names.index("north.measured")]) * 1e3


def computed(history, name):
    return history.signals.samples(0.0, 1e6, columns=[history.signals.named[name].column])[1][:, 0]


def test_a_channel_is_typed_and_is_a_row_that_goes_on_live(live, hybrid_arrivals):
    define(live, "error", "mm", ERROR)
    panel = panel_of(live)
    assert panel.shown[-1] == "derived:error"
    row = panel.stack.rows[-1]
    assert (row.name, row.unit, row.quantity) == ("error", "mm", "displacement")
    live.played.say(*hybrid_arrivals[100:200])
    live.until(lambda: live.history.end_x > 7.9)
    live.ticks()
    np.testing.assert_array_equal(computed(live.history, "error"), expected(live.history))
    data = panel.stack.frame.rows[-1]
    assert data.curves[0].known.sum() > 100
    # the readout is that of the newest sample
    (value,) = panel.reader(live.history)(live.history.end_x)[-1]
    assert value.low == value.high == expected(live.history)[-1]
    assert panel.stack.legend(len(panel.stack.rows) - 1)[0].startswith("error ")


def test_what_is_wrong_is_told_with_its_place_before_it_is_accepted(live):
    dialog = dialog_of(live)
    assert dialog.problem.text() == " " and not dialog.add.isEnabled()
    for texts, problem in (
        (
            ("e", "", "north.comand"),
            "character 1, north.comand: there is no such channel; did you mean north.command?",
        ),
        (("e", "", "2 * ("), "character 5: '(' was never closed"),
        (("north.command", "", ERROR), "there is a channel north.command already"),
        (("", "", ERROR), "a name is needed"),
        (("e", "", "lowpass(north.command, 1e9)"), "character 24, 1e9: it must be above 0 and below 512 Hz"),
    ):
        fill(dialog, *texts)
        assert dialog.problem.text().startswith(problem)
        assert not dialog.add.isEnabled() and not dialog.change.isEnabled()
        QTest.keyClick(dialog.formula, Qt.Key.Key_Return)
    assert live.connection.derived == ()
    fill(dialog, "e", "", ERROR)
    assert dialog.problem.text() == " " and dialog.add.isEnabled()
    # Enter adds
    QTest.keyClick(dialog.formula, Qt.Key.Key_Return)
    assert [channel.name for channel in live.connection.derived] == ["e"]


def test_it_is_changed_and_deleted_unless_another_one_uses_it(live):
    define(live, "error", "mm", ERROR)
    define(live, "smooth", "mm", "lowpass(error, 5)")
    before = computed(live.history, "smooth")
    dialog = dialog_of(live)
    dialog.defined.setCurrentRow(0)
    assert dialog.formula.text() == ERROR
    assert not dialog.delete.isEnabled() and dialog.delete.toolTip() == "error is used by smooth"
    fill(dialog, "err", "mm", ERROR)
    assert not dialog.change.isEnabled() and dialog.change.toolTip() == "error is used by smooth"
    fill(dialog, "error", "mm", f"2 * {ERROR}")
    live.click(dialog.change)
    live.ticks()
    np.testing.assert_allclose(computed(live.history, "smooth"), 2.0 * before, rtol=1e-12)
    # a channel uses those that are defined before it only
    dialog.defined.setCurrentRow(0)
    fill(dialog, "error", "mm", "2 * smooth")
    assert dialog.problem.text().startswith("character 5, smooth: there is no such channel")
    dialog.defined.setCurrentRow(1)
    live.click(dialog.delete)
    live.ticks()
    dialog.defined.setCurrentRow(0)
    live.click(dialog.delete)
    live.ticks()
    assert live.connection.derived == () and not any(key.startswith("derived") for key in panel_of(live).shown)


def test_names_and_functions_are_inserted_by_a_double_click(live):
    dialog = dialog_of(live)
    names = [dialog.signals.item(i).data(Qt.ItemDataRole.UserRole) for i in range(dialog.signals.count())]
    assert names == list(live.history.signals.named)
    for chosen in (dialog.signals.item(names.index("roof.force")), dialog.functions.item(0)):
        view = chosen.listWidget()
        view.scrollToItem(chosen)
        place = view.visualItemRect(chosen).center()
        live.click(view.viewport(), place)
        QTest.mouseDClick(view.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, place)
        dialog.formula.insert(" ")
    assert dialog.formula.text() == "roof.force deriv(x) "


def test_the_command_is_in_the_menu_of_rows_and_in_that_of_a_header(live):
    panel = panel_of(live)
    (action,) = (each for each in panel.menu.menu().actions() if each.text() == "Derived channels…")
    action.trigger()
    dialog = live.window.findChild(DerivedDialog)
    assert dialog.isVisible()
    dialog.close()
    place = QPoint(12, panel.stack.places.rows[0].top + 6)
    viewport = panel.stack.viewport()
    QApplication.sendEvent(
        viewport, QContextMenuEvent(QContextMenuEvent.Reason.Mouse, place, viewport.mapToGlobal(place))
    )
    (menu,) = (each for each in panel.findChildren(QMenu) if "Hide this row" in [a.text() for a in each.actions()])
    texts = {each.text(): each for each in menu.actions()}
    shown = panel.shown
    texts["Derived channels…"].trigger()
    assert dialog.isVisible()
    texts["Hide this row"].trigger()
    assert panel.shown == shown[1:]
    menu.close()


def test_it_is_a_choice_of_spectrum_and_xy(live):
    define(live, "error", "mm", ERROR)
    spectrum, pair = panel_of(live, SpectrumPanel), panel_of(live, PairPanel)
    for box in (spectrum.channels, pair.horizontal, pair.vertical):
        assert box.findText("error") >= 0
    spectrum.channels.setCurrentText("error")
    pair.vertical.setCurrentText("error")
    spectrum.refresh(live.history)
    pair.refresh(live.history)
    assert spectrum.heading.text().endswith("error") and spectrum._unit == "mm/√Hz"
    assert [*spectrum._found] == ["error"]
    x, y = np.concatenate([part.getData() for part in pair.trail.parts], axis=1)
    assert np.isin(y, expected(live.history)).all() and len(x) > 50


def test_it_is_exported_and_there_after_a_restart_of_the_window(live, store, begin, tmp_path, hybrid_arrivals):
    define(live, "error", "mm", ERROR)
    live.key("0")
    live.program.exports.write_csv(tmp_path / "span.csv")
    live.until(lambda: any("saved:" in line for line in live.notices))
    with (tmp_path / "span.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0][-1] == "error [mm]"
    np.testing.assert_array_equal([float(row[-1]) for row in rows[1:]], expected(live.history))
    live.leave()
    again = begin(connect="tcp://127.0.0.1:1", layout="Tracking")
    again.played = live.played
    assert [(each.name, each.formula) for each in again.connection.derived] == [("error", ERROR)]
    again.played.say(*hybrid_arrivals[:100])
    again.until(lambda: again.history.end_x > 3.9)
    again.ticks()
    assert "derived:error" in panel_of(again).shown
    np.testing.assert_array_equal(computed(again.history, "error"), expected(again.history))


def test_of_a_damaged_store_none_are_read_and_it_says_so(fed, store):
    store.setValue("channels/derived", '[{"name": 3}]')
    hands = fed()
    assert hands.connection.derived == ()
    assert any("stored derived channels cannot be read" in line for line in hands.notices)


def test_a_recording_has_it_too(begin, warm_kernels, tmp_path):
    time = np.arange(4000) / 200.0
    command = np.sin(7.0 * time)
    path = tmp_path / "run.csv"
    table = np.column_stack([time, command, 0.9 * command, np.cos(3.0 * time)])
    np.savetxt(
        path,
        table,
        delimiter=",",
        header="t [s],command [mm],measured [mm],load cell 2 [kN]",
        comments="",
        fmt="%.17g",
    )
    hands = begin(file=str(path))
    hands.until(lambda: hands.history.recording is not None)
    hands.ticks()
    define(hands, "work", "J", "cumtrapz('load cell 2' * deriv(measured))")
    assert "derived:work" in panel_of(hands).shown
    found = computed(hands.history, "work")
    power = np.cos(3.0 * time[1:]) * np.diff(0.9 * command) * 200.0
    np.testing.assert_allclose(found[1:], [0.0, *np.cumsum((power[1:] + power[:-1]) / 400.0)], atol=1e-12)
    # opened again
    hands.program.sources.disconnect_source()
    hands.until(lambda: hands.first_page)
    assert [channel.name for channel in hands.connection.derived] == ["work"]
