"""What became of a run so far: counts, the worst of every value, the alarms, the recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from monitor.alarm_report import Alarm
from monitor.blocks import ResultBlock, ResultStream
from monitor.health import Health
from monitor.transport.mqtt import payloads

_EMPTY = np.empty(0)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a recording came out: ``clean``, ``lossy`` or ``truncated``, and how many samples it has and has not."""

    outcome: str
    recorded: int
    unrecorded: int


class Summary:
    """Follow the results of one stream.

    What is judged of a model is not among the worst values: of a probability the largest says nothing.
    """

    def __init__(self) -> None:
        self._stream: ResultStream | None = None
        self._columns = np.empty(0, dtype=np.intp)
        self._worst, self._when = _EMPTY, _EMPTY

    def follow(self, block: ResultBlock) -> None:
        """Take the next results."""
        if block.stream is not self._stream:
            self._begin(block.stream)
        if not len(block) or not len(self._columns):
            return
        sizes = np.abs(block.values[:, self._columns])
        rows = np.fmax.reduce(sizes, axis=0)
        # a NaN is larger than nothing
        larger = np.flatnonzero(rows > self._worst)
        if len(larger):
            self._worst[larger] = rows[larger]
            at = np.nanargmax(sizes[:, larger], axis=0)
            self._when[larger] = block.time + at * (block.stream.every / block.stream.sample_rate)

    def _begin(self, stream: ResultStream) -> None:
        self._stream = stream
        told = [place for place, column in enumerate(stream.columns) if not payloads.is_reliability(column.name)]
        self._columns = np.array(told, dtype=np.intp)
        self._worst, self._when = np.full(len(told), -1.0), np.zeros(len(told))

    def message(self, health: Health, alarms: Sequence[Alarm], ending: Ending | None = None) -> bytes:
        """Return the payload; while the recording goes on its outcome is empty."""
        kept = ending or Ending("", health.recorded, health.unrecorded)
        return payloads.encode(
            {
                "state": health.state,
                "counts": asdict(health.counts),
                "worst": self._rows(),
                "alarms": payloads.alarm_counts(alarms),
                "recording": {"path": health.recording, **asdict(kept)} if health.recording else None,
                "utc": payloads.now(),
            }
        )

    def _rows(self) -> list[dict[str, Any]]:
        if self._stream is None:
            return []
        columns = [self._stream.columns[place] for place in self._columns]
        known = zip(columns, self._worst.tolist(), self._when.tolist(), strict=True)
        return [
            {"name": column.name, "actuator": column.actuator, "unit": column.unit, "value": value, "time": time}
            for column, value, time in known
            if value >= 0.0
        ]
