"""What readers of formats share: packages that may be missing, damage as one line, dates."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np

from monitor.messages.blocks import Samples
from monitor.system import install_command
from replay.formats.base import DamagedFileError, RecordingError

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
