"""Clock offsets of XDF's streams: a false one among them is left out, where pyxdf's fit would bend a stream by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from monitor.messages.blocks import Samples

_LEAST = 5e-3  # s off the others
_SPREADS = 20.0  # of the usual deviation
_MOST = 0.25  # of the offsets
_FEWEST = 4


@dataclass(frozen=True, eq=False)
class ClockLine:
    """The offset of a stream's clock, s, as a line over its time, without false ones; and what is said of these."""

    slope: float
    offset: float
    origin: float
    note: str

    def corrected(self, stamps: Samples) -> Samples:
        """Return time stamps, (n,) s, on the common clock."""
        return stamps + self.offset + self.slope * (stamps - self.origin)


def line_without_false_offsets(name: str, stream: Mapping[str, Any]) -> ClockLine | None:
    """Return the line through the offsets of a stream; None where none is false, or they are too few to tell."""
    at, offsets = (np.asarray(stream.get(key, ()), dtype=np.float64) for key in ("clock_times", "clock_values"))
    if len(at) < _FEWEST or len(at) != len(offsets):
        return None
    x = at - at[0]
    first, second = np.triu_indices(len(x[:200]), 1)
    apart = x[second] - x[first]
    slopes = (offsets[second] - offsets[first])[apart > 0.0] / apart[apart > 0.0]
    slope = float(np.median(slopes)) if len(slopes) else 0.0
    residual = offsets - slope * x
    deviation = np.abs(residual - np.median(residual))
    false = deviation > max(_LEAST, _SPREADS * float(np.median(deviation)))
    # one after the other they are those of a clock that was set, which pyxdf knows
    if not 0 < np.count_nonzero(false) <= _MOST * len(at) or np.any(false[1:] & false[:-1]):
        return None
    good = ~false
    slope, offset = np.polyfit(x[good], offsets[good], 1) if np.count_nonzero(good) > 1 else (0.0, offsets[good][0])
    count, off = np.count_nonzero(false), 1e3 * float(np.max(deviation))
    note = f"{name}: {count} of {len(at)} clock offsets are false, by {off:.0f} ms, and not used"
    return ClockLine(float(slope), float(offset), float(at[0]), note)


def without_offsets(names: Sequence[str], streams: Sequence[Mapping[str, Any]]) -> str:
    """Return a note on streams without clock offsets where others have some; empty if there are none."""
    bare = [name for name, stream in zip(names, streams, strict=True) if not len(stream.get("clock_values", ()))]
    if not bare or len(bare) == len(streams):
        return ""
    return (
        f"{', '.join(bare)}: no clock offsets are in the file, so that the times are those of another clock, perhaps"
    )
