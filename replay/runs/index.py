"""The run files of a folder: their index in SQLite, which is made again when it is lost, and filters of its rows."""

from __future__ import annotations

import hashlib
import json
import math
import operator
import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

from monitor.messages.recordings import KEYS, TEXTS, RunRow, row_of

INDEX_NAME = ".synchroscope-runs.sqlite"
ENDINGS = (".h5", ".hdf5")

Progress = Callable[[str, int, int], None]

_APPLICATION = 0x53796E63  # "Sync"
_VERSION = 3  # of the rows: raised when what they hold changes
_TABLE = "CREATE TABLE IF NOT EXISTS runs (file BLOB PRIMARY KEY, size INTEGER, mtime INTEGER, row TEXT)"
_TIMEOUT = 5.0  # s for which another process may hold the index
_BATCH = 32  # files between two short transactions: an interrupted listing keeps what it has read
_FOREIGN = "null"


@dataclass(frozen=True, slots=True)
class Listing:
    """The runs of a folder.

    Parameters
    ----------
    rows : by path.
    foreign : number of HDF5 files of other programs, which are left out.
    read : number of files that were read; the others were in the index.
    index : path of the index; None where none could be written.
    """

    rows: tuple[RunRow, ...]
    foreign: int
    read: int
    index: Path | None


@dataclass(frozen=True, slots=True)
class _Entry:
    """Size and modification time [ns] of a file when its row was read, and the row as JSON."""

    size: int
    mtime: int
    row: str


def list_runs(folder: Path, *, rebuild: bool = False, progress: Progress | None = None) -> Listing:
    """Return the runs in a folder and the folders below it, and bring the index up to date.

    Parameters
    ----------
    rebuild : read all files again.
    progress : called with a label, the number of files read, and that to be read.

    Raises
    ------
    ValueError : there is no such folder, or it cannot be read.
    """
    found = {name: (size, mtime) for name, size, mtime in _files(folder)}
    with closing(_open(folder)) as store:
        entries = {} if rebuild else _stored(store.connection)
        known = {name: row for name, entry in entries.items() if (row := _current(name, entry, found)) is not None}
        gone = [name for name in entries if name not in found]
        changed = [name for name in found if name not in known]
        fresh: dict[bytes, _Entry] = {}
        for number, name in enumerate(changed):
            if progress is not None:
                progress("run files read", number, len(changed))
            known[name] = _read(folder, name)
            fresh[name] = _Entry(*found[name], _encoded(known[name]))
            if len(fresh) == _BATCH:
                store.write(fresh, ())
                fresh = {}
        store.write(fresh, gone)
        rows = [row for name in sorted(known) if isinstance(row := known[name], RunRow)]
        return Listing(tuple(rows), len(known) - len(rows), len(changed), store.path)


class _Foreign:
    """Instead of a row: an HDF5 file of another program."""


_OTHER_PROGRAM = _Foreign()


def _read(folder: Path, name: bytes) -> RunRow | _Foreign:
    from replay.runs.reading import read_row  # h5py and the indicators are slow to import

    return read_row(folder, os.fsdecode(name)) or _OTHER_PROGRAM


def _encoded(row: RunRow | _Foreign) -> str:
    return _FOREIGN if isinstance(row, _Foreign) else json.dumps(row.values())


def _current(name: bytes, entry: _Entry, found: Mapping[bytes, tuple[int, int]]) -> RunRow | _Foreign | None:
    """Return the row of a file that has not changed since it was read; None where it is to be read again."""
    if found.get(name) != (entry.size, entry.mtime):
        return None
    if entry.row == _FOREIGN:
        return _OTHER_PROGRAM
    try:
        row = row_of(json.loads(entry.row))
    except (ValueError, TypeError, RecursionError):
        return None
    return row if os.fsencode(row.file) == name else None


