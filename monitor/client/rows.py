"""Rows of results: the values of one instant, by actuator and name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from monitor.catalogue import reason_column
from monitor.messages.blocks import ResultBlock, ResultStream, Samples
from monitor.messages.reasons import reason_word

Positions = Mapping[str, Mapping[str, int]]


def _missing(kind: str, name: object, names: Mapping[str, object]) -> str:
    return f"no {kind} {name!r}; there are: {', '.join(names) or 'none'}"


class Values(Mapping[str, float]):
    """Values of one actuator (or site) at one instant, by name; NaN where not valid."""

    __slots__ = ("_positions", "_stream", "_values")

    def __init__(self, stream: ResultStream, positions: Mapping[str, int], values: Samples) -> None:
        self._stream, self._positions, self._values = stream, positions, values

    def __getitem__(self, name: str) -> float:
        return float(self._values[self._position(name)])

    def __iter__(self) -> Iterator[str]:
        return iter(self._positions)

    def __len__(self) -> int:
        return len(self._positions)

    def __repr__(self) -> str:
        return repr(dict(self))

    def unit(self, name: str) -> str:
        """Return the unit of a value; 1 if it is dimensionless."""
        return self._stream.columns[self._position(name)].unit

    def reason(self, name: str) -> str:
        """Return why a value is NaN, in a few words; empty where there is one, or the reason is unknown."""
        code = self.get(reason_column(name), 0.0)
        return reason_word(code) if code > 0.0 else ""

    def _position(self, name: str) -> int:
        try:
            return self._positions[name]
        except KeyError:
            raise KeyError(_missing("value", name, self._positions)) from None


@dataclass(frozen=True, slots=True, eq=False)
class Row(Mapping[str, Values]):
    """One instant: ``row["north"]["broadband_delay"]``.

    Parameters
    ----------
    stream : describes the columns; another object, or another epoch, after a restart.
    time : s on the rig's clock.
    index : of the sample.
    numbers : (n_columns,), in the order of the columns of the stream.
    positions : column of each value, by actuator and name.
    """

    stream: ResultStream
    time: float
    index: int
    numbers: Samples
    positions: Positions

    def __getitem__(self, actuator: str) -> Values:
        try:
            positions = self.positions[actuator]
        except KeyError:
            raise KeyError(_missing("actuator", actuator, self.positions)) from None
        return Values(self.stream, positions, self.numbers)

    def __iter__(self) -> Iterator[str]:
        return iter(self.positions)

    def __len__(self) -> int:
        return len(self.positions)

    def __repr__(self) -> str:
        return f"Row(time={self.time:g}, index={self.index}, actuators={list(self.positions)})"


class RowReader:
    """Make rows of result blocks; the columns of a stream are indexed once."""

    def __init__(self) -> None:
        self._stream: ResultStream | None = None
        self._positions: dict[str, dict[str, int]] = {}

    def rows(self, block: ResultBlock) -> Iterator[Row]:
        """Yield the rows of a block."""
        return (self.row(block, number) for number in range(len(block)))

    def row(self, block: ResultBlock, number: int) -> Row:
        """Return one row; -1 is the last."""
        stream, number = block.stream, range(len(block))[number]
        if stream is not self._stream:
            self._stream, self._positions = stream, {}
            for position, column in enumerate(stream.columns):
                self._positions.setdefault(column.actuator, {})[column.name] = position
        ahead = number * stream.every
        time = block.time + ahead / stream.sample_rate
        return Row(stream, time, block.index + ahead, block.values[number], self._positions)
