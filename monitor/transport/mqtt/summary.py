"""What became of a run so far: the headline, counts, the worst of every value, the alarms, the recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from monitor.messages.alarms import Alarm
from monitor.messages.blocks import ResultBlock, ResultStream, Samples
from monitor.messages.health import Health
from monitor.transport.mqtt import payloads
from monitor.transport.mqtt.payloads import Headlines

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
        self._headlines: Headlines | None = None
        self._last: dict[str, tuple[Samples, float]] = {}

    def follow(self, block: ResultBlock) -> None:
        """Take the next results."""
        if block.stream is not self._stream:
            self._begin(block.stream)
        if not len(block) or not len(self._columns):
            return
        self._keep_last(block)
        sizes = np.abs(block.values[:, self._columns])
        rows = np.fmax.reduce(sizes, axis=0)
        # a NaN is larger than nothing
        larger = np.flatnonzero(rows > self._worst)
        if len(larger):
            self._worst[larger] = rows[larger]
            at = np.nanargmax(sizes[:, larger], axis=0)
            self._when[larger] = block.time + at * (block.stream.every / block.stream.sample_rate)

    def _keep_last(self, block: ResultBlock) -> None:
        """Keep the newest row with a delay, of each actuator."""
        if self._headlines is None:
            return
        known = np.isfinite(block.values[:, self._headlines.delays])
        newest = len(block) - 1 - np.argmax(known[::-1], axis=0)
        step = block.stream.every / block.stream.sample_rate
        for place in np.flatnonzero(np.any(known, axis=0)).tolist():
            row = int(newest[place])
            self._last[self._headlines.names[place]] = block.values[row], block.time + row * step

    def _begin(self, stream: ResultStream) -> None:
        self._stream = stream
        self._headlines, self._last = Headlines(stream), {}
        told = [place for place, column in enumerate(stream.columns) if not payloads.is_reliability(column.name)]
        self._columns = np.array(told, dtype=np.intp)
        self._worst, self._when = np.full(len(told), -1.0), np.zeros(len(told))

    def message(self, health: Health, alarms: Sequence[Alarm], ending: Ending | None = None) -> bytes:
        """Return the payload; while the recording goes on its outcome is empty."""
        kept = ending or Ending("", health.recorded, health.unrecorded)
        return payloads.encode(
            {
                "state": health.state,
                "headline": self._newest(health.window),
                "counts": asdict(health.counts),
                "worst": self._rows(),
                "alarms": payloads.alarm_counts(alarms),
                "recording": {"path": health.recording, **asdict(kept)} if health.recording else None,
                "utc": payloads.now(),
            }
        )

    def _newest(self, window: float) -> dict[str, Any]:
        if self._headlines is None:
            return {}
        of = self._headlines.of
        return {name: {**of(name, row, window), "time": time} for name, (row, time) in self._last.items()}

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
