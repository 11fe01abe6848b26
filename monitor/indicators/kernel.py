"""The one way in which kernels are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from numba import njit

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile once, keep on disk, let other threads run, and leave NaN and division by zero to IEEE 754.

    Of the fast-math freedoms only the fused multiply-add is taken: it changes no NaN and, being the same
    code for every sample, nothing between one way of cutting the stream and another.
    """
    compiled: Callable[P, R] = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})(function)
    return compiled


def part(function: Callable[P, R]) -> Callable[P, R]:
    """Make a piece of a kernel that is written into its caller: a call that hands over arrays costs 50 ns."""
    compiled: Callable[P, R] = njit(inline="always", error_model="numpy")(function)
    return compiled
