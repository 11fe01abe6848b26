"""One instant of a service's results, by actuator and name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from monitor.messages.blocks import ResultBlock, ResultStream, Samples

Places = Mapping[str, Mapping[str, int]]


def _missing(kind: str, name: object, there: Mapping[str, object]) -> str:
    return f"no {kind} {name!r}; there are: {', '.join(there) or 'none'}"


class Values(Mapping[str, float]):
    """What is known of one actuator (or response) at one instant: numbers by name, NaN where one means nothing."""

    __slots__ = ("_places", "_stream", "_values")

    def __init__(self, stream: ResultStream, places: Mapping[str, int], values: Samples) -> None:
        self._stream, self._places, self._values = stream, places, values

    def __getitem__(self, name: str) -> float:
        return float(self._values[self._place(name)])

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return repr(dict(self))

    def unit(self, name: str) -> str:
        """Return the unit of a value; 1 for a plain number."""
        return self._stream.columns[self._place(name)].unit

    def _place(self, name: str) -> int:
        try:
            return self._places[name]
        except KeyError:
            raise KeyError(_missing("value", name, self._places)) from None


@dataclass(frozen=True, slots=True, eq=False)
class Row(Mapping[str, Values]):
    """One instant: ``row["north"]["broadband_delay"]``.

    Parameters
    ----------
    stream : what the columns are; another object, or another epoch, after a restart.
    time : s on the rig's clock.
    index : number of the sample.
    numbers : (n_columns,), in the order of the stream's columns.
    places : the column of each value, by actuator and name.
    """

    stream: ResultStream
    time: float
    index: int
    numbers: Samples
    places: Places

    def __getitem__(self, actuator: str) -> Values:
        try:
            places = self.places[actuator]
        except KeyError:
            raise KeyError(_missing("actuator", actuator, self.places)) from None
        return Values(self.stream, places, self.numbers)

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)

    def __repr__(self) -> str:
        return f"Row(time={self.time:g}, index={self.index}, actuators={list(self.places)})"


class RowReader:
    """Result blocks -> rows; sorts the columns of a stream once."""

    def __init__(self) -> None:
        self._stream: ResultStream | None = None
        self._places: dict[str, dict[str, int]] = {}

    def rows(self, block: ResultBlock) -> Iterator[Row]:
        """Yield the rows of a block."""
        return (self.row(block, number) for number in range(len(block)))

    def row(self, block: ResultBlock, number: int) -> Row:
        """Return one row; -1 is the last."""
        stream, number = block.stream, range(len(block))[number]
        if stream is not self._stream:
            self._stream, self._places = stream, {}
            for position, column in enumerate(stream.columns):
                self._places.setdefault(column.actuator, {})[column.name] = position
        ahead = number * stream.every
        time = block.time + ahead / stream.sample_rate
        return Row(stream, time, block.index + ahead, block.values[number], self._places)
