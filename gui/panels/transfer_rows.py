"""What the rows of a transfer function show, and its values in words."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gui.model.coherence import COHERENT
from gui.plots.ticks import deviation_text, value_text
from gui.wording.numbers import DASH
from monitor.messages.blocks import Samples
from monitor.messages.transfer import TransferBlock


@dataclass(frozen=True, slots=True)
class Quantity:
    """A column of the transfer function, times `factor` in `unit`; the column's own unit where that is empty."""

    column: str
    unit: str = ""
    factor: float = 1.0
    decimals: int = 3
    uncertain: bool = True

    def values(self, block: TransferBlock, actuator: str) -> Samples:
        """Return (n_frequencies,), NaN where there is nothing."""
        return self.factor * block.of(actuator, self.column)

    def deviations(self, block: TransferBlock, actuator: str) -> Samples | None:
        """Return the standard deviations, (n_frequencies,); None where a quantity has none."""
        return self.factor * block.of(actuator, f"{self.column}_sd") if self.uncertain else None

    def unit_of(self, block: TransferBlock, actuator: str) -> str:
        """Return the unit of the values; empty where they have none."""
        unit = self.unit or block.stream.columns[block.stream.positions[actuator, self.column]].unit
        return "" if unit == "1" else unit


RATIO = Quantity("ratio")
DELAY = Quantity("delay", "ms", 1e3, 1)
PHASE = Quantity("phase", "°", 180.0 / math.pi, 1)
COHERENCE = Quantity("coherence", uncertain=False)


def words(block: TransferBlock, actuator: str, quantity: Quantity, at: int) -> str:
    """Return a quantity at a frequency's position, with its standard deviation and its unit."""
    value = float(quantity.values(block, actuator)[at])
    if not math.isfinite(value):
        return f"{quantity.column} {DASH}"
    deviations = quantity.deviations(block, actuator)
    deviation = math.nan if deviations is None else float(deviations[at])
    doubt = deviation_text(deviation, quantity.decimals)
    low = " (low)" if quantity is COHERENCE and value < COHERENT else ""
    told = f"{quantity.column} {value_text(value, quantity.decimals)}{doubt}"
    return f"{told} {quantity.unit_of(block, actuator)}".rstrip() + low