def _files(folder: Path) -> Iterator[tuple[bytes, int, int]]:
    """Yield path below `folder`, size and modification time [ns] of the files that may be runs; hidden ones not."""

    def refuse(problem: OSError) -> None:
        # a folder below that cannot be read is passed by
        if Path(problem.filename) == folder:
            reason = problem.strerror or problem
            raise ValueError(f"{folder}: cannot be listed ({reason}); name a folder of run files")

    if not folder.is_dir():
        what = "is a file" if folder.exists() else "no such folder"
        raise ValueError(f"{folder}: {what}; name a folder of run files")
    for parent, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            if name.startswith(".") or not name.lower().endswith(ENDINGS):
                continue
            path = Path(parent, name)
            with suppress(OSError):  # deleted meanwhile
                status = path.stat()
                yield os.fsencode(path.relative_to(folder)), status.st_size, status.st_mtime_ns


class _Store:
    """An open index; `path` is None for one in memory, and once it could not be written."""

    def __init__(self, connection: sqlite3.Connection, path: Path | None) -> None:
        self.connection, self.path = connection, path

    def write(self, entries: Mapping[bytes, _Entry], gone: Sequence[bytes]) -> None:
        """Write and remove entries in one transaction; what cannot be written is read again the next time."""
        rows = [(name, entry.size, entry.mtime, entry.row) for name, entry in entries.items()]
        try:
            with self.connection:
                self.connection.executemany("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?)", rows)
                self.connection.executemany("DELETE FROM runs WHERE file = ?", [(name,) for name in gone])
        except sqlite3.Error:
            self.path = None

    def close(self) -> None:
        """Close the index."""
        self.connection.close()


def cache_index(folder: Path) -> Path:
    """Return the path of the index of a folder that cannot be written, in the user's cache folder."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    name = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16]
    return cache / "synchroscope" / "runs" / f"{name}.sqlite"


def _open(folder: Path) -> _Store:
    """Open the index in the folder, else in the user's cache folder, else in memory."""
    with suppress(OSError, RuntimeError):
        places = [folder / INDEX_NAME, cache_index(folder)]
        for place in places:
            if place != places[0]:
                place.parent.mkdir(parents=True, exist_ok=True)
            connection = _connected(place)
            if connection is not None:
                return _Store(connection, place)
    connection = sqlite3.connect(":memory:")
    connection.execute(_TABLE)
    return _Store(connection, None)


def _connected(path: Path) -> sqlite3.Connection | None:
    """Open or create the index at `path`; None where it cannot be written. One that is no index is made again."""
    for _ in range(2):
        connection = None
        try:
            connection = sqlite3.connect(path, timeout=_TIMEOUT)
            _prepare(connection)
        except sqlite3.Error as problem:
            if connection is not None:
                connection.close()
            # damaged, or without our table; not where it is read-only or in use
            code = getattr(problem, "sqlite_errorcode", 0)
            lost = type(problem) is sqlite3.DatabaseError or code == sqlite3.SQLITE_ERROR
            if not (lost and _removed(path)):
                return None
        else:
            return connection
    return None


def _prepare(connection: sqlite3.Connection) -> None:
    """Create the table of a new index.

    Raises
    ------
    sqlite3.Error : it is damaged, of another version, of another program, or read-only.
    """
    # no write-ahead log: it needs shared memory, which network folders lack; the transactions are short
    connection.execute("BEGIN IMMEDIATE")
    marks = tuple(connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
    if marks == (0, 0) and not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute(f"PRAGMA user_version = {_VERSION}")
        connection.execute(_TABLE)
    elif marks != (_APPLICATION, _VERSION):
        raise sqlite3.DatabaseError("another program or version")
    connection.execute("SELECT file, size, mtime, row FROM runs LIMIT 1").fetchone()
    if connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
        raise sqlite3.DatabaseError("damaged")
    connection.commit()


def _removed(path: Path) -> bool:
    """Remove a damaged index and its journal, which would be applied to the next one; False where that fails."""
    try:
        if not path.is_symlink() and not path.is_file():
            return False
        path.with_name(f"{path.name}-journal").unlink(missing_ok=True)
        path.unlink()
    except OSError:
        return False
    return True


def _stored(connection: sqlite3.Connection) -> dict[bytes, _Entry]:
    try:
        rows = connection.execute("SELECT file, size, mtime, row FROM runs").fetchall()
    except (sqlite3.Error, UnicodeDecodeError):
        return {}
    return {
        name: _Entry(size, mtime, row)
        for name, size, mtime, row in rows
        if isinstance(name, bytes) and row is not None
    }


_FORM = re.compile(r"\s*(\w+)\s*(<=|>=|==|!=|=|<|>|~)\s*(.*?)\s*", re.DOTALL)
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
}
_TEXT_COMPARISONS = ("=", "==", "!=")


