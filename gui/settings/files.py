"""Files that are written whole or not at all, and the settings of a service as a TOML file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import tomli_w

from monitor.config import Settings, SettingsError, load_settings

_HEAD = "# Settings of a Synchroscope service; what is not named is at its default.\n\n"


class ExportError(ValueError):
    """Something could not be written; the text is one line with the file's name."""


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Write beside `path` and take its place at the end; a file that was there before stays until then.

    Raises
    ------
    ExportError : the disk refuses, or there is no such folder; nothing is left behind.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        try:
            with beside.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as problem:
        raise ExportError(f"{path}: cannot be written ({problem.strerror or problem})") from problem


def settings_text(settings: Settings) -> str:
    """Return the TOML of everything that was chosen, and of nothing else."""
    sections = settings.model_dump(mode="json", exclude_unset=True, exclude_none=True)
    return _HEAD + tomli_w.dumps({name: section for name, section in sections.items() if section})


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
