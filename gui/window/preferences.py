"""How the window looks and what it remembers: theme, layouts, settings, the operator's mode."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, QSettings, Qt
from PySide6.QtGui import QFont, QGuiApplication
from PySide6.QtWidgets import QApplication, QInputDialog, QMessageBox

from gui.panels.events import EventsPanel
from gui.panels.indicators import IndicatorsPanel
from gui.panels.over_time import TimePanel
from gui.panels.tiles.panel import TilesPanel
from gui.settings.dialog import SettingsDialog
from gui.settings.files import ExportError, read_settings, write_settings
from gui.settings.window_settings import WindowSettings, keep_window_settings, load_window_settings
from gui.sources.opening.open_dialog import Opener
from gui.widgets.theme import Choice, paint, theme_of
from gui.window.actions import Actions
from gui.window.bindings import connect_all
from gui.window.layouts import Layouts
from gui.window.operator import OperatorMode
from gui.window.window import MainWindow
from monitor.config import Settings

Say = Callable[[str, str], None]
_ABOUT = (
    "Synchroscope {version}\n\n"
    "Live tracking indicators for hybrid simulation:\nhow late and how large each actuator is.\n"
    "BSD-3-Clause. Soft real time: it is no interlock."
)


class PreferencesController(QObject):
    """Keep settings, and apply them to a window.

    Parameters
    ----------
    store : where they are kept; the service's own are a TOML file beside it.
    theme : for this time instead of the one that was chosen.
    """

    def __init__(self, store: QSettings, theme: Choice | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self.service_file = Path(store.fileName()).with_name("service.toml")
        self.settings, self._told = load_window_settings(store)
        self._choice: Choice = theme or self.settings.theme
        self.theme = theme_of(self._choice)
        self._font = QApplication.font()
        self._paint()

    def dress(self, window: MainWindow, actions: Actions, opener: Opener, say: Say) -> None:
        """Take charge of a window's looks."""
        self._window, self._actions, self._opener, self._say = window, actions, opener, say
        self.layouts = Layouts(window, window.desk.docks, self._store, window.desk)
        self.layouts.changed.connect(self._name_layouts)
        self.operator = OperatorMode(window, actions, (window.replay, window.faults, window.bar), window.desk)
        self._dialog: SettingsDialog | None = None
        connect_all(
            actions,
            {f"theme.{choice}": self._theme_chooser(choice) for choice in ("system", "light", "dark")}
            | {f"layout.{n}": self._layout_chooser(n) for n in range(1, 10)}
            | {
                "layout.save": self._save_layout,
                "layout.delete": lambda: self.layouts.delete(self.layouts.current),
                "layout.reset": lambda: self._tell(self.layouts.reset()),
                "window.settings": self._present_settings,
                "help.about": self._about,
            },
        )
        actions[f"theme.{self._choice}"].setChecked(True)
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._follow_system)
        self._apply()
        if self._told:
            say("warning", self._told)

    def restore(self, layout: str = "") -> None:
        """Put the panels where they stood at the end of the last time, or as `layout` has them."""
        self.layouts.restore()
        if layout and layout not in self.layouts.names:
            self._say("warning", f"there is no layout {layout!r}: there are {', '.join(self.layouts.names)}")
        elif layout:
            self._tell(self.layouts.apply(layout))

    def keep(self) -> None:
        """Remember everything for the next start."""
        self.operator.set(False)
        self.layouts.store()
        keep_window_settings(self._store, self.settings)
        self._store.sync()

    def show_panel(self, key: str, layout: str) -> None:
        """Let a panel be seen: where it is hidden, by the layout that has it."""
        if self._window.desk.docks[key].isHidden():
            self._tell(self.layouts.apply(layout))

    def _paint(self) -> None:
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        paint(application, self.theme)
        font = QFont(self._font)
        font.setPointSizeF(self._font.pointSizeF() * self.settings.font_scale)
        application.setFont(font)

    def _apply(self) -> None:
        """Give the window what the settings say."""
        window, settings = self._window, self.settings
        lines = settings.limits.lines
        window.desk.panel(IndicatorsPanel).set_limits(lines)
        window.desk.panel(TilesPanel).set_limits(lines)
        for panel in window.desk.panels.values():
            if isinstance(panel, TimePanel):
                panel.stack.set_smooth(settings.antialias_when_paused)
        window.alarms.blinks = settings.blink
        window.desk.panel(EventsPanel).alarms.operator = settings.operator
        window.watch.memory, window.watch.minutes = settings.memory << 20, settings.history_minutes
        if window.running:
            window.start(settings.frame_rate)

    def _theme_chooser(self, choice: Choice) -> Callable[[], None]:
        def choose() -> None:
            self._choice = choice
            self.settings = self.settings.model_copy(update={"theme": choice})
            self._restyle()

        return choose

    def _follow_system(self, _scheme: Qt.ColorScheme) -> None:
        if self._choice == "system":
            self._restyle()

    def _restyle(self) -> None:
        self.theme = theme_of(self._choice)
        self._paint()
        self._window.restyle(self.theme)
        self._opener.theme = self.theme

    def _name_layouts(self) -> None:
        self._actions.name_layouts(self.layouts.names, self.layouts.current)
        self._actions.enable("layout.delete", self.layouts.current in self.layouts.saved)

    def _layout_chooser(self, number: int) -> Callable[[], None]:
        def choose() -> None:
            if number <= len(self.layouts.names):
                self._tell(self.layouts.apply(self.layouts.names[number - 1]))

        return choose

    def _save_layout(self) -> None:
        dialog = QInputDialog(self._window)
        dialog.setWindowTitle("Save layout")
        dialog.setLabelText("Name of this arrangement of the panels:")
        dialog.textValueSelected.connect(self._save_as)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _save_as(self, name: str) -> None:
        try:
            self.layouts.save(name)
        except ValueError as problem:
            self._say("error", str(problem))

    def _present_settings(self) -> None:
        service, told = read_settings(self.service_file)
        self._tell(told)
        if self._dialog is None:
            self._dialog = SettingsDialog(self._window)
            self._dialog.accepted_settings.connect(self._take)
        self._dialog.present(self.settings, service)

    def _take(self, window: WindowSettings, service: Settings) -> None:
        before, self.settings = (self._choice, self.settings.font_scale), window
        self._choice = window.theme
        keep_window_settings(self._store, window)
        known, _ = read_settings(self.service_file)
        if service != known:
            self._keep_service(service)
        self._actions[f"theme.{window.theme}"].setChecked(True)
        if before != (window.theme, window.font_scale):
            self._restyle()
        self._apply()
        self._window.redraw()

    def _keep_service(self, service: Settings) -> None:
        try:
            self.service_file.parent.mkdir(parents=True, exist_ok=True)
            write_settings(service, self.service_file)
        except (ExportError, OSError) as problem:
            self._say("error", str(problem))
        else:
            self._say("info", "the service's settings hold from its next start: open the source again")

    def _tell(self, line: str) -> None:
        if line:
            self._say("warning", line)

    def _about(self) -> None:
        from importlib.metadata import version

        box = QMessageBox(
            QMessageBox.Icon.NoIcon, "About", _ABOUT.format(version=version("synchroscope")), parent=self._window
        )
        box.setModal(False)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.show()
