"""What travels beside results: the tracking transfer function of every actuator, at an instant."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from monitor.messages.blocks import Column, Samples

FREQUENCY = Column("frequency", "Hz", "")
# of each actuator, in this order
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
    """What stays the same from one transfer function to the next: `FREQUENCY`, then `QUANTITIES` by actuator."""

    rig: str
    epoch: int
    sample_rate: float
    columns: tuple[Column, ...]

    @cached_property
    def positions(self) -> dict[tuple[str, str], int]:
        """The column of each actuator's quantities."""
        return {(column.actuator, column.name): i for i, column in enumerate(self.columns)}

    @property
    def actuators(self) -> tuple[str, ...]:
        """Their names, in the order of the columns."""
        return tuple(dict.fromkeys(column.actuator for column in self.columns if column != FREQUENCY))


@dataclass(frozen=True, slots=True)
class TransferBlock:
    """Transfer functions made of all segments up to a sample.

    Parameters
    ----------
    stream : what the columns are.
    index, time : of the last sample that they contain.
    values : (n_frequencies, n_columns); NaN where the command has no motion or too few segments have passed,
        and all but the coherence where that is no more than noise would give.
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

    def of(self, actuator: str, quantity: str) -> Samples:
        """Return (n_frequencies,), one of `QUANTITIES`; raises KeyError when there is no such column."""
        column = self.stream.positions.get((actuator, quantity))
        if column is None:
            raise KeyError(f"no {quantity} of {actuator!r} in this transfer function")
        return self.values[:, column]