@dataclass(frozen=True, slots=True)
class Filter:
    """Condition on one value of a row; a value that is unknown fulfils none but ``!=``.

    Parameters
    ----------
    key : of the value.
    comparison : one of ``< <= > >= = !=``, and ``~`` of texts: contains, in upper or lower case.
    value : what it is compared with.
    """

    key: str
    comparison: str
    value: str | float

    def holds(self, row: RunRow) -> bool:
        """Whether the row fulfils the condition."""
        found = getattr(row, self.key)
        if found is None:
            return self.comparison == "!="
        if self.comparison == "~":
            return str(self.value).casefold() in found.casefold()
        return _COMPARISONS[self.comparison](found, self.value)


def read_filter(text: str) -> Filter:
    """Return the condition in a text such as ``worst_delay_ms>30``.

    Raises
    ------
    ValueError : it is not a condition; the line lists what there is.
    """
    form = _FORM.fullmatch(text)
    if form is None:
        raise ValueError(f"{text!r} is no condition: KEY OP VALUE with OP of < <= > >= = != ~; {_keys()}")
    key, comparison, value = form.groups()
    check_key(key)
    if key in TEXTS:
        if comparison not in (*_TEXT_COMPARISONS, "~"):
            after = "; --since and --until select by the start" if key == "start" else ""
            raise ValueError(f"{text!r}: {key} is a text, compared by = != or ~ (contains){after}")
        return Filter(key, comparison, value)
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if math.isnan(number) or comparison == "~":
        raise ValueError(f"{text!r}: {key} is a number, compared with a number by < <= > >= = !=")
    return Filter(key, comparison, number)


def check_key(key: str) -> None:
    """Raise ValueError unless rows have such a key."""
    if key not in KEYS:
        raise ValueError(f"{key!r} is no key; {_keys()}")


def _keys() -> str:
    return f"keys: {', '.join(KEYS)}"


def ordered(rows: Iterable[RunRow], key: str, *, reverse: bool = False) -> list[RunRow]:
    """Return the rows by a key; unknown values are last, and delays are ordered by their distance from zero.

    Raises
    ------
    ValueError : there is no such key.
    """
    check_key(key)

    def value(row: RunRow) -> Any:
        found = getattr(row, key)
        if key == "start":
            return instant(found)
        return abs(found) if key == "worst_delay_ms" else found.casefold() if isinstance(found, str) else found

    known = [row for row in rows if getattr(row, key) is not None]
    unknown = [row for row in rows if getattr(row, key) is None]
    return [*sorted(known, key=value, reverse=reverse), *unknown]


def instant(text: str, *, end: bool = False) -> datetime:
    """Return the instant of an ISO 8601 text, local time where it names no zone.

    Parameters
    ----------
    end : of a day without a time, its end.

    Raises
    ------
    ValueError : it is not a date.
    """
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = None
    try:
        found = datetime.fromisoformat(text)
        if day is not None and end:
            found += timedelta(days=1)
        return found.astimezone()
    except (ValueError, OverflowError, OSError) as problem:
        raise ValueError(f"{text!r} is no date: write 2026-11-24 or 2026-11-24T14:30") from problem


def selected(
    rows: Iterable[RunRow], filters: Sequence[Filter], since: datetime | None, until: datetime | None
) -> list[RunRow]:
    """Return the rows that fulfil all conditions and start from `since` on and before `until`."""

    def within(row: RunRow) -> bool:
        if since is None and until is None:
            return True
        if row.start is None:
            return False
        start = instant(row.start)
        return (since is None or start >= since) and (until is None or start < until)

    return [row for row in rows if within(row) and all(each.holds(row) for each in filters)]
