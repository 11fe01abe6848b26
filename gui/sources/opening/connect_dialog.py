"""Connect dialog: connect to a running service, or start one for a rig."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QSettings, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QGridLayout,
    QGroupBox,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from gui.sources.opening.fields import EndpointField, KeysField, RecentList
from gui.sources.processes.session import ConnectToService, ServeRig
from gui.widgets.file_dialog import ask_path
from gui.widgets.labels import PlainLabel
from gui.widgets.theme import Theme
from monitor.system.default_endpoints import RESULTS, SIGNALS

SERVICES, RIGS = "watch/recent", "serve/recent"
"""Lists of endpoints in the settings: those at which a service has answered, or a rig has sent."""
RECORDED = "serve/record"
"""Folder of the recordings in the settings."""


class WatchForm(QWidget):
    """Form for the endpoint of a service, and its keys if there were some the last time or `with_keys`.

    Signals
    -------
    chosen : a `ConnectToService`.
    """

    chosen = Signal(object)

    def __init__(self, settings: QSettings, theme: Theme, *, with_keys: bool = False) -> None:
        super().__init__()
        self.endpoint = EndpointField(RESULTS, RecentList(settings, SERVICES), theme, "endpoint of the service")
        self.keys = KeysField(settings, "watch/keys", theme)
        self.keys.setVisible(with_keys or bool(self.keys.place))
        self.go = QPushButton("Watch")
        row = QHBoxLayout()
        row.addWidget(self.endpoint, 1)
        row.addWidget(self.go)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(row)
        layout.addWidget(self.keys)
        self.keys.changed.connect(self._check)
        self.keys.folder.returnPressed.connect(self.submit)
        self.endpoint.changed.connect(self._check)
        self.endpoint.entered.connect(self.submit)
        self.go.clicked.connect(self.submit)

    @property
    def problem(self) -> str:
        """The problem of the input; empty if it is valid."""
        return self.endpoint.problem or self.keys.problem

    def submit(self) -> None:
        """Emit `chosen`, if the input is valid."""
        if not self.problem:
            self.keys.remember()
            self.chosen.emit(ConnectToService(self.endpoint.url, self.keys.place))

    def apply_theme(self, theme: Theme) -> None:
        """Apply a theme."""
        self.endpoint.apply_theme(theme)
        self.keys.apply_theme(theme)

    def _check(self) -> None:
        self.go.setEnabled(not self.problem)


class ServeForm(QWidget):
    """Form for the endpoint of a rig, and the folder of the recording.

    Signals
    -------
    chosen : a `ServeRig`.
    """

    chosen = Signal(object)

    def __init__(self, settings: QSettings, theme: Theme) -> None:
        super().__init__()
        self._settings = settings
        self.direction = QComboBox()
        self.direction.addItems(["the rig publishes at", "the rig connects to"])
        self.direction.setAccessibleName("who listens")
        self.endpoint = EndpointField(SIGNALS, RecentList(settings, RIGS), theme, "endpoint of the rig", of_rig=True)
        self.insecure = QCheckBox("Other machines may connect, without encryption")
        self.insecure.hide()
        self.folder = QLineEdit(str(settings.value(RECORDED, "")), placeholderText="empty: as in the settings")
        self.folder.setAccessibleName("folder of the recordings")
        self.browse = QPushButton("Browse…")
        self.fault = PlainLabel()
        self.fault.setWordWrap(True)
        self.fault.hide()
        self.go = QPushButton("Start")
        layout = QGridLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.direction, 0, 0)
        layout.addWidget(self.endpoint, 0, 1)
        layout.addWidget(self.go, 0, 2)
        layout.addWidget(self.insecure, 1, 1)
        layout.addWidget(PlainLabel("record in"), 2, 0)
        layout.addWidget(self.folder, 2, 1)
        layout.addWidget(self.browse, 2, 2)
        layout.addWidget(self.fault, 3, 1)
        layout.setColumnStretch(1, 1)
        self.direction.currentIndexChanged.connect(self._switch_direction)
        self.insecure.toggled.connect(self._switch_direction)
        self.endpoint.changed.connect(self._check)
        self.endpoint.entered.connect(self.submit)
        self.folder.textChanged.connect(self._check)
        self.folder.returnPressed.connect(self.submit)
        self.browse.clicked.connect(self._browse)
        self.go.clicked.connect(self.submit)
        self.apply_theme(theme)

    @property
    def binds(self) -> bool:
        """Whether the service binds the endpoint."""
        return self.direction.currentIndex() == 1

    @property
    def record(self) -> str:
        """Folder of the recordings, with a slash at its end; empty: nothing is recorded."""
        text = self.folder.text().strip()
        return f"{text.rstrip('/')}/" if text else ""

    @property
    def problem(self) -> str:
        """The problem of the input; empty if it is valid."""
        return self.endpoint.problem or self._folder_problem

    @property
    def source(self) -> ServeRig:
        """The source, for a valid input."""
        words = ("--insecure",) if self.binds and self.insecure.isChecked() else ()
        url = self.endpoint.url
        return ServeRig("" if self.binds else url, url if self.binds else "", None, words, self.record)

    def submit(self) -> None:
        """Emit `chosen`, if the input is valid."""
        if not self.problem:
            self._settings.setValue(RECORDED, self.folder.text().strip())
            self.chosen.emit(self.source)

    def apply_theme(self, theme: Theme) -> None:
        """Apply a theme."""
        self.endpoint.apply_theme(theme)
        self.fault.setStyleSheet(f"color: {theme.bad}")

    @property
    def _folder_problem(self) -> str:
        path = Path(self.record)
        if self.record and path.exists() and not path.is_dir():
            return f"{path} is a file: give a folder"
        return ""

    def _switch_direction(self) -> None:
        self.insecure.setVisible(self.binds)
        self.endpoint.expect(bind=self.binds, open_to_others=self.insecure.isChecked())

    def _check(self) -> None:
        self.fault.setText(self._folder_problem)
        self.fault.setVisible(bool(self._folder_problem))
        self.go.setEnabled(not self.problem)

    def _browse(self) -> None:
        ask_path(self, "Folder of the recordings", self.folder.text(), self.folder.setText)


class ConnectDialog(QDialog):
    """Dialog with the forms for a service and for a rig.

    Parameters
    ----------
    settings : where endpoints are remembered.
    theme : colours.
    serve : show the form for a rig first.

    Signals
    -------
    chosen : a `ConnectToService` or a `ServeRig`.
    """

    chosen = Signal(object)

    def __init__(
        self, settings: QSettings, theme: Theme, parent: QWidget | None = None, *, serve: bool = False
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Connect")
        self.watch, self.serve = WatchForm(settings, theme, with_keys=True), ServeForm(settings, theme)
        layout = QVBoxLayout(self)
        for title, form in (("Connect to a running service", self.watch), ("Start a service for a rig", self.serve)):
            group = QGroupBox(title)
            QVBoxLayout(group).addWidget(form)
            layout.addWidget(group)
            form.chosen.connect(self._accept_source)
            # Enter is handled by the field that has the focus
            form.go.setAutoDefault(False)
        self.serve.browse.setAutoDefault(False)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel, self)
        buttons.button(QDialogButtonBox.StandardButton.Cancel).setAutoDefault(False)
        buttons.rejected.connect(self.reject)
        layout.addStretch(1)
        layout.addWidget(buttons)
        (self.serve if serve else self.watch).endpoint.setFocus()
        self.resize(560, self.sizeHint().height())

    def _accept_source(self, source: object) -> None:
        self.accept()
        self.chosen.emit(source)
