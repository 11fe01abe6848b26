"""What readers of formats share: packages that may be missing, damage as one line, dates, a limit of memory."""

from __future__ import annotations

import logging
import os
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np

from monitor.messages.blocks import Samples
from monitor.system import install_command
from replay.formats.base import DamagedFileError, RecordingError

PROGRESS: ContextVar[Callable[[str, int, int], None]] = ContextVar("progress", default=lambda *_: None)
"""Is told what is done to a file, how many of its bytes, and its bytes."""
_EXCERPT = 160
CUT_SHORT = "the file is cut short, as a crash leaves it: what was written whole before its end is read"
"""Note on it; damage before the end is refused."""


def optional(package: str, what: str, path: Path, extra: str = "formats") -> ModuleType:
    """Return a package of an extra, imported now.

    Raises
    ------
    RecordingError : it is not installed; one line with what to do.
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as problem:
        needed = package.partition(".")[0]
        if (problem.name or "").partition(".")[0] != needed:
            raise
        raise RecordingError(f"{path}: {what} needs {needed}: {install_command(extra)}") from None


@contextmanager
def damage_reported(path: Path, what: str, logger: str = "") -> Iterator[None]:
    """Turn whatever a library raises, warns or logs as an error about a damaged file into one line.

    Parameters
    ----------
    path : of the file.
    what : the kind of file, such as ``a MAT file``.
    logger : name of the package that logs: an error in it is damage too, and nothing of it is printed.

    Raises
    ------
    DamagedFileError : the file is damaged.
    OSError : it cannot be read.
    """
    records = _Errors()
    try:
        with warnings.catch_warnings(), _handled(logger, records):
            warnings.simplefilter("ignore")
            yield
    except (RecordingError, ModuleNotFoundError):
        raise
    # libraries raise anything over a damaged file, even AssertionError and MemoryError
    except RecursionError:
        raise _damaged(path, what, "nested too deeply") from None
    except Exception as problem:
        if isinstance(problem, OSError) and problem.strerror and problem.errno:
            raise
        raise _damaged(path, what, (_one_line(str(problem)) or type(problem).__name__)) from None
    if records.messages:
        raise _damaged(path, what, records.messages[0])


def _damaged(path: Path, what: str, why: str) -> DamagedFileError:
    return DamagedFileError(f"{path}: damaged or cut short, not readable as {what}: {why}")


@contextmanager
def _handled(logger: str, handler: logging.Handler) -> Iterator[None]:
    """Give what all loggers of a package log to one handler, instead of to standard error."""
    if not logger:
        yield
        return
    known = [name for name in logging.root.manager.loggerDict if f"{name}.".startswith(f"{logger}.")]
    sources = [logging.getLogger(name) for name in known]
    before = [(source.handlers, source.propagate) for source in sources]
    for source in sources:
        source.handlers, source.propagate = [handler], False
    try:
        yield
    finally:
        for source, (handlers, propagate) in zip(sources, before, strict=True):
            source.handlers, source.propagate = handlers, propagate


class _Errors(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(_one_line(record.getMessage()))


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _EXCERPT else f"{line[:_EXCERPT]}.."


def as_numbers(values: np.ndarray) -> tuple[Samples, int | None]:
    """Return an array as float64; dates as s since the beginning of their first day, in days since 1970.

    Raises
    ------
    TypeError : it holds no numbers.
    """
    if values.dtype.kind == "M":
        known = values[~np.isnat(values)]
        day = int(known.min().astype("datetime64[D]").astype(np.int64)) if known.size else 0
        # the difference first: dates beyond 2262 are too large in ns
        since = (values - np.datetime64(day, "D")).astype("timedelta64[ns]").astype(np.int64) / 1e9
        return np.where(np.isnat(values), np.nan, since), day
    if values.dtype.kind == "m":
        spans = values.astype("timedelta64[ns]")
        return np.where(np.isnat(spans), np.nan, spans.astype(np.int64) / 1e9), None
    if values.dtype.kind not in "fiub":
        raise TypeError(f"an array of {values.dtype}")
    return np.asarray(values, dtype=np.float64), None


_VARIABLE = "SYNCHROSCOPE_MEMORY"
_WHOLE = "its format is read as a whole; convert it to HDF5 or Parquet, which are read piece by piece"
_SHARE = 0.5  # of what is free
_ALWAYS = 1 << 24  # bytes that any file may take
_VALUE = 40  # bytes of a number or an empty array of JSON, with its place
_UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)B?\s*", re.IGNORECASE)


def free_memory() -> float:
    """Return the bytes that a program can still get, of the machine or of its control group; infinite if unknown."""
    free = float("inf")
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                free = float(line.split()[1]) * 1024.0
    return min(free, group_memory(Path("/sys/fs/cgroup")))


def group_memory(group: Path) -> float:
    """Return the bytes that are left of the limit of a control group; infinite without one."""
    with suppress(OSError, ValueError, KeyError):
        limit = float((group / "memory.max").read_text())  # "max" is no number
        used = float((group / "memory.current").read_text())
        lines = (line.split() for line in (group / "memory.stat").read_text().splitlines())
        parts = {name: float(value) for name, value in lines}
        # the cache of files is given back when memory is needed
        return limit - used + parts["inactive_file"] + parts["active_file"]
    return float("inf")


def memory_limit() -> tuple[float, str]:
    """Return the bytes that a file may take, and in words where they come from.

    Raises
    ------
    RecordingError : the variable holds no size.
    """
    given = os.environ.get(_VARIABLE, "")
    if not given:
        return _SHARE * free_memory(), f"half of what is free; {_VARIABLE}=4G sets another limit"
    size = _SIZE.fullmatch(given)
    if size is None:
        raise RecordingError(f"{_VARIABLE}={given}: must be a size, such as 4G or 500M")
    return float(size[1]) * _UNITS[size[2].upper()], f"as {_VARIABLE} says"


def json_size(text: bytes) -> float:
    """Return the bytes that a text of JSON and its values take as objects of Python, at least."""
    return 2.0 * len(text) + _VALUE * sum(map(text.count, (b",", b"[", b"{")))


def check_memory(path: Path, needed: float, what: str = _WHOLE) -> None:
    """Refuse what does not fit into memory, before the system ends the program.

    Parameters
    ----------
    path : of the file.
    needed : bytes, at least.
    what : why so many, and what to do.

    Raises
    ------
    RecordingError : it does not fit; one line with what to do.
    """
    if needed <= _ALWAYS:
        return
    limit, source = memory_limit()
    if needed > limit:
        raise RecordingError(
            f"{path}: needs {needed / 1e9:.2g} GB of memory or more and may take {limit / 1e9:.2g} GB ({source}): "
            f"{what}"
        )
