"""The settings of the window, as its dialog shows them."""

from __future__ import annotations

from gui.settings.setting_field import SettingField, SettingsSection
from gui.settings.settings import LimitSettings, WindowSettings

_F = SettingField
_WINDOW = (
    _F(
        "theme",
        "Theme",
        "Colours of everything.",
        "choice",
        choices=(("system", "as the desktop"), ("light", "light"), ("dark", "dark")),
    ),
    _F(
        "font_scale",
        "Size of text",
        "Of all text, of what the desktop says; for a screen that is far away.",
        unit="times",
    ),
    _F(
        "antialias_when_paused",
        "Smooth curves when paused",
        "Live curves are never smoothed: that costs frames.",
        "switch",
    ),
    _F("frame_rate", "Frames", "How often pictures are drawn anew, 5 to 60.", unit="a second"),
    _F("span", "Span", "What is looked at after a start.", unit="s"),
    _F(
        "history_minutes",
        "Memory, time",
        "How far back every sample is remembered; further back in less detail.",
        unit="min",
    ),
    _F(
        "memory",
        "Memory, most",
        "What the memory of a rig may take; many channels are remembered for a shorter time.",
        unit="MB",
    ),
    _F(
        "record_folder",
        "Folder for runs",
        "Offered where a service is started for a rig.",
        "folder",
        empty="none is offered",
    ),
    _F("blink", "Alarms blink", "Once a second, while nobody has acknowledged them.", "switch"),
    _F(
        "operator",
        "Name",
        "Of who acknowledges alarms here; the run keeps it.",
        "text",
        empty="who has logged in",
    ),
)
_LIMITS = tuple(
    _F(
        f"{quantity}_{at}",
        f"{name}, {word}",
        f"The {name.lower()} from which {what}, up or down.",
        unit=unit,
        empty="no limit",
    )
    for quantity, name, unit in (("delay", "Delay", "ms"), ("phase", "Phase", "°"), ("ratio", "Ratio", "% off 1"))
    for at, word, what in (("warn", "warning", "it is shown as a warning"), ("trip", "too large", "it is too large"))
)
WINDOW_SECTIONS = (
    SettingsSection("window", "Window", "How this window looks and what it remembers.", WindowSettings, _WINDOW),
    SettingsSection(
        "limits",
        "Limits",
        "Lines in the plots and words on the tiles, where no alarm has limits.",
        LimitSettings,
        _LIMITS,
    ),
)
"""The first pages of the dialog."""
