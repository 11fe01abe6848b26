"""The folder of keys in the form of a service that is watched."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QSettings

from gui.sources.opening.connect_dialog import ConnectDialog, WatchForm
from gui.sources.processes.session import ConnectToService
from monitor.transport.zeromq.allow_list import KeyFolder


@pytest.fixture
def store(tmp_path) -> QSettings:
    return QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat)


@pytest.fixture
def handed(tmp_path):
    folder = KeyFolder(tmp_path / "keys")
    folder.prepare()
    return folder.client("desk")


def test_keys_are_taken_and_remembered(qtbot, store, handed):
    dialog = ConnectDialog(store)
    qtbot.addWidget(dialog)
    chosen = []
    dialog.chosen.connect(chosen.append)
    form = dialog.watch
    assert not form.keys.isHidden()
    form.endpoint.write("tcp://lab:5556")
    form.keys.folder.setText(str(handed / "nowhere"))
    assert not form.go.isEnabled() and not form.keys.fault.isHidden()
    form.submit()
    assert not chosen
    form.keys.folder.setText(str(handed))
    assert form.go.isEnabled() and form.keys.fault.isHidden()
    (handed / "desk.secret").chmod(0o644)
    form.keys.folder.setText(f"{handed}/")
    assert "chmod 600" in form.keys.fault.text()
    (handed / "desk.secret").chmod(0o600)
    form.keys.folder.setText(str(handed))
    form.submit()
    assert chosen == [ConnectToService("tcp://lab:5556", str(handed))]
    first = WatchForm(store)
    qtbot.addWidget(first)
    assert first.keys.place == str(handed) and not first.keys.isHidden()


def test_who_never_had_keys_is_not_asked_on_the_first_page(qtbot, store):
    form = WatchForm(store)
    qtbot.addWidget(form)
    assert form.keys.isHidden()
    assert not form.problem
