"""A curve in one line of text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitor.messages.blocks import Samples

# no full block: it would touch the line above
_BARS = "▁▂▃▄▅▆▇"
_GAP = " "


@dataclass(frozen=True, slots=True)
class Sparkline:
    """The curve, and the values at its lowest and highest bar; NaN when there is no value in it."""

    text: str
    low: float
    high: float


def sparkline(trace: Samples, width: int, least_span: float = 0.0) -> Sparkline:
    """Draw a trace in `width` characters, each the mean of what is valid in its part.

    Parameters
    ----------
    trace : (n,), oldest first; NaN where nothing is to be drawn.
    width : characters.
    least_span : what the height of a line stands for at least, lest noise look like a storm.
    """
    parts = np.array_split(trace, width)
    means = np.array([part[~np.isnan(part)].mean() if (~np.isnan(part)).any() else np.nan for part in parts])
    valid = ~np.isnan(means)
    if not valid.any():
        return Sparkline(_GAP * width, float("nan"), float("nan"))
    low, high = float(means[valid].min()), float(means[valid].max())
    widen = max(0.0, least_span - (high - low)) / 2.0
    low, high = low - widen, high + widen
    share = (means - low) / (high - low) if high > low else np.full(width, 0.5)
    levels = np.where(valid, np.rint(share * (len(_BARS) - 1)), -1.0).astype(int)
    return Sparkline("".join(_GAP if level < 0 else _BARS[level] for level in levels), low, high)
