"""How much memory a file may take: what it needs is compared with a limit before it is read or inflated."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from replay.formats.base import RecordingError

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
