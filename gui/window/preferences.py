"""Preferences: the theme, and the settings of the window and of the service that it starts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QSettings, Qt, Signal
from PySide6.QtGui import QFont, QGuiApplication
from PySide6.QtWidgets import QApplication

from gui.panels.events import EventsPanel
from gui.panels.indicators import IndicatorsPanel
from gui.panels.over_time import TimePanel
from gui.panels.tiles import TilesPanel
from gui.settings.dialog import SettingsDialog
from gui.settings.files import ExportError, read_settings, write_settings
from gui.settings.window_settings import WindowSettings, keep_window_settings, load_window_settings
from gui.widgets.theme import Choice, Theme, paint, theme_of
from gui.window.actions import Actions
from gui.window.window import MainWindow
from monitor.config import Settings

CHOICES: tuple[Choice, ...] = ("system", "light", "dark")


class ThemeController(QObject):
    """Paint the application in the theme and the size of text that are chosen.

    Signals
    -------
    changed : the `Theme` that is painted now.
    """

    changed = Signal(object)

    def __init__(self, choice: Choice, font_scale: float, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._font = QApplication.font()
        self._font_scale = font_scale
        self.choice: Choice = choice
        self.theme: Theme = theme_of(choice)
        self._paint()
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._follow_system)

    def choose(self, choice: Choice, font_scale: float | None = None) -> None:
        """Take another theme, or another size of text as a factor of the desktop's."""
        self.choice, self._font_scale = choice, font_scale or self._font_scale
        self.theme = theme_of(choice)
        self._paint()
        self.changed.emit(self.theme)

    def _follow_system(self, _scheme: Qt.ColorScheme) -> None:
        if self.choice == "system":
            self.choose("system")

    def _paint(self) -> None:
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        paint(application, self.theme)
        font = QFont(self._font)
        font.setPointSizeF(self._font.pointSizeF() * self._font_scale)
        application.setFont(font)


class SettingsController(QObject):
    """Keep the settings of the window and of the service, and apply them to a window.

    Parameters
    ----------
    store : where those of the window are kept; the service's are a TOML file beside it.
    theme : for this time instead of the one that was chosen.
    """

    def __init__(self, store: QSettings, theme: Choice | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self.service_file = Path(store.fileName()).with_name("service.toml")
        self.settings, self._told = load_window_settings(store)
        self.themes = ThemeController(theme or self.settings.theme, self.settings.font_scale, self)
        self._dialog: SettingsDialog | None = None

    def attach(self, window: MainWindow, actions: Actions, say: Callable[[str, str], None]) -> None:
        """Apply the settings to a window from now on; `say` tells level and text."""
        self._window, self._actions, self._say = window, actions, say
        self.themes.changed.connect(window.apply_theme)
        actions.connect({f"theme.{choice}": partial(self._choose_theme, choice) for choice in CHOICES})
        actions.connect({"window.settings": self._present})
        actions[f"theme.{self.themes.choice}"].setChecked(True)
        self._apply()
        if self._told:
            say("warning", self._told)

    def keep(self) -> None:
        """Write the settings of the window for the next start."""
        keep_window_settings(self._store, self.settings)

    def _apply(self) -> None:
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

    def _choose_theme(self, choice: Choice) -> None:
        self.settings = self.settings.model_copy(update={"theme": choice})
        self.themes.choose(choice)

    def _present(self) -> None:
        service, told = read_settings(self.service_file)
        if told:
            self._say("warning", told)
        if self._dialog is None:
            self._dialog = SettingsDialog(self._window)
            self._dialog.accepted_settings.connect(self._accept)
        self._dialog.present(self.settings, service)

    def _accept(self, window: WindowSettings, service: Settings) -> None:
        before, self.settings = (self.themes.choice, self.settings.font_scale), window
        self.keep()
        known, _ = read_settings(self.service_file)
        if service != known:
            self._keep_service(service)
        self._actions[f"theme.{window.theme}"].setChecked(True)
        if before != (window.theme, window.font_scale):
            self.themes.choose(window.theme, window.font_scale)
        self._apply()
        self._window.redraw()

    def _keep_service(self, service: Settings) -> None:
        try:
            self.service_file.parent.mkdir(parents=True, exist_ok=True)
            write_settings(service, self.service_file)
        except (ExportError, OSError) as problem:
            self._say("error", str(problem))
        else:
            self._say("info", "the service's settings apply from its next start: open the source again")
