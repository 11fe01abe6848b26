"""Layouts as files, to share them: JSON with the state of the docks, the panels it knows, and a checksum."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Literal

import msgspec

from monitor.system.files import atomic_write, check_regular

SUFFIX = ".layout.json"
MAX_NAME = 40
"""Letters of the name of a layout."""
STATE_VERSION = 1
"""Version of the docks' state in a file, whatever panels there are."""
_FORMAT_VERSION = 1
_MAX_BYTES = 1 << 20


class LayoutFileError(ValueError):
    """A file is no layout, is damaged, or has panels that this version lacks; one line with the path."""


class LayoutFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Content of a file.

    Parameters
    ----------
    panels : keys of the panels that the state knows.
    state : of the docks, as Qt saves it.
    checksum : of the other fields.
    """

    format: Literal["synchroscope layout"]
    version: int
    name: str
    panels: tuple[str, ...]
    state: bytes
    checksum: str


def write_layout(path: Path, name: str, panels: Sequence[str], state: bytes) -> None:
    """Write a layout.

    Raises
    ------
    WriteError : the file cannot be written.
    """
    checksum = _checksum(name, panels, state)
    content = LayoutFile("synchroscope layout", _FORMAT_VERSION, name, tuple(panels), state, checksum)
    with atomic_write(path) as file:
        file.write(msgspec.json.format(msgspec.json.encode(content)) + b"\n")


def read_layout(path: Path, panels: Sequence[str]) -> LayoutFile:
    """Read a layout.

    Parameters
    ----------
    panels : keys of the panels that there are.

    Raises
    ------
    LayoutFileError : the file cannot be read, is no layout, is damaged, or needs other panels.
    """
    try:
        check_regular(path, _MAX_BYTES)
        found = msgspec.json.decode(path.read_bytes(), type=LayoutFile)
    except OSError as problem:
        raise LayoutFileError(f"{path}: cannot be read ({problem.strerror})") from problem
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise LayoutFileError(f"{path}: is not a layout of Synchroscope ({problem})") from problem
    if found.version != _FORMAT_VERSION:
        raise LayoutFileError(f"{path}: has version {found.version}, this program reads version {_FORMAT_VERSION}")
    # a damaged state can crash Qt
    if found.checksum != _checksum(found.name, found.panels, found.state):
        raise LayoutFileError(f"{path}: is damaged, its checksum does not match")
    if not 0 < len(found.name) <= MAX_NAME or not found.name.isprintable():
        raise LayoutFileError(f"{path}: a layout's name has 1 to {MAX_NAME} letters")
    if unknown := [panel for panel in found.panels if panel not in panels]:
        raise LayoutFileError(f"{path}: needs panels that this version does not have: {', '.join(unknown)}")
    return found


def free_name(name: str, taken: Sequence[str]) -> str:
    """Return `name`, or with a number that makes it different from the names that are taken."""
    known = {each.casefold() for each in taken}
    number, made = 1, name
    while made.casefold() in known:
        number += 1
        made = f"{name[: MAX_NAME - len(str(number)) - 1]} {number}"
    return made


def _checksum(name: str, panels: Sequence[str], state: bytes) -> str:
    return sha256("\n".join((name, *panels)).encode() + b"\0" + state).hexdigest()
