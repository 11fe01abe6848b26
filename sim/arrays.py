"""Array types of the simulations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Response = NDArray[np.complex128]
