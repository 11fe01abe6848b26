"""The memory of a compiled pass: one flat array that can be copied, stored, and handed to another language.

It holds 8-byte words. The first are integers, the header: of every part that a pass may have, the number of its first
array, -1 where it is not there, and its first column of the results; then of every array the word it begins at, and
three dimensions. The arrays follow, of floats or integers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monitor.kernel import part
from monitor.messages.blocks import Samples

N_PARTS = 8
"""There is room for in the header."""
_ARRAYS = 2 * N_PARTS


def new_memory(parts: Mapping[int, Sequence[NDArray[Any]]], columns: Mapping[int, int]) -> Samples:
    """Return the memory of a pass with these parts.

    Parameters
    ----------
    parts : of each the arrays as they begin, float64 or int64 of at most three dimensions.
    columns : of each the first column of its results.
    """
    header = np.full(_ARRAYS + 4 * sum(map(len, parts.values())), -1, dtype=np.int64)
    pieces, number, at = [], 0, len(header)
    for which, arrays in parts.items():
        header[2 * which], header[2 * which + 1] = number, columns[which]
        for array in arrays:
            entry = _ARRAYS + 4 * number
            header[entry], header[entry + 1 : entry + 4] = at, 1
            header[entry + 1 : entry + 1 + array.ndim] = array.shape
            pieces.append(np.ascontiguousarray(array).reshape(-1).view(np.float64))
            number, at = number + 1, at + array.size
    memory: Samples = np.concatenate([header.view(np.float64), *pieces])
    return memory


@part
def first_array(words: NDArray[np.int64], which: int) -> int:
    """Return the number of a part's first array, -1 where the part is not there."""
    return int(words[2 * which])


@part
def first_column(words: NDArray[np.int64], which: int) -> int:
    """Return the first column of a part's results."""
    return int(words[2 * which + 1])


@part
def vector(memory: NDArray[Any], words: NDArray[np.int64], number: int) -> NDArray[Any]:
    """Return an array of one dimension; of integers where `memory` is `words`."""
    entry = _ARRAYS + 4 * number
    return memory[words[entry] : words[entry] + words[entry + 1]]


@part
def matrix(memory: NDArray[Any], words: NDArray[np.int64], number: int) -> NDArray[Any]:
    """Return an array of two dimensions."""
    entry = _ARRAYS + 4 * number
    rows, columns = words[entry + 1], words[entry + 2]
    return memory[words[entry] : words[entry] + rows * columns].reshape((rows, columns))


@part
def cube(memory: NDArray[Any], words: NDArray[np.int64], number: int) -> NDArray[Any]:
    """Return an array of three dimensions."""
    entry = _ARRAYS + 4 * number
    layers, rows, columns = words[entry + 1], words[entry + 2], words[entry + 3]
    return memory[words[entry] : words[entry] + layers * rows * columns].reshape((layers, rows, columns))
