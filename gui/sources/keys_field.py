"""A field for the folder of keys that was handed over, where a service asks for them."""

from __future__ import annotations

from PySide6.QtCore import QSettings, Signal
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from gui.widgets.labels import PlainLabel
from gui.widgets.theme import Theme
from monitor.transport.security.key_files import KeyFileError, keys_of


class KeysField(QWidget):
    """Ask for a folder; empty means a connection without keys.

    Parameters
    ----------
    settings : where it is remembered under `name`.
    theme : colours.

    Signals
    -------
    changed : another text.
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
        row.addWidget(PlainLabel("keys in"))
        row.addWidget(self.folder, 1)
        row.addWidget(self.browse)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addLayout(row)
        layout.addWidget(self.fault)
        self.folder.textChanged.connect(self._check)
        self.browse.clicked.connect(self._browse)
        self.restyle(theme)

    @property
    def place(self) -> str:
        """What is written."""
        return self.folder.text().strip()

    @property
    def problem(self) -> str:
        """What is wrong with it; empty when nothing is."""
        try:
            keys_of(self.place)
        except KeyFileError as problem:
            return str(problem)
        return ""

    def remember(self) -> None:
        """Write it there the next time."""
        self._settings.setValue(self._name, self.place)

    def restyle(self, theme: Theme) -> None:
        """Take other colours."""
        self.fault.setStyleSheet(f"color: {theme.bad}")

    def _check(self) -> None:
        problem = self.problem
        self.fault.setText(problem)
        self.fault.setVisible(bool(problem))
        self.changed.emit()

    def _browse(self) -> None:
        dialog = QFileDialog(self, "Folder of the keys", self.place)
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.fileSelected.connect(self.folder.setText)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()
