"""The settings of a service as a TOML file that `synchroscope monitor FILE` takes."""

from __future__ import annotations

from pathlib import Path

import tomli_w

from gui.settings.atomic_write import whole_file
from monitor.config import Settings, SettingsError, load_settings

_HEAD = "# Settings of a Synchroscope service; what is not named is as the guide says.\n\n"


def settings_text(settings: Settings) -> str:
    """Return the TOML of everything that was chosen, and of nothing that is as by default."""
    return _HEAD + tomli_w.dumps(settings.model_dump(mode="json", exclude_defaults=True, exclude_none=True))


def write_settings(settings: Settings, path: Path) -> None:
    """Write a settings file.

    Raises
    ------
    ExportError : the disk refuses.
    """
    with whole_file(path) as file:
        file.write(settings_text(settings).encode())


def read_settings(path: Path) -> tuple[Settings, str]:
    """Return the settings in a file, and a line that says why they are those by default; there may be no file yet."""
    if not path.exists():
        return Settings(), ""
    try:
        return load_settings(path, {}), ""
    except SettingsError as problem:
        return Settings(), f"{problem}; defaults are used"
