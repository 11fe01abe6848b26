"""The last that was known of the models that a service judges."""

from __future__ import annotations

import numpy as np

from monitor.messages.blocks import ResultBlock, ResultStream, Samples

_SHOWN = ("first_passage", "accumulated", "windowed")


class FinalReliability:
    """Follow the results, and say at the end how each site came out."""

    def __init__(self) -> None:
        self._stream: ResultStream | None = None
        self._columns: dict[str, list[int]] = {}
        self._values: dict[str, Samples] = {}

    def follow(self, block: ResultBlock) -> None:
        """Take the next results."""
        if block.stream is not self._stream:
            self._begin(block.stream)
        for site, columns in self._columns.items():
            rows = block.values[:, columns]
            known = np.flatnonzero(~np.isnan(rows[:, 0]))
            if len(known):
                self._values[site] = rows[known[-1]]

    def _begin(self, stream: ResultStream) -> None:
        self._stream, self._values = stream, {}
        places = {(column.actuator, column.name): place for place, column in enumerate(stream.columns)}
        names = [f"reliability_{name}{suffix}" for name in _SHOWN for suffix in ("", "_se")]
        sites = dict.fromkeys(actuator for actuator, name in places if name == names[0])
        self._columns = {site: [places[site, name] for name in names] for site in sites}

    @property
    def lines(self) -> tuple[str, ...]:
        """A line a site, with what is known of it."""
        return tuple(f"{site}: {_words(values)}" for site, values in self._values.items())


def _words(values: Samples) -> str:
    told = []
    for name, (value, error) in zip(_SHOWN, values.reshape(-1, 2).tolist(), strict=True):
        if value == value:
            told.append(f"{name.replace('_', '-')} {value:.4f}" + (f" ± {error:.4f}" if error == error else ""))
    return ", ".join(told)
