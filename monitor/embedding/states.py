"""The flat state of an embedded computation: its header, and copying, saving and resetting it.

A state is one array of 8-byte words. It holds no address, so a copy of its bytes is a copy of the state. The header
is of integers; what follows is the computation's own.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from monitor.kernel import borrowed_view, part
from monitor.messages.blocks import Samples

HEADER = 16
"""Words of the header."""
MAGIC, N_WORDS, ROWS, COLUMNS, FINGERPRINT = range(5)
"""Words of the header: what kind of state it is, its length, its two sizes, and a hash of its settings."""
OWN = 5
"""First word of the header that is the computation's own."""
OK, NOT_A_STATE, WRONG_LENGTH, WRONG_ROWS, WRONG_COLUMNS, WRONG_ARGUMENT = 0, -1, -2, -3, -4, -5
"""What a check or a step returns; a step that computed returns 0 or more."""


class FlatState:
    """A state that belongs to one control loop.

    Parameters
    ----------
    magic : number of the kind of state.
    sizes : pairs and columns of a row; of the reliability replicates and columns.
    settings : text that differs where a state of other settings must not be restored.
    own : further words of the header.
    memory : what follows the header.

    Attributes
    ----------
    state : (n_words,), float64; passed to the step.
    """

    def __init__(self, magic: int, sizes: tuple[int, int], settings: str, own: list[int], memory: Samples) -> None:
        digest = hashlib.sha256(settings.encode()).digest()
        header = np.zeros(HEADER, dtype=np.int64)
        header[MAGIC], header[N_WORDS] = magic, HEADER + len(memory)
        header[ROWS], header[COLUMNS] = sizes
        header[FINGERPRINT] = int.from_bytes(digest[:8], "little", signed=True)
        header[OWN : OWN + len(own)] = own
        self.state: Samples = np.concatenate([header.view(np.float64), memory])
        self._initial = self.state.copy()

    def new_row(self) -> Samples:
        """Return an array for the results of a step, NaN."""
        rows, columns = self._initial[[ROWS, COLUMNS]].view(np.int64)
        return np.full(int(rows * columns), np.nan)

    def reset(self) -> None:
        """Discard all samples."""
        self.state[:] = self._initial

    def restore(self, saved: Samples) -> None:
        """Return to a copy of `state`, made by ``state.copy()`` or loaded from a file.

        Raises
        ------
        ValueError : it is that of other settings, or of another version.
        """
        same = saved.shape == self.state.shape and saved.dtype == np.float64
        if not same or saved[:OWN].tobytes() != self._initial[:OWN].tobytes():
            raise ValueError(
                f"a state of {saved.dtype} {saved.shape} cannot be restored to one of float64 {self.state.shape}: "
                "it is that of other settings or of another version"
            )
        self.state[:] = saved


@part
def check_state(words: NDArray[np.int64], n_words: int, magic: int) -> int:
    """Return `OK` where a state of this kind has this length."""
    if n_words < HEADER or words[MAGIC] != magic:
        return NOT_A_STATE
    return OK if words[N_WORDS] == n_words else WRONG_LENGTH


@part
def holds(array: Samples, n: int) -> bool:
    """Return whether the first `n` values can be read and written as adjacent float64."""
    if n == 0:
        return True
    adjacent = n == 1 or array.strides[0] == array.itemsize
    return bool(len(array) >= n and array.dtype == np.dtype(np.float64) and adjacent)


@part
def body(state: Samples, n_words: int) -> Samples:
    """Return what follows the header."""
    return borrowed_view(state, HEADER, (n_words - HEADER,), np.float64)
