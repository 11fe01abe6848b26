"""The steps as functions of C, and the structures of ``synchroscope.h`` that pass them to a control loop in C."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from monitor.embedding import compensation, reliability, tracking
from monitor.embedding.compensation import EmbeddedCompensator, step_compensator
from monitor.embedding.reliability import EmbeddedReliability, step_reliability
from monitor.embedding.states import (
    COLUMNS,
    HEADER,
    MAGIC,
    N_WORDS,
    NOT_A_STATE,
    OK,
    ROWS,
    WRONG_ARGUMENT,
    WRONG_COLUMNS,
    WRONG_LENGTH,
    WRONG_ROWS,
)
from monitor.embedding.tracking import WITH_FORCE, EmbeddedTracking, step_tracking
from monitor.kernel import address_of, c_function, part

VERSION = 1
"""``SYNCHROSCOPE_VERSION`` of the header: of the structures and the functions' arguments."""

# unknown to type checkers
types: Any = numba.types
carray: Any = vars(numba)["carray"]

_Floats: Any = types.CPointer(types.float64)
_Ranks: Any = types.CPointer(types.uint32)
_Int: Any = types.int64
_TRACKING_STEP: Any = _Int(_Floats, _Floats, _Floats, _Floats, _Int, _Floats)
_COMPENSATOR_STEP: Any = _Int(_Floats, _Floats, _Floats, _Floats, _Floats)
_RELIABILITY_STEP: Any = _Int(_Floats, _Floats, _Ranks, _Floats, _Int, _Floats)
_CHECK: Any = _Int(_Floats, _Int, _Int, _Int)


class PairsStruct(ctypes.Structure):
    """``synchroscope_tracking`` and ``synchroscope_compensator`` of the header."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("version", "n_words", "n_pairs", "n_columns")),
        *((name, ctypes.c_void_p) for name in ("state", "step", "check")),
    ]


class ReliabilityStruct(ctypes.Structure):
    """``synchroscope_reliability`` of the header."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("version", "n_words", "n_replicates", "n_columns")),
        *((name, ctypes.c_void_p) for name in ("state", "response", "order", "step", "check")),
    ]


def include_folder() -> Path:
    """Return the folder of ``synchroscope.h``, for the compiler's option ``-I``."""
    return Path(__file__).parent


def tracking_struct(embedded: EmbeddedTracking) -> PairsStruct:
    """Return the structure for C; `embedded` must live as long as it is used."""
    sizes, state = (len(embedded.state), embedded.n_pairs, embedded.n_columns), embedded.state.ctypes.data
    return PairsStruct(VERSION, *sizes, state, _address("tracking_step"), _address("tracking_check"))


def compensator_struct(embedded: EmbeddedCompensator) -> PairsStruct:
    """Return the structure for C; `embedded` must live as long as it is used."""
    sizes, state = (len(embedded.state), embedded.n_pairs, embedded.n_columns), embedded.state.ctypes.data
    return PairsStruct(VERSION, *sizes, state, _address("compensator_step"), _address("compensator_check"))


def reliability_struct(embedded: EmbeddedReliability) -> ReliabilityStruct:
    """Return the structure for C; `embedded` must live as long as it is used."""
    rows, columns = embedded.state[[ROWS, COLUMNS]].view(np.int64).tolist()
    arrays = (each.ctypes.data for each in (embedded.state, embedded.response, embedded.order))
    step, check = _address("reliability_step"), _address("reliability_check")
    return ReliabilityStruct(VERSION, len(embedded.state), rows, columns, *arrays, step, check)


@cache
def _address(name: str) -> int:
    functions: dict[str, tuple[Any, Callable[..., Any]]] = {
        "tracking_step": (_TRACKING_STEP, _tracking_step),
        "tracking_check": (_CHECK, _tracking_check),
        "compensator_step": (_COMPENSATOR_STEP, _compensator_step),
        "compensator_check": (_CHECK, _compensator_check),
        "reliability_step": (_RELIABILITY_STEP, _reliability_step),
        "reliability_check": (_CHECK, _reliability_check),
    }
    return c_function(*functions[name])


