"""The names that run files take: never that of another file."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path


def _free_names(wanted: Path) -> Iterator[Path]:
    """Return `wanted`, then ``name-2``, ``name-3`` ..."""
    yield wanted
    for number in range(2, 1 << 31):
        yield wanted.with_name(f"{wanted.stem}-{number}{wanted.suffix}")


def place(temporary: Path, wanted: Path) -> Path:
    """Rename `temporary` to the first name that is free, never over another file; return that name."""
    for name in _free_names(wanted):
        try:
            name.hardlink_to(temporary)
        except FileExistsError:
            continue
        except OSError:
            # a file system without links: not atomic, but the name is still never taken from another
            if name.exists():
                continue
            return temporary.rename(name)
        temporary.unlink()
        return name
    raise OSError(errno.EEXIST, "no free name", str(wanted))
