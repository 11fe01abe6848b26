"""Which frequencies are late: the transfer function of each actuator in one line."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

from gui.model.coherence import COHERENT
from gui.wording.numbers import number, shortened
from monitor.messages.blocks import Samples
from monitor.messages.transfer import TransferBlock

_NAME = 14
_CELL = 20  # characters of "12.34 Hz 1234.5 ms, "


def transfer_lines(transfer: TransferBlock, width: int) -> Iterator[Text]:
    """Give a heading, and for each actuator the delay at as many coherent frequencies as have room in `width`."""
    # slower than the table above: an operator sees one change before the other
    heading = "─ delay by frequency, averaged over many cycles "
    yield Text(heading.ljust(width, "─"), style="dim", no_wrap=True, overflow="crop")
    shown = max(1, (width - _NAME - 1) // _CELL)
    frequency = transfer.frequency
    for actuator in transfer.stream.actuators:
        delay = 1e3 * transfer.of(actuator, "delay")
        chosen = _spread_out(transfer.of(actuator, "coherence"), shown)
        line = Text(f"{shortened(actuator, _NAME):<{_NAME}} ", style="bold", no_wrap=True, overflow="ellipsis")
        cells = [f"{frequency[i]:5.3g} Hz {number(float(delay[i]), 7, 1)} ms" for i in chosen.tolist()]
        yield line.append(", ".join(cells) or "no coherent motion yet", style="not bold" if cells else "dim not bold")


def _spread_out(coherence: Samples, count: int) -> NDArray[np.intp]:
    """Return the positions of at most `count` coherent frequencies, evenly spread over those there are."""
    good = np.flatnonzero(np.nan_to_num(coherence) > COHERENT)
    if len(good) <= count:
        return good
    return good[np.linspace(0, len(good) - 1, count).round().astype(np.intp)]