_TRACKING, _COMPENSATOR, _RELIABILITY = tracking.MAGIC, compensation.MAGIC, reliability.MAGIC
_N_TIMES, _N_REALIZATIONS = reliability.N_TIMES, reliability.N_REALIZATIONS


@part
def _is_state(state: Any, magic: int) -> bool:
    at = address_of(state)
    if at == 0 or at % 8 != 0:
        return False
    words: NDArray[np.int64] = carray(state, (HEADER,)).view(np.int64)
    return bool(words[MAGIC] == magic)


@part
def _check(state: Any, magic: int, n_words: int, n_rows: int, n_columns: int) -> int:
    if n_words < HEADER or not _is_state(state, magic):
        return NOT_A_STATE
    words = carray(state, (HEADER,)).view(np.int64)
    if words[N_WORDS] != n_words:
        return WRONG_LENGTH
    if words[ROWS] != n_rows:
        return WRONG_ROWS
    return WRONG_COLUMNS if words[COLUMNS] != n_columns else OK


def _tracking_check(state: Any, n_words: int, n_rows: int, n_columns: int) -> int:
    return _check(state, _TRACKING, n_words, n_rows, n_columns)


def _compensator_check(state: Any, n_words: int, n_rows: int, n_columns: int) -> int:
    return _check(state, _COMPENSATOR, n_words, n_rows, n_columns)


def _reliability_check(state: Any, n_words: int, n_rows: int, n_columns: int) -> int:
    return _check(state, _RELIABILITY, n_words, n_rows, n_columns)


def _tracking_step(state: Any, command: Any, measured: Any, force: Any, number: int, row: Any) -> int:
    if not _is_state(state, _TRACKING):
        return NOT_A_STATE
    words = carray(state, (HEADER,)).view(np.int64)
    n = words[ROWS]
    if address_of(command) == 0 or address_of(measured) == 0 or address_of(row) == 0:
        return WRONG_ARGUMENT
    if words[WITH_FORCE] != 0 and address_of(force) == 0:
        return WRONG_ARGUMENT
    return step_tracking(
        carray(state, (words[N_WORDS],)),
        carray(command, (n,)),
        carray(measured, (n,)),
        carray(force, (n,)),
        number,
        carray(row, (n * words[COLUMNS],)),
    )


def _compensator_step(state: Any, command: Any, measured: Any, sent: Any, row: Any) -> int:
    if not _is_state(state, _COMPENSATOR):
        return NOT_A_STATE
    words = carray(state, (HEADER,)).view(np.int64)
    n = words[ROWS]
    if address_of(command) == 0 or address_of(measured) == 0 or address_of(sent) == 0 or address_of(row) == 0:
        return WRONG_ARGUMENT
    return step_compensator(
        carray(state, (words[N_WORDS],)),
        carray(command, (n,)),
        carray(measured, (n,)),
        carray(sent, (n,)),
        carray(row, (n * words[COLUMNS],)),
    )


def _reliability_step(state: Any, response: Any, order: Any, measured: Any, instant: int, row: Any) -> int:
    if not _is_state(state, _RELIABILITY):
        return NOT_A_STATE
    words = carray(state, (HEADER,)).view(np.int64)
    if address_of(response) == 0 or address_of(order) == 0 or address_of(measured) == 0 or address_of(row) == 0:
        return WRONG_ARGUMENT
    shape = (words[_N_TIMES], words[_N_REALIZATIONS])
    return step_reliability(
        carray(state, (words[N_WORDS],)),
        carray(response, shape),
        carray(order, shape),
        carray(measured, (words[ROWS],)),
        instant,
        carray(row, (words[COLUMNS],)),
    )
