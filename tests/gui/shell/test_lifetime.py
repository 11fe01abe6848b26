"""What belongs to a window goes with it."""

from __future__ import annotations

import gc
import weakref

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QSettings
from PySide6.QtWidgets import QDockWidget, QLabel, QMainWindow
from shiboken6 import isValid

from gui.settings.dialog import SettingsDialog
from gui.settings.storage import WindowSettings
from gui.window.actions import Actions
from gui.window.help import CommandPalette, ShortcutDialog
from gui.window.layout_controller import LayoutStore, OperatorMode
from monitor.config import Settings


def _used(store):
    """Make a window, use everything once, and return what there was."""
    window = QMainWindow()
    docks = {key: QDockWidget(key, window) for key in ("histories", "tiles", "events")}
    for dock in docks.values():
        dock.setWidget(QLabel("panel"))
    actions = Actions(window)
    actions.fill(window.menuBar())
    layouts = LayoutStore(window, docks, store)
    parts = [CommandPalette(actions, window), ShortcutDialog(actions, window), SettingsDialog(window)]
    mode = OperatorMode(window, actions)
    layouts.restore_state()
    window.show()
    parts[0].set_instants({"Look at": print})
    parts[0].present()
    parts[0].line.setText("12 s")
    parts[0].close()
    parts[1].present()
    parts[2].present(WindowSettings(), Settings())
    mode.set(True)
    mode.set(False)
    layouts.save_state()
    every = [window, *window.findChildren(QObject)]
    window.close()
    window.deleteLater()
    return every, [weakref.ref(thing) for thing in (window, actions, layouts, mode, *parts)]


def test_nothing_outlives_its_window(qapp, tmp_path):
    store = QSettings(str(tmp_path / "store.ini"), QSettings.Format.IniFormat)
    every, held = _used(store)
    assert len(every) > 200
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    qapp.processEvents()
    assert not any(isValid(thing) for thing in every)
    del every
    gc.collect()
    assert [reference() for reference in held] == [None] * len(held)
