"""How probable it is that a model still describes the test: its reliabilities, its band, and what was decided."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QComboBox

from gui.model.alarm_limits import WatchedLimits
from gui.model.history.history import History
from gui.panels.decision import decided
from gui.panels.over_time import TimePanel
from gui.panels.reliability_rows import reliability_rows, row_data, row_values
from gui.plots.time.rows import Reader, Row, RowData
from gui.plots.view import View
from gui.widgets.level_colour import level_colour
from gui.widgets.plain_text import plain_tip
from gui.widgets.theme import Theme
from gui.wording.level import Level

_NOTHING = (
    "No model is loaded. Start the service with one,\n"
    "synchroscope monitor --ensemble beam.h5 --response deflection --tolerance 16% --limit accumulated=0.7:0.85\n"
    "or choose one of the models that are judged in the menu Simulations."
)


class ReliabilityPanel(TimePanel):
    """The reliabilities of one site, and its measurement over the model's band; or the reliabilities of all sites."""

    key = "reliability"
    title = "Reliability"

    def __init__(self, view: View, theme: Theme) -> None:
        super().__init__(view, theme, _NOTHING)
        self.sites = QComboBox(self)
        self.sites.setAccessibleName("site of the model")
        self.sites.setToolTip("Where the model is judged")
        self.controls.insertWidget(0, self.sites)
        self.sites.setVisible(False)
        self.sites.currentTextChanged.connect(self._other_site)
        self._level = Level.NONE
        self._watched: WatchedLimits = ()

    @property
    def site(self) -> str:
        """The one that is shown; empty where none is judged."""
        return self.sites.currentText()

    def choose(self, site: str) -> None:
        """Show another site."""
        self.sites.setCurrentText(site)

    def configure(self, history: History) -> None:
        """Take the sites that are judged."""
        names = () if history.results is None else history.results.sites
        before = self.site
        blocked = self.sites.blockSignals(True)
        self.sites.clear()
        self.sites.addItems(names)
        if before in names:
            self.sites.setCurrentText(before)
        self.sites.blockSignals(blocked)
        self.sites.setVisible(len(names) > 1)
        super().configure(history)
        self._tell(history)

    def refresh(self, history: History) -> None:
        """Draw, and say what was decided by then."""
        if history.limits is not self._watched and self._history is history:
            self._reoffer()
        super().refresh(history)
        self._tell(history)

    def restyle(self, theme: Theme) -> None:
        """Take other colours."""
        super().restyle(theme)
        self._colour()

    def offer(self, history: History) -> tuple[tuple[Row, str], ...]:
        """Return the rows of the chosen site; of all sites together, those of each below."""
        results, self._watched = history.results, history.limits
        if results is None or not self.site:
            return ()
        return tuple((row, "") for row in reliability_rows(history, results, self.site))

    def usual(self, history: History) -> Sequence[str]:  # noqa: ARG002 - the same of every history
        """Return all rows."""
        return [row.key for row, _ in self._offered]

    def rows_data(self, history: History, left: float, right: float) -> tuple[RowData | None, ...]:
        """Return the reliabilities with their errors, and the model with its measurement."""
        results = history.results
        if results is None:
            return (None,) * len(self.stack.rows)
        seen, n_columns = self.stack.seen, self.stack.columns
        return tuple(
            row_data(history, results, row, left, right, n_columns) if i in seen else None
            for i, row in enumerate(self.stack.rows)
        )

    def reader(self, history: History) -> Reader:
        """Return what reads the values of all rows."""
        rows = self.stack.rows
        return lambda x: [row_values(history, row, x) for row in rows]

    def _other_site(self) -> None:
        self._reoffer()
        self._again()
        if self._history is not None:
            self._tell(self._history)

    def _tell(self, history: History) -> None:
        """Say in the heading what was decided last, as of the instant that is looked at."""
        said, level = decided(history, self.site, self.view.instant)
        if said != self.heading.text():
            self.heading.setText(said)
            self.heading.setToolTip(plain_tip(said))
        if level is not self._level:
            self._level = level
            self._colour()

    def _colour(self) -> None:
        palette = QPalette(self.heading.palette())
        text = self.theme.text if self._level is Level.NONE else level_colour(self.theme, self._level)
        palette.setColor(QPalette.ColorRole.WindowText, QColor(text))
        self.heading.setPalette(palette)
