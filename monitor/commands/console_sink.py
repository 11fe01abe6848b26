"""Console sink: events of the service as lines, and the final model reliability."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from monitor.alarms.text import describe_transition
from monitor.messages import Sink
from monitor.messages.blocks import Event, EventKind, ResultBlock, ResultStream, Samples, kind_text
from monitor.messages.health import Health

_RELIABILITIES = ("first_passage", "accumulated", "windowed")


class FinalReliability:
    """Last reliability of each site."""

    def __init__(self) -> None:
        self._stream: ResultStream | None = None
        self._columns: dict[str, list[int]] = {}
        self._values: dict[str, Samples] = {}

    def update(self, block: ResultBlock) -> None:
        """Read the last known values of a result block."""
        if block.stream is not self._stream:
            self._set_columns(block.stream)
        for site, columns in self._columns.items():
            rows = block.values[:, columns]
            known = np.flatnonzero(~np.isnan(rows[:, 0]))
            if len(known):
                self._values[site] = rows[known[-1]]

    def _set_columns(self, stream: ResultStream) -> None:
        self._stream, self._values = stream, {}
        names = [f"reliability_{name}{suffix}" for name in _RELIABILITIES for suffix in ("", "_se")]
        self._columns = {
            site: [own[each] for each in names] for site, own in stream.places.items() if names[0] in own
        }

    @property
    def lines(self) -> tuple[str, ...]:
        """One line per site."""
        return tuple(f"{site}: {_reliability_text(values)}" for site, values in self._values.items())


def _reliability_text(values: Samples) -> str:
    parts = []
    for name, (value, error) in zip(_RELIABILITIES, values.reshape(-1, 2).tolist(), strict=True):
        if value == value:
            parts.append(f"{name.replace('_', '-')} {value:.4f}" + (f" ± {error:.4f}" if error == error else ""))
    return ", ".join(parts)


_MIN_INTERVAL = 5.0  # s between lines of one kind
_NO_SAMPLES_TIMEOUT = 2.5  # s
# rate-limited at the source, and each has its own text
_ALWAYS = (EventKind.CONTRADICTION, EventKind.DECISION, EventKind.NOTE, EventKind.ALARM, EventKind.LIMITS)
_MAX_ALARM_LINES = 20  # per interval


class ConsoleSink(Sink):
    """A sink that prints events, also those of alarms, as lines, with at most one line of most kinds per 5 s.

    Parameters
    ----------
    log : prints a line.
    clock : s, monotonic.
    awaited : endpoints of rigs; if none sends samples for a while, that is printed once.
    """

    def __init__(
        self, log: Callable[[str], None], clock: Callable[[], float] = time.monotonic, awaited: Sequence[str] = ()
    ) -> None:
        self._log = log
        self._clock = clock
        self._awaited, self._started = tuple(awaited), clock()
        self._printed: dict[EventKind, float] = {}
        self._all_recorded = True
        self._reliability = FinalReliability()
        self._alarms_since, self._alarms = clock(), 0

    def results(self, block: ResultBlock) -> None:
        """Update the final reliability."""
        self._reliability.update(block)

    def event(self, event: Event) -> None:
        """Print the event, within the rate limits."""
        now = self._clock()
        if event.kind not in _ALWAYS and now - self._printed.get(event.kind, now - _MIN_INTERVAL) < _MIN_INTERVAL:
            return
        if event.kind is EventKind.ALARM and not self._admit_alarm(now):
            return
        self._printed[event.kind] = now
        detail = event.detail if event.alarm is None else describe_transition(event.alarm)
        self._log(f"at {event.time:.3f} s: {': '.join(filter(None, (kind_text(event), detail)))}")
        if event.kind is EventKind.ENDED:
            for line in self._reliability.lines:
                self._log(line)

    def health(self, health: Health) -> None:
        """Print once that samples are missing or not recorded, and the number of suppressed alarm lines."""
        now = self._clock()
        self._log_suppressed(now)
        if health.counts.received:
            self._awaited = ()
        elif self._awaited and now - self._started >= _NO_SAMPLES_TIMEOUT:
            self._log(f"no samples from {', '.join(self._awaited)}: still trying")
            self._awaited = ()
        if health.unrecorded and self._all_recorded:
            self._all_recorded = False
            self._log(f"{health.recording}: {health.unrecorded} samples could not be recorded")

    def _admit_alarm(self, now: float) -> bool:
        self._log_suppressed(now)
        self._alarms += 1
        return self._alarms <= _MAX_ALARM_LINES

    def _log_suppressed(self, now: float) -> None:
        if now - self._alarms_since < _MIN_INTERVAL:
            return
        if self._alarms > _MAX_ALARM_LINES:
            self._log(f"{self._alarms - _MAX_ALARM_LINES} more alarm transitions")
        self._alarms_since, self._alarms = now, 0
