"""Compilation of the simulations' kernels, and their cache: `sim` knows nothing of `monitor.kernel`."""

from __future__ import annotations

import hashlib
import logging
import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from pickle import UnpicklingError
from tempfile import TemporaryFile
from typing import Any, ParamSpec, TypeVar

import numba
from numba import njit
from numba.core.caching import FunctionCache, NullCache

P = ParamSpec("P")
R = TypeVar("R")

_ROOT = Path(__file__).parents[1]
_IMPORTED = re.compile(r"^from (sim(?:\.\w+)+) import", re.MULTILINE)

# their attributes are unknown to type checkers
_config: Any = numba.config
# numba's type hints lack it
_FORCED: Any = {"forceinline": True}

_logger = logging.getLogger("synchroscope")
_NOT_CACHED = "SYNCHROSCOPE_KERNELS_IN_MEMORY"


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that Python calls: cached, without the GIL, NaN and division by zero as in IEEE 754."""
    return _cached(function)


def fused_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a kernel with fused multiply-add."""
    return _cached(function, fastmath={"contract"})


def part(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a piece of a kernel, which LLVM inlines: its types are inferred once for all callers."""
    piece: Callable[P, R] = njit(error_model="numpy", **_FORCED)(function)
    return piece


def inlined_part(function: Callable[P, R]) -> Callable[P, R]:
    """Make a piece that is written into its callers before they are compiled: with their fast-math flags."""
    piece: Callable[P, R] = njit(inline="always", error_model="numpy")(function)
    return piece


def _cached(function: Callable[P, R], **options: Any) -> Callable[P, R]:
    dispatcher: Any = njit(nogil=True, error_model="numpy", **options)(function)
    dispatcher._cache = _cache_of(function, Path(function.__code__.co_filename))
    compiled: Callable[P, R] = dispatcher
    return compiled


def _cache_of(function: Callable[..., Any], source: Path) -> Any:
    folder = _folder(source.parent, cache_key(source))
    if not folder:
        return NullCache()
    before, _config.CACHE_DIR = _config.CACHE_DIR, folder
    try:
        found: Any = _KernelCache(function)
    except RuntimeError:
        found = NullCache()
    finally:
        _config.CACHE_DIR = before
    # numba goes on to a folder whose name does not tell the version
    if Path(folder) in Path(found.cache_path or "").parents:
        return found
    _tell_not_cached(f"{folder}: a folder in it cannot be written")
    return NullCache()


class _KernelCache(FunctionCache):
    """Cache on disk; what cannot be read is compiled, and what cannot be written stays in memory."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except (OSError, EOFError, UnpicklingError):
            # not ours, or cut short by a power failure
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except (OSError, EOFError, UnpicklingError) as problem:
            _tell_not_cached(f"{self.cache_path}: {problem}")


def cache_key(source: Path, root: Path = _ROOT) -> str:
    """Return a hash of a file and of all files of `sim` that it imports, directly or not.

    Numba compiles a kernel again when its own file changes, but not when a function that it calls changes in another
    file: an edit there would leave old code running.
    """
    sources: dict[Path, bytes] = {}
    waiting = [source, Path(__file__)]
    while waiting:
        path = waiting.pop()
        if path in sources or not path.is_file():
            continue
        sources[path] = path.read_bytes()
        names = _IMPORTED.findall(sources[path].decode("utf-8"))
        waiting += [root.joinpath(*name.split(".")).with_suffix(".py") for name in names]
    return hashlib.sha256(b"".join(sources[path] for path in sorted(sources))).hexdigest()[:16]


@cache
def _folder(package: Path, key: str) -> str:
    """Return the cache folder of a file's kernels; empty where none can be written."""
    why = ""
    for base in _bases(package):
        folder = base / f"synchroscope-kernels-{key}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            TemporaryFile(dir=folder).close()
        except OSError as problem:
            why = f"{base}: {problem.strerror}"
        else:
            return str(folder)
    _tell_not_cached(why)
    return ""


def _bases(package: Path) -> Iterator[Path]:
    if _config.CACHE_DIR:
        yield Path(_config.CACHE_DIR)
        return
    yield package / "__pycache__"
    named = os.environ.get("LOCALAPPDATA") or os.environ.get("XDG_CACHE_HOME")
    # RuntimeError: a user without a home
    with suppress(RuntimeError):
        yield Path(named) if named else Path.home() / ".cache"


def _tell_not_cached(why: str) -> None:
    # as monitor.kernel does, and once for both
    if _NOT_CACHED not in os.environ:
        os.environ[_NOT_CACHED] = why
        _logger.warning(
            "kernels stay in memory, and are compiled again at every start: %s; "
            "set NUMBA_CACHE_DIR to a folder that can be written",
            why,
        )
