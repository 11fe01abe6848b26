"""The forms about services, from the menu."""

from __future__ import annotations

from PySide6.QtCore import QSettings, Signal
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QGroupBox, QVBoxLayout, QWidget

from gui.sources.service_forms import ServeForm, WatchForm
from gui.widgets.theme import Theme


class ConnectDialog(QDialog):
    """Ask which service to watch, or for which rig to start one.

    Parameters
    ----------
    settings : where endpoints are remembered.
    theme : colours.
    serve : begin with the rig.

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
        for title, form in (
            ("Watch a service that runs", self.watch),
            ("Start a service for a rig", self.serve),
        ):
            group = QGroupBox(title)
            QVBoxLayout(group).addWidget(form)
            layout.addWidget(group)
            form.chosen.connect(self._take)
            # Enter belongs to the field it is pressed in
            form.go.setAutoDefault(False)
        self.serve.browse.setAutoDefault(False)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel, self)
        buttons.button(QDialogButtonBox.StandardButton.Cancel).setAutoDefault(False)
        buttons.rejected.connect(self.reject)
        layout.addStretch(1)
        layout.addWidget(buttons)
        (self.serve if serve else self.watch).endpoint.setFocus()
        self.resize(560, self.sizeHint().height())

    def _take(self, source: object) -> None:
        self.accept()
        self.chosen.emit(source)
