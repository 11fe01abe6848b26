"""Memory of a compiled pass: one flat array of 8-byte words that can be copied, stored, and passed to another
language.

The header is of integers: for every possible part, the number of its first array, -1 where it is absent, and its
first column of the results; then for every array its first word and three dimensions. The arrays follow, each from
a whole word on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple, TypeVar, get_type_hints

import numpy as np
from numpy.typing import NDArray

from monitor.kernel import borrowed_view, part
from monitor.messages.blocks import Samples

State = TypeVar("State", bound=tuple[Any, ...])


class _ArrayKind(NamedTuple):
    """Accessor of an array in the memory, its dimensions and numbers."""

    function: str
    n_dimensions: int
    dtype: type


Number = Annotated[float, _ArrayKind("scalar", 0, np.float64)]
Count = Annotated[int, _ArrayKind("scalar", 0, np.int64)]
Flag = Annotated[bool, _ArrayKind("scalar", 0, np.bool_)]
Vector = Annotated[NDArray[np.float64], _ArrayKind("vector", 1, np.float64)]
Matrix = Annotated[NDArray[np.float64], _ArrayKind("matrix", 2, np.float64)]
Cube = Annotated[NDArray[np.float64], _ArrayKind("cube", 3, np.float64)]
IntVector = Annotated[NDArray[np.int64], _ArrayKind("vector", 1, np.int64)]
IntMatrix = Annotated[NDArray[np.int64], _ArrayKind("matrix", 2, np.int64)]
IntCube = Annotated[NDArray[np.int64], _ArrayKind("cube", 3, np.int64)]
SmallVector = Annotated[NDArray[np.int32], _ArrayKind("vector", 1, np.int32)]
RankMatrix = Annotated[NDArray[np.uint32], _ArrayKind("matrix", 2, np.uint32)]
FlagMatrix = Annotated[NDArray[np.uint8], _ArrayKind("matrix", 2, np.uint8)]

FDB, PAEI, ADAPTIVE, TI, RMS, PEAK, HSEM, BROADBAND, FEI, TRANSFER, SAMPLES, SPECIMEN = range(12)
"""Numbers of the parts; `SAMPLES` is the ring that the others share."""
N_PARTS = 12
"""Parts that the header has room for."""
_ARRAYS = 2 * N_PARTS


def new_memory(states: Mapping[int, tuple[Any, ...]], columns: Mapping[int, int]) -> Samples:
    """Return the initial memory of a pass with these parts.

    Parameters
    ----------
    states : named tuple of each part's settings and initial arrays, of the kinds in its field annotations.
    columns : first column of each part's results.
    """
    header = np.full(_ARRAYS + 4 * sum(map(len, states.values())), -1, dtype=np.int64)
    arrays: list[tuple[int, NDArray[Any]]] = []
    number, at = 0, len(header)
    for which, state in states.items():
        header[2 * which], header[2 * which + 1] = number, columns[which]
        for value, kind in zip(state, _kinds(type(state)), strict=True):
            array = np.asarray(value, kind.dtype) if kind.n_dimensions == 0 else value
            assert array.ndim == kind.n_dimensions and array.dtype == kind.dtype
            entry = _ARRAYS + 4 * number
            header[entry], header[entry + 1 : entry + 4] = at, 1
            header[entry + 1 : entry + 1 + array.ndim] = array.shape
            arrays.append((at, array))
            number, at = number + 1, at + -(-array.nbytes // 8)
    memory: Samples = np.zeros(at)
    memory[: len(header)] = header.view(np.float64)
    for first, array in arrays:
        # pages of zeros are not touched: the memory of many actuators has a hundred megabytes of them
        if array.any():
            memory[first:].view(array.dtype)[: array.size] = array.ravel()
    return memory


def _kinds(state: type[Any]) -> list[_ArrayKind]:
    return [hint.__metadata__[0] for hint in get_type_hints(state, include_extras=True).values()]


def open_state(state: type[Any]) -> Callable[..., Any]:
    """Return the compiled part ``(memory, n) -> state`` with settings and arrays of a state from array number `n` on.

    Parameters
    ----------
    state : class of a named tuple whose annotations are the kinds of its settings and arrays. The source of the part
        is generated, as `namedtuple` does, because a loop over arrays of several kinds cannot be compiled.
    """
    kinds = _kinds(state)
    arrays = ", ".join(
        f"{kind.function}(memory, words, n + {i}, {kind.dtype.__name__})" for i, kind in enumerate(kinds)
    )
    names: dict[str, Any] = {
        "__name__": state.__module__,
        "State": state,
        **{kind.dtype.__name__: kind.dtype for kind in kinds},
        "int64": np.int64,
        "scalar": scalar,
        "vector": vector,
        "matrix": matrix,
        "cube": cube,
    }
    source = f"def open_arrays(memory, n):\n    words = memory.view(int64)\n    return State({arrays})\n"
    exec(source, names)  # noqa: S102
    return part(names["open_arrays"])


def arrays_of(memory: Samples, which: int, state: type[State]) -> State:
    """Return the arrays of a part, views of the memory."""
    words, kinds = memory.view(np.int64), _kinds(state)
    arrays: list[NDArray[Any]] = []
    for number, kind in enumerate(kinds, int(words[2 * which])):
        first, *shape = words[_ARRAYS + 4 * number : _ARRAYS + 4 * number + 1 + kind.n_dimensions].tolist()
        arrays.append(memory[first:].view(kind.dtype)[: int(np.prod(shape))].reshape(shape))
    return state(*arrays)


def first_arrays(memory: Samples) -> NDArray[np.int64]:
    """Return the numbers of the parts' first arrays, (N_PARTS,), a view: a part set to -1 is left out of the pass."""
    return memory.view(np.int64)[:_ARRAYS:2]


@part
def first_array(words: NDArray[np.int64], which: int) -> int:
    """Return the number of a part's first array, -1 where the part is absent."""
    return int(words[2 * which])


@part
def first_column(words: NDArray[np.int64], which: int) -> int:
    """Return the first column of a part's results."""
    return int(words[2 * which + 1])


@part
def scalar(memory: Samples, words: NDArray[np.int64], number: int, dtype: type) -> Any:
    """Return a number, a count or a flag."""
    return borrowed_view(memory, words[_ARRAYS + 4 * number], (1,), dtype)[0]


@part
def vector(memory: Samples, words: NDArray[np.int64], number: int, dtype: type) -> NDArray[Any]:
    """Return an array of one dimension."""
    entry = _ARRAYS + 4 * number
    return borrowed_view(memory, words[entry], (words[entry + 1],), dtype)


@part
def matrix(memory: Samples, words: NDArray[np.int64], number: int, dtype: type) -> NDArray[Any]:
    """Return an array of two dimensions."""
    entry = _ARRAYS + 4 * number
    return borrowed_view(memory, words[entry], (words[entry + 1], words[entry + 2]), dtype)


@part
def cube(memory: Samples, words: NDArray[np.int64], number: int, dtype: type) -> NDArray[Any]:
    """Return an array of three dimensions."""
    entry = _ARRAYS + 4 * number
    return borrowed_view(memory, words[entry], (words[entry + 1], words[entry + 2], words[entry + 3]), dtype)
