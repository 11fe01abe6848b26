"""Light and dark colour themes, safe for colour-vision deficiency: shapes and words repeat what colours show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication

from gui.wording.level import Level

Choice = Literal["system", "light", "dark"]


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours as ``#rrggbb``.

    Parameters
    ----------
    name : light or dark.
    window, base, text, muted, grid, accent : surfaces and text.
    command, measured, force, auxiliary : the signals of a rig.
    series : for other curves, in this order.
    good, warn, bad, info : of states.
    invalid : background of spans without valid values.
    """

    name: Literal["light", "dark"]
    window: str
    base: str
    text: str
    muted: str
    grid: str
    accent: str
    command: str
    measured: str
    force: str
    auxiliary: str
    series: tuple[str, ...]
    good: str
    warn: str
    bad: str
    info: str
    invalid: str


# the series are those of Okabe and Ito, adjusted to the contrast with each background; the levels differ in lightness
# and in blue, so that they stay apart without red or green receptors
LIGHT = Theme(
    name="light",
    window="#f3f4f6",
    base="#ffffff",
    text="#1b1f24",
    muted="#5d6673",
    grid="#d5dae1",
    accent="#0b62a4",
    command="#0072b2",
    measured="#c4500a",
    force="#00795a",
    auxiliary="#6f4a9c",
    series=("#0072b2", "#c4500a", "#00795a", "#a3478d", "#7a6300", "#2a8fc4", "#6f4a9c", "#4b5563"),
    good="#006e5a",
    warn="#a05000",
    bad="#b00a50",
    info="#0b62a4",
    invalid="#e6e8ec",
)
DARK = Theme(
    name="dark",
    window="#23282f",
    base="#111418",
    text="#e8eaed",
    muted="#9aa3af",
    grid="#2f353e",
    accent="#5db2ee",
    command="#56b4e9",
    measured="#f0843c",
    force="#2fbf93",
    auxiliary="#b79be0",
    series=("#56b4e9", "#f0843c", "#2fbf93", "#dd8fc8", "#e3cf4a", "#8fd0f5", "#b79be0", "#b4bbc5"),
    good="#5fdcb0",
    warn="#ffcc33",
    bad="#ff6684",
    info="#5db2ee",
    invalid="#262b32",
)


def theme_of(choice: Choice) -> Theme:
    """Return the chosen theme; `system` follows the desktop."""
    if choice == "system":
        dark = QGuiApplication.styleHints().colorScheme() is Qt.ColorScheme.Dark
        return DARK if dark else LIGHT
    return DARK if choice == "dark" else LIGHT


def applied_theme() -> Theme:
    """Return the theme whose palette the application has."""
    return DARK if QGuiApplication.palette().window().color() == QColor(DARK.window) else LIGHT


def apply_palette(application: QApplication, theme: Theme) -> None:
    """Apply the colours of a theme to all widgets of the program."""
    application.setStyle("Fusion")
    application.setPalette(palette(theme))


def palette(theme: Theme) -> QPalette:
    """Return the colours of a theme for widgets of Qt."""
    made = QPalette()
    roles = {
        QPalette.ColorRole.Window: theme.window,
        QPalette.ColorRole.Base: theme.base,
        QPalette.ColorRole.AlternateBase: theme.window,
        QPalette.ColorRole.Button: theme.window,
        QPalette.ColorRole.ToolTipBase: theme.base,
        QPalette.ColorRole.WindowText: theme.text,
        QPalette.ColorRole.Text: theme.text,
        QPalette.ColorRole.ButtonText: theme.text,
        QPalette.ColorRole.ToolTipText: theme.text,
        QPalette.ColorRole.BrightText: theme.bad,
        QPalette.ColorRole.PlaceholderText: theme.muted,
        QPalette.ColorRole.Highlight: theme.accent,
        QPalette.ColorRole.HighlightedText: theme.base,
        QPalette.ColorRole.Link: theme.accent,
    }
    for role, colour in roles.items():
        made.setColor(role, QColor(colour))
    for role in (QPalette.ColorRole.WindowText, QPalette.ColorRole.Text, QPalette.ColorRole.ButtonText):
        made.setColor(QPalette.ColorGroup.Disabled, role, QColor(theme.muted))
    return made


def level_colour(theme: Theme, level: Level) -> str:
    """Return the colour of a level as ``#rrggbb``."""
    match level:
        case Level.GOOD:
            return theme.good
        case Level.INFO:
            return theme.info
        case Level.WARN:
            return theme.warn
        case Level.BAD:
            return theme.bad
        case Level.NONE:
            return theme.muted
