"""What is where in an ensemble file: HDF5, or NumPy's npz with the first two names alone.

``time`` (n_times,), s; ``response`` (n_times, n_realizations), float64. A file that this program makes also has
``order`` (n_times, n_realizations), uint32: at every instant the realizations by rising response; and ``progress``
(2,), int64: how many realizations are written, and how many instants are sorted. In it response and order are
contiguous and, unless they are smaller than a page, begin at a multiple of one, so that they may be mapped.
"""

from __future__ import annotations

import struct
import tokenize
import zipfile
import zlib

from monitor.system.safe_text import printable

TIME, RESPONSE, ORDER, PROGRESS = "time", "response", "order", "progress"

# attributes of the file
UNIT, QUANTITY, SOURCE = "unit", "quantity", "source"

PAGE = 4096
PART = ".part"

DAMAGE = (
    *(OSError, RuntimeError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, EOFError),
    *(MemoryError, SyntaxError, struct.error, tokenize.TokenError, zlib.error, zipfile.BadZipFile),
)
"""What NumPy and h5py raise on bytes that are not what they should be, or on too many of them."""


def text(value: object) -> str:
    """Return stored text; MATLAB and others store it as bytes of a fixed length."""
    return value.decode(errors="replace").rstrip("\0 ") if isinstance(value, bytes) else str(value)


def reason(problem: BaseException) -> str:
    """Return why, in one line."""
    told = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
    return printable(" ".join(told.split()))[:200] or type(problem).__name__
