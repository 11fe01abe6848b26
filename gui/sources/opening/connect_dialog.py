"""Connect dialog: forms to connect to a running service, or to start one for a rig, with recently used values."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
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
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from gui.sources.processes.session import ConnectToService, ServeRig
from gui.widgets.layout import fill
from gui.widgets.menus import ask_path
from gui.widgets.painting import PlainLabel, ProblemLabel
from monitor.system.default_endpoints import RESULTS, SIGNALS
from monitor.transport.base import TransportError
from monitor.transport.lsl.library import check_signal_endpoint
from monitor.transport.zeromq.endpoint import check_endpoint, is_local
from monitor.transport.zeromq.key_files import KeyFileError, keys_of

_HOST_AND_PORT = re.compile(r"[^\s:/]+:\d{1,5}")  # without a transport
_decoder = msgspec.json.Decoder(list[str])


class RecentList:
    """List of recently used texts in the settings.

    Parameters
    ----------
    settings : that store the list.
    key : of the list.
    most : maximum length.
    """

    def __init__(self, settings: QSettings, key: str, most: int = 8) -> None:
        self._settings, self._key, self._most = settings, key, most

    @property
    def texts(self) -> tuple[str, ...]:
        """The newest first; empty if the settings are damaged."""
        try:
            return tuple(_decoder.decode(str(self._settings.value(self._key, "[]"))))[: self._most]
        except msgspec.DecodeError:
            return ()

    def add(self, text: str) -> None:
        """Add a text, as the first."""
        self._store([text, *(each for each in self.texts if each != text)])

    def remove(self, text: str) -> None:
        """Remove a text."""
        self._store([each for each in self.texts if each != text])

    def _store(self, texts: list[str]) -> None:
        self._settings.setValue(self._key, msgspec.json.encode(texts[: self._most]).decode())


class EndpointField(QWidget):
    """Input field for an endpoint, ``tcp://HOST:PORT``, of a rig also ``lsl://NAME``.

    Parameters
    ----------
    usual : initial text, if there are no recent ones.
    recent : recently used endpoints; None: not stored.
    name : accessible name of the field.
    of_rig : signals come from there.

    Signals
    -------
    changed : the text has changed.
    entered : Enter was pressed, and the text is a valid endpoint.
    """

    changed = Signal()
    entered = Signal()

    def __init__(self, usual: str, recent: RecentList | None, name: str, *, of_rig: bool = False) -> None:
        super().__init__()
        self._recent, self._usual = recent, usual
        self._check_url = check_signal_endpoint if of_rig else check_endpoint
        self._bind = self._open_to_others = False
        self.box = QComboBox(editable=True)
        self.box.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.box.setAccessibleName(name)
        self.box.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.box.setMinimumContentsLength(18)
        self.fault = ProblemLabel()
        fill(QVBoxLayout(self), self.box, self.fault, margins=(0, 0, 0, 0), spacing=2)
        self.setFocusProxy(self.box)
        field = self.box.lineEdit()
        assert field is not None
        field.returnPressed.connect(self._enter)
        self.refresh()
        self.box.editTextChanged.connect(self._check)

    @property
    def url(self) -> str:
        """The text."""
        return self.box.currentText().strip()

    @property
    def problem(self) -> str:
        """The problem of the text; empty if it is valid."""
        try:
            self._check_url(self.url, bind=self._bind)
        except TransportError as problem:
            return f"write tcp://{self.url}" if _HOST_AND_PORT.fullmatch(self.url) else str(problem)
        if self._bind and not self._open_to_others and not is_local(self.url):
            return "other machines could connect, without encryption: allow that below, or write 127.0.0.1"
        return ""

    def expect(self, *, bind: bool, open_to_others: bool = False) -> None:
        """Set whether the endpoint is bound, and whether other machines may connect to it."""
        self._bind, self._open_to_others = bind, open_to_others
        self._check()

    def write(self, url: str) -> None:
        """Set the text."""
        self.box.setEditText(url)

    def refresh(self) -> None:
        """List the recent endpoints, and show the newest: what was typed and did not work is no default."""
        known = () if self._recent is None else self._recent.texts
        self.box.clear()
        self.box.addItems(list(dict.fromkeys((*known, self._usual))))

    def _enter(self) -> None:
        if not self.problem:
            self.entered.emit()

    def _check(self) -> None:
        self.fault.show_problem(self.problem)
        self.changed.emit()


class KeysField(QWidget):
    """Input field for a key folder; empty: without encryption.

    Parameters
    ----------
    settings : that store the text under `name`.

    Signals
    -------
    changed : the text has changed.
    """

    changed = Signal()

    def __init__(self, settings: QSettings, name: str) -> None:
        super().__init__()
        self._settings, self._name = settings, name
        self.folder = QLineEdit(str(settings.value(name, "")), placeholderText="empty: without encryption")
        self.folder.setAccessibleName("folder of the keys")
        self.browse = QPushButton("Browse…")
        self.browse.setAutoDefault(False)
        self.fault = ProblemLabel()
        row = fill(QHBoxLayout(), PlainLabel("key folder"), (self.folder, 1), self.browse)
        fill(QVBoxLayout(self), row, self.fault, margins=(0, 0, 0, 0), spacing=2)
        self.folder.textChanged.connect(self._check)
        self.browse.clicked.connect(self._browse)

    @property
    def place(self) -> str:
        """The text."""
        return self.folder.text().strip()

    @property
    def problem(self) -> str:
        """The problem of the text; empty if it is valid."""
        try:
            keys_of(self.place)
        except KeyFileError as problem:
            return str(problem)
        return ""

    def remember(self) -> None:
        """Store the text for the next time."""
        self._settings.setValue(self._name, self.place)

    def _check(self) -> None:
        self.fault.show_problem(self.problem)
        self.changed.emit()

    def _browse(self) -> None:
        ask_path(self, "Folder of the keys", self.place, self.folder.setText)


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

    def __init__(self, settings: QSettings, *, with_keys: bool = False) -> None:
        super().__init__()
        self.endpoint = EndpointField(RESULTS, RecentList(settings, SERVICES), "endpoint of the service")
        self.keys = KeysField(settings, "watch/keys")
        self.keys.setVisible(with_keys or bool(self.keys.place))
        self.go = QPushButton("Watch")
        row = fill(QHBoxLayout(), (self.endpoint, 1), self.go)
        fill(QVBoxLayout(self), row, self.keys, margins=(0, 0, 0, 0))
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

    def _check(self) -> None:
        self.go.setEnabled(not self.problem)


class ServeForm(QWidget):
    """Form for the endpoint of a rig, and the folder of the recording.

    Signals
    -------
    chosen : a `ServeRig`.
    """

    chosen = Signal(object)

    def __init__(self, settings: QSettings) -> None:
        super().__init__()
        self._settings = settings
        self.direction = QComboBox()
        self.direction.addItems(["the rig publishes at", "the rig connects to"])
        self.direction.setAccessibleName("who listens")
        self.endpoint = EndpointField(SIGNALS, RecentList(settings, RIGS), "endpoint of the rig", of_rig=True)
        self.insecure = QCheckBox("Other machines may connect, without encryption")
        self.insecure.hide()
        self.folder = QLineEdit(str(settings.value(RECORDED, "")), placeholderText="empty: as in the settings")
        self.folder.setAccessibleName("folder of the recordings")
        self.browse = QPushButton("Browse…")
        self.fault = ProblemLabel()
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
        self.fault.show_problem(self._folder_problem)
        self.go.setEnabled(not self.problem)

    def _browse(self) -> None:
        ask_path(self, "Folder of the recordings", self.folder.text(), self.folder.setText)


class ConnectDialog(QDialog):
    """Dialog with the forms for a service and for a rig.

    Parameters
    ----------
    settings : where endpoints are remembered.
    serve : show the form for a rig first.

    Signals
    -------
    chosen : a `ConnectToService` or a `ServeRig`.
    """

    chosen = Signal(object)

    def __init__(self, settings: QSettings, parent: QWidget | None = None, *, serve: bool = False) -> None:
        super().__init__(parent)
        self.setWindowTitle("Connect")
        self.watch, self.serve = WatchForm(settings, with_keys=True), ServeForm(settings)
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
