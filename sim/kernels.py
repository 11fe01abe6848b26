"""Compilation of the simulations' kernels; of `monitor` they know the cache of kernels alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from numba import njit

from monitor.kernel_cache import cache_of

P = ParamSpec("P")
R = TypeVar("R")

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


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Make a piece that is written into its callers before they are compiled: with their fast-math flags."""
    piece: Callable[P, R] = njit(inline="always", error_model="numpy")(function)
    return piece


def _cached(function: Callable[P, R], **options: Any) -> Callable[P, R]:
    dispatcher: Any = njit(nogil=True, error_model="numpy", **options)(function)
    dispatcher._cache = cache_of(function)
    compiled: Callable[P, R] = dispatcher
    return compiled
