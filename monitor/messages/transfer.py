"""Immutable messages of transfer functions: their stream and its blocks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from monitor.messages.blocks import Column, Samples

FREQUENCY = Column("frequency", "Hz", "")
QUANTITIES = (
    ("ratio", ""),
    ("phase", "rad"),
    ("delay", "s"),
    ("coherence", "1"),
    ("ratio_sd", ""),
    ("phase_sd", "rad"),
    ("delay_sd", "s"),
)


@dataclass(frozen=True)
class TransferStream:
    """Constant properties of a stream of transfer functions: `FREQUENCY`, then `QUANTITIES` by actuator."""

    rig: str
    epoch: int
    sample_rate: float
    columns: tuple[Column, ...]

    @cached_property
    def positions(self) -> dict[tuple[str, str], int]:
        """Column number of each actuator's quantities."""
        return {(column.actuator, column.name): i for i, column in enumerate(self.columns)}

    @property
    def actuators(self) -> tuple[str, ...]:
        """Their names, in the order of the columns."""
        return tuple(dict.fromkeys(column.actuator for column in self.columns if column != FREQUENCY))


@dataclass(frozen=True, slots=True)
class TransferBlock:
    """Transfer functions of all segments up to a sample.

    Parameters
    ----------
    stream : description of the columns.
    index, time : of the last sample included.
    values : (n_frequencies, n_columns); NaN where the command has no motion or there are too few segments; where
        noise alone could give the coherence, all but the coherence.
    """

    stream: TransferStream
    index: int
    time: float
    values: Samples
    last: bool = False

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def frequency(self) -> Samples:
        """(n_frequencies,), Hz."""
        return self.values[:, 0]

    def curve(self, actuator: str, quantity: str) -> Samples:
        """Return (n_frequencies,), one of `QUANTITIES`; raises KeyError when there is no such column."""
        column = self.stream.positions.get((actuator, quantity))
        if column is None:
            raise KeyError(f"no {quantity} of {actuator!r} in this transfer function")
        return self.values[:, column]
