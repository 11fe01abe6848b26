"""Columns that were chosen for a file, remembered beside it in ``FILE.synchroscope.toml``."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import msgspec

from monitor.messages.recordings import ColumnGuess
from monitor.system.files import WriteError, atomic_write, check_regular
from replay.formats.base import RecordingError, Selection

SUFFIX = ".synchroscope.toml"
_MOST_BYTES = 1 << 20


class _Columns(ColumnGuess, frozen=True, forbid_unknown_fields=True):
    rate: float | None = None
    resample: float | None = None


class _Sidecar(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    columns: _Columns


def sidecar_of(path: Path) -> Path:
    """Return the file beside `path` in which its columns are remembered."""
    return path.with_name(path.name + SUFFIX)


def with_remembered(path: Path, selection: Selection) -> tuple[Selection, str]:
    """Return the selection with what is remembered for the file, and a note on it; what the user gives comes first.

    Raises
    ------
    RecordingError : what is remembered cannot be read or contradicts itself; one line with the name of that file.
    """
    sidecar = sidecar_of(path)
    if not sidecar.exists():
        return selection, ""
    try:
        check_regular(sidecar, _MOST_BYTES)
        found = msgspec.convert(tomllib.loads(sidecar.read_text("utf-8")), _Sidecar).columns
        known = Selection(**msgspec.structs.asdict(found))
    except (
        OSError,
        UnicodeDecodeError,
        tomllib.TOMLDecodeError,
        msgspec.ValidationError,
        RecordingError,
        RecursionError,
    ) as problem:
        why = " ".join(str(problem).split())
        raise RecordingError(f"{sidecar}: {why}; mend it, or delete it and choose the columns again") from None
    merged = _merged(selection, known)
    used = [name for name in _NAMES if getattr(merged, name) != getattr(selection, name)]
    return merged, f"{', '.join(used)} as remembered in {sidecar.name}" if used else ""


_NAMES = ("command", "measured", "force", "time", "rate", "dataset", "resample", "auxiliary")


def _merged(given: Selection, known: Selection) -> Selection:
    if not (given.command or given.auxiliary):
        given = replace(given, command=known.command, measured=known.measured)
        if not given.force and not known.auxiliary:
            given = replace(given, force=known.force)
        given = replace(given, auxiliary=known.auxiliary and not given.names_columns)
    if given.time is None and given.rate is None:
        given = replace(given, time=known.time, rate=known.rate)
    return replace(given, dataset=given.dataset or known.dataset, resample=given.resample or known.resample)


def remember(path: Path, selection: Selection) -> str:
    """Write a selection beside the file and return a note on it.

    Raises
    ------
    RecordingError : it cannot be written.
    """
    sidecar = sidecar_of(path)
    try:
        with atomic_write(sidecar) as file:
            file.write(sidecar_text(path.name, selection))
    except (WriteError, OSError) as problem:
        raise RecordingError(f"{sidecar}: {problem}") from None
    return f"the columns are remembered in {sidecar.name}"


def sidecar_text(name: str, selection: Selection) -> bytes:
    """Return the content of the sidecar of a file of this name."""
    lines = [
        f"# how Synchroscope reads {json.dumps(name)[1:-1]}: options given to a command override it",
        "[columns]",
    ]
    lines += [f"{each} = {_toml(value)}" for each in _NAMES if (value := getattr(selection, each))]
    return "\n".join([*lines, ""]).encode()


def _toml(value: object) -> str:
    """Return a value as TOML: a JSON string is one, apart from the character 127."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
