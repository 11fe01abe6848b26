"""Compilation of the simulations' kernels, and their cache: `sim` knows nothing of `monitor.kernel`."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numba
from numba import njit

P = ParamSpec("P")
R = TypeVar("R")

_ROOT = Path(__file__).parents[1]
_IMPORTED = re.compile(r"^from (sim(?:\.\w+)+) import", re.MULTILINE)

# their attributes are unknown to type checkers
_config: Any = numba.config
# numba's type hints lack it
_FORCED: Any = {"forceinline": True}


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
    source = Path(function.__code__.co_filename)
    before, _config.CACHE_DIR = (
        _config.CACHE_DIR,
        str(_base(source.parent) / f"synchroscope-kernels-{cache_key(source)}"),
    )
    try:
        compiled: Callable[P, R] = njit(cache=True, nogil=True, error_model="numpy", **options)(function)
    finally:
        _config.CACHE_DIR = before
    return compiled


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


def _base(folder: Path) -> Path:
    if _config.CACHE_DIR:
        return Path(_config.CACHE_DIR)
    if os.access(folder, os.W_OK):
        return folder / "__pycache__"
    return Path(os.environ.get("LOCALAPPDATA") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
