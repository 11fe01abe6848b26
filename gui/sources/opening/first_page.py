"""Start page: demonstration, services, runs, recordings and simulations that can be opened."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QSettings, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QCommandLinkButton,
    QFrame,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from gui.sources.opening.connect_dialog import RecentList, ServeForm, WatchForm
from gui.sources.opening.run_list import RunList
from gui.sources.processes.catalogue import Catalogue
from gui.sources.processes.playback import PlaySimulation
from gui.widgets.layout import fill
from gui.widgets.lists import set_row_padding
from gui.widgets.painting import MutedLabel, PlainLabel, font_like, media_icon, plain_tip
from gui.widgets.theme import Theme

DEMONSTRATION = "hybrid"
_WIDEST = 1440
_TWO_COLUMNS = 820
"""px; a narrower page has its parts below each other."""
_RUNS = 0.6
"""Of the height of the page: the largest table of runs."""
_OFFER = Qt.ItemDataRole.UserRole


def recent_files(settings: QSettings) -> RecentList:
    """Return the list of recently opened recordings."""
    return RecentList(settings, "open/recent")


class FirstPage(QScrollArea):
    """Page with links to a demonstration, services, recordings and simulations, and the runs of a folder.

    Parameters
    ----------
    offers : simulations.
    settings : that store endpoints and folders.
    theme : colours.

    Signals
    -------
    chosen : a source: `ConnectToService`, `ServeRig` or `PlaySimulation`.
    browse : choose a recording in a dialog.
    path_chosen : path of a recent recording.

    Attributes
    ----------
    simulations : button; its menu is that of the window.
    """

    chosen = Signal(object)
    browse = Signal()
    path_chosen = Signal(str)

    def __init__(
        self,
        offers: Catalogue,
        settings: QSettings,
        theme: Theme,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setAccessibleName("start page")
        self.theme = theme
        self._offers, self._settings = offers, settings
        self.demonstration = QCommandLinkButton(
            "See a demonstration", "A simulated hybrid test with three actuators, live; no rig is needed."
        )
        self.open = QCommandLinkButton(
            "Open a recording…", "Replay a run file or a table of numbers; or drop one here."
        )
        self.watch, self.serve = WatchForm(settings), ServeForm(settings)
        self.runs = RunList(settings, theme)
        self.simulations = QPushButton("Play a simulation")
        self.recent = QListWidget()
        self._lay_out()
        self.refresh()
        self.demonstration.setEnabled(offers.simulation(DEMONSTRATION) is not None)
        self.demonstration.clicked.connect(self._demonstrate)
        self.open.clicked.connect(self.browse)
        self.watch.chosen.connect(self.chosen)
        self.serve.chosen.connect(self.chosen)
        self.recent.itemActivated.connect(self._reopen)
        self.runs.opened.connect(self.path_chosen)
        self.apply_theme(theme)

    def refresh(self) -> None:
        """List the endpoints that have worked, the recent recordings that still exist, and the runs."""
        for form in (self.watch, self.serve):
            form.endpoint.refresh()
        self.recent.clear()
        for text in recent_files(self._settings).texts:
            path = Path(text)
            if path.exists():
                item = QListWidgetItem(f"{path.name}   {path.parent}", self.recent)
                item.setData(_OFFER, text)
                item.setToolTip(plain_tip(text))
        self.recent.setVisible(self.recent.count() > 0)
        self._recent_heading.setVisible(self.recent.count() > 0)
        self.runs.last_opened = str(self.recent.item(0).data(_OFFER)) if self.recent.count() else ""
        self.runs.refresh()

    def apply_theme(self, theme: Theme) -> None:
        """Apply a theme."""
        self.theme = theme
        self.demonstration.setIcon(media_icon("play", theme.accent))
        self.open.setIcon(media_icon("open", theme.accent))
        self.runs.apply_theme(theme)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Place the parts side by side if there is room."""
        super().resizeEvent(event)
        wide = self.width() >= _TWO_COLUMNS
        self.runs.set_room(round(_RUNS * self.height()))
        self._parts.setDirection(QBoxLayout.Direction.LeftToRight if wide else QBoxLayout.Direction.TopToBottom)

    def _lay_out(self) -> None:
        page = QWidget()
        page.setMaximumWidth(_WIDEST)
        rows = QVBoxLayout(page)
        rows.setContentsMargins(24, 24, 24, 24)
        self._parts = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._parts.setSpacing(32)
        left, right = QVBoxLayout(), QVBoxLayout()
        left.setSpacing(6)
        right.setSpacing(6)
        self._recent_heading = _heading("Recent files")
        for part in (self._recent_heading, self.recent, self.open, self.demonstration):
            left.addWidget(part)
        for title, text, form in (
            ("Watch a service", "Connect to a running service, on this computer or another.", self.watch),
            (
                "Start a service for a rig",
                "Receive the signals of a rig, compute its indicators live, and record the run.",
                self.serve,
            ),
        ):
            left.addSpacing(12)
            for below in (_heading(title), _sentence(text), form):
                left.addWidget(below)
        left.addStretch(1)
        right.addWidget(_heading("Runs"))
        right.addWidget(self.runs)
        right.addSpacing(12)
        line = fill(
            QHBoxLayout(),
            self.simulations,
            (_sentence("Streams with known errors, to see how the indicators respond."), 1),
        )
        right.addLayout(line)
        right.addStretch(1)
        rows.addWidget(_heading("Synchroscope", 2.0, bold=False))
        rows.addWidget(
            _sentence("Delay and amplitude error of each actuator in a hybrid test, live and in recordings.")
        )
        rows.addSpacing(12)
        rows.addLayout(self._parts, 1)
        self._parts.addLayout(left, 3)
        self._parts.addLayout(right, 5)
        self.setWidget(page)
        self.setWidgetResizable(True)
        self.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.setFrameShape(QFrame.Shape.NoFrame)
        set_row_padding(self.recent)
        self.recent.setAccessibleName("recent files; Enter opens one")
        self.recent.setMaximumHeight(140)
        self.recent.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def _demonstrate(self) -> None:
        if offer := self._offers.simulation(DEMONSTRATION):
            self.chosen.emit(PlaySimulation(offer.name, offer.model_under_test))

    def _reopen(self, item: QListWidgetItem) -> None:
        self.path_chosen.emit(str(item.data(_OFFER)))


def _heading(text: str, scale: float = 1.15, *, bold: bool = True) -> QLabel:
    label = PlainLabel(text)
    label.setFont(font_like(label.font(), scale, bold=bold))
    return _low(label)


def _sentence(text: str) -> QLabel:
    return _low(MutedLabel(text))


def _low(label: QLabel) -> QLabel:
    """Limit the height of a label to its lines."""
    policy = label.sizePolicy()
    policy.setVerticalPolicy(QSizePolicy.Policy.Maximum)
    label.setSizePolicy(policy)
    return label
