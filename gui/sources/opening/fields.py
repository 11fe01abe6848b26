"""Input fields for an endpoint and for keys, with recently used values."""

from __future__ import annotations

import re

import msgspec
from PySide6.QtCore import QSettings, Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLineEdit, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from gui.widgets.file_dialog import ask_path
from gui.widgets.labels import PlainLabel
from gui.widgets.theme import Theme
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
    theme : colours.
    name : accessible name of the field.
    of_rig : signals come from there.

    Signals
    -------
    changed : the text has changed.
    entered : Enter was pressed, and the text is a valid endpoint.
    """

    changed = Signal()
    entered = Signal()

    def __init__(
        self, usual: str, recent: RecentList | None, theme: Theme, name: str, *, of_rig: bool = False
    ) -> None:
        super().__init__()
        self.theme = theme
        self._recent, self._usual = recent, usual
        self._check_url = check_signal_endpoint if of_rig else check_endpoint
        self._bind = self._open_to_others = False
        self.box = QComboBox(editable=True)
        self.box.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.box.setAccessibleName(name)
        self.box.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.box.setMinimumContentsLength(18)
        self.fault = PlainLabel()
        self.fault.setWordWrap(True)
        self.fault.hide()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addWidget(self.box)
        layout.addWidget(self.fault)
        self.setFocusProxy(self.box)
        field = self.box.lineEdit()
        assert field is not None
        field.returnPressed.connect(self._enter)
        self.refresh()
        self.box.editTextChanged.connect(self._check)
        self.apply_theme(theme)

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

    def apply_theme(self, theme: Theme) -> None:
        """Apply a theme."""
        self.theme = theme
        self.fault.setStyleSheet(f"color: {theme.bad}")

    def _enter(self) -> None:
        if not self.problem:
            self.entered.emit()

    def _check(self) -> None:
        problem = self.problem
        self.fault.setText(problem)
        self.fault.setVisible(bool(problem))
        self.changed.emit()


class KeysField(QWidget):
    """Input field for a key folder; empty: without encryption.

    Parameters
    ----------
    settings : that store the text under `name`.
    theme : colours.

    Signals
    -------
    changed : the text has changed.
    """

    changed = Signal()

    def __init__(self, settings: QSettings, name: str, theme: Theme) -> None:
        super().__init__()
        self._settings, self._name = settings, name
        self.folder = QLineEdit(str(settings.value(name, "")), placeholderText="empty: without encryption")
        self.folder.setAccessibleName("folder of the keys")
        self.browse = QPushButton("Browse…")
        self.browse.setAutoDefault(False)
        self.fault = PlainLabel()
        self.fault.setWordWrap(True)
        self.fault.hide()
        row = QHBoxLayout()
        row.addWidget(PlainLabel("key folder"))
        row.addWidget(self.folder, 1)
        row.addWidget(self.browse)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addLayout(row)
        layout.addWidget(self.fault)
        self.folder.textChanged.connect(self._check)
        self.browse.clicked.connect(self._browse)
        self.apply_theme(theme)

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

    def apply_theme(self, theme: Theme) -> None:
        """Apply a theme."""
        self.fault.setStyleSheet(f"color: {theme.bad}")

    def _check(self) -> None:
        problem = self.problem
        self.fault.setText(problem)
        self.fault.setVisible(bool(problem))
        self.changed.emit()

    def _browse(self) -> None:
        ask_path(self, "Folder of the keys", self.place, self.folder.setText)
