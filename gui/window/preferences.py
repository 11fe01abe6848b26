"""Preferences: the theme, and the settings of the window and of the service that it starts."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QSettings, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from gui.panels.events import EventsPanel
from gui.panels.indicators import IndicatorsPanel
from gui.panels.over_time import TimePanel
from gui.panels.tiles import TilesPanel
from gui.panels.wall import WallPanel
from gui.settings.dialog import SettingsDialog
from gui.settings.storage import (
    WindowSettings,
    load_window_settings,
    read_service_settings,
    save_window_settings,
    write_service_settings,
)
from gui.widgets.painting import font_like
from gui.widgets.theme import Choice, Theme, apply_palette, theme_of
from gui.window.window import MainWindow
from monitor.config import Settings
from monitor.system.files import WriteError

_FRAME_SCALE = 1.25
"""Text of menus and bars grows up to this factor, so that larger text enlarges figures and plots."""
_FRAME_CLASSES = ("QMenuBar", "QMenu", "QToolButton", "QPushButton", "QComboBox", "QTabBar", "QHeaderView")
CHOICES: tuple[Choice, ...] = ("system", "light", "dark")


class ThemeController(QObject):
    """Applies theme and text size to the application; `frame_font` is that of the bars around the panels.

    Signals
    -------
    changed : the `Theme` that is applied.
    """

    changed = Signal(object)

    def __init__(self, choice: Choice, font_scale: float, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._font = QApplication.font()
        self._font_scale = font_scale
        self.choice: Choice = choice
        self.theme: Theme = theme_of(choice)
        self._apply()
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._follow_system)

    def choose(self, choice: Choice, font_scale: float | None = None) -> None:
        """Apply another theme, or another text size as a factor on the desktop's."""
        self.choice, self._font_scale = choice, font_scale or self._font_scale
        self.theme = theme_of(choice)
        self._apply()
        self.changed.emit(self.theme)

    def _follow_system(self, _scheme: Qt.ColorScheme) -> None:
        if self.choice == "system":
            self.choose("system")

    def _apply(self) -> None:
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        apply_palette(application, self.theme)
        application.setFont(font_like(self._font, self._font_scale))
        self.frame_font = font_like(self._font, min(self._font_scale, _FRAME_SCALE))
        for name in _FRAME_CLASSES:
            application.setFont(self.frame_font, name)  # type: ignore[arg-type] # the stubs want bytes


class SettingsController(QObject):
    """Stores the settings of the window and of the service, and applies those of the window.

    Parameters
    ----------
    store : the settings of the program; those of the service are a TOML file in the same folder.
    theme : for this session, instead of the stored one.
    """

    def __init__(self, store: QSettings, theme: Choice | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self.service_file = Path(store.fileName()).with_name("service.toml")
        self.settings, self._warning = load_window_settings(store)
        self.themes = ThemeController(theme or self.settings.theme, self.settings.font_scale, self)
        self._dialog: SettingsDialog | None = None

    def attach(self, window: MainWindow) -> None:
        """Apply the settings to a window from now on."""
        self._window, actions = window, window.commands
        self.themes.changed.connect(self._apply_theme)
        window.set_frame_font(self.themes.frame_font)
        actions.connect({f"theme.{choice}": partial(self._choose_theme, choice) for choice in CHOICES})
        actions.connect({"window.settings": self.present})
        actions[f"theme.{self.themes.choice}"].setChecked(True)
        self._apply()
        if self._warning:
            window.notify("warning", self._warning)

    def save(self) -> None:
        """Store the settings of the window."""
        save_window_settings(self._store, self.settings)

    def _apply(self) -> None:
        window, settings = self._window, self.settings
        lines = settings.limits.lines
        window.dock_area.panel(IndicatorsPanel).set_limits(lines)
        for tiles in (TilesPanel, WallPanel):
            window.dock_area.panel(tiles).set_limits(lines)
        for panel in window.dock_area.panels.values():
            if isinstance(panel, TimePanel):
                panel.stack.set_smooth(settings.antialias_when_paused)
                panel.set_clock_time(settings.clock_time)
        window.alarm_banner.blinks, window.alarm_banner.sounds = settings.blink, settings.sound
        alarms = window.dock_area.panel(EventsPanel).alarms
        alarms.operator, alarms.confirm_limits = settings.operator, settings.confirm_limits
        window.connection.memory, window.connection.minutes = settings.live_memory << 20, settings.history_minutes
        window.connection.recorded_memory = settings.memory << 20
        if window.running:
            window.start(settings.frame_rate)

    def _apply_theme(self, theme: Theme) -> None:
        self._window.set_frame_font(self.themes.frame_font)
        self._window.apply_theme(theme)

    def _choose_theme(self, choice: Choice) -> None:
        self.settings = self.settings.model_copy(update={"theme": choice})
        self.themes.choose(choice)

    def present(self, limited: str = "") -> None:
        """Show the dialog; at the display limits of a quantity, where that is not empty."""
        service, warning = read_service_settings(self.service_file)
        if warning:
            self._window.notify("warning", warning)
        if self._dialog is None:
            self._dialog = SettingsDialog(self._window)
            self._dialog.accepted_settings.connect(self._accept)
        self._dialog.present(self.settings, service)
        if limited:
            self._dialog.show_setting("limits", f"{limited}_warn")

    def _accept(self, window: WindowSettings, service: Settings) -> None:
        before, self.settings = (self.themes.choice, self.settings.font_scale), window
        self.save()
        stored, _ = read_service_settings(self.service_file)
        if service != stored:
            self._save_service(service)
        self._window.commands[f"theme.{window.theme}"].setChecked(True)
        if before != (window.theme, window.font_scale):
            self.themes.choose(window.theme, window.font_scale)
        self._apply()
        self._window.redraw()

    def _save_service(self, service: Settings) -> None:
        try:
            self.service_file.parent.mkdir(parents=True, exist_ok=True)
            write_service_settings(service, self.service_file)
        except (WriteError, OSError) as problem:
            self._window.notify("error", str(problem))
        else:
            self._window.notify("info", "settings of the service saved: they apply when the source is opened again")
