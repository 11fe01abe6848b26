"""Health statistics of the service: counts, rates, latencies, and whether the counts of samples add up."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from monitor.engine.continuity import Accepted
from monitor.messages.blocks import Event, EventKind, SignalBlock
from monitor.messages.health import LATENCY_BOUNDS, BrokerStatus, Health, RecordingStatus, StreamCounts
from monitor.transport.base import RequestServer


class SampleAccount:
    """Samples by the rig's own numbers, compared with the counts of received, lost and recorded samples.

    A number within a stream is received or lost, and a received sample is recorded, dropped or waits for the disk.
    A difference between these sums is a loss that is reported nowhere else: a defect of the service.
    """

    def __init__(self) -> None:
        self._numbered = 0
        self._next = 0

    def count(self, accepted: Accepted) -> None:
        """Count by their numbers the samples of a block, and those missing before it."""
        block = accepted.block
        if block is None:
            return
        if accepted.started:
            self._next = block.index
        self._numbered += block.index + len(block) - self._next
        self._next = block.index + len(block)

    def missing(self, counts: StreamCounts, unread: int, recording: RecordingStatus) -> int:
        """Return how many samples are in none of the counts, or in two of them; 0 where the sums agree.

        Parameters
        ----------
        unread : samples counted as lost whose numbers are unknown: those unread when the service stopped.
        recording : with an empty path where nothing is recorded.
        """
        missing = abs(self._numbered - counts.received - (counts.lost - unread))
        if recording.path:
            written = recording.recorded + recording.unrecorded + recording.waiting
            missing += abs(counts.received + unread - written)
        return missing


_LAGS = 15  # reports over which the trend is computed
# field of `Counts` that an event increases, and whether by the event's own count instead of by one
_COUNTED = {
    EventKind.GAP: ("lost", True),
    EventKind.DUPLICATE: ("duplicates", True),
    EventKind.REORDERED: ("reordered", True),
    EventKind.REJECTED: ("rejected", True),
    EventKind.RESTART: ("restarts", False),
    EventKind.CLOCK_JUMP: ("clock_jumps", False),
    EventKind.RECONNECTED: ("reconnects", False),
    EventKind.CONTRADICTION: ("contradictions", False),
}


class HealthStatistics:
    """Counts, rates and latencies of the service; all times are s on one monotonic clock.

    Parameters
    ----------
    start : of the service.
    stale_after : s of silence after which the stream is called stale.
    fixed : fields that do not change, such as the length of the window.
    """

    def __init__(self, start: float, stale_after: float, fixed: Health) -> None:
        self._stale_after = stale_after
        self._fixed = fixed
        self.newest: SignalBlock | None = None
        """The last block that was accepted."""
        self._last_arrival: float | None = None
        self._last_report = (start, 0)
        self._rate = self._latency = self._latency_sum = self._idle = 0.0
        self._lag = 0.0
        self._lags: deque[tuple[float, float]] = deque(maxlen=_LAGS)
        self._latencies = [0] * (len(LATENCY_BOUNDS) + 1)
        # received changes with every block, the others seldom
        self._received, self._counts = 0, StreamCounts()

    @property
    def counts(self) -> StreamCounts:
        """Counts of samples and events so far."""
        return replace(self._counts, received=self._received)

    @property
    def last_report_time(self) -> float:
        """When the last report was made."""
        return self._last_report[0]

    @property
    def ended(self) -> bool:
        """The newest block was the stream's last."""
        return self.newest is not None and self.newest.last

    @property
    def newest_sample(self) -> tuple[float, int]:
        """Time and index of the newest sample; zeros before the first."""
        if self.newest is None:
            return 0.0, 0
        newest = self.newest.tail(max(len(self.newest) - 1, 0))
        return newest.time, newest.index

    def count_samples(self, block: SignalBlock, arrived: float) -> None:
        """Count accepted samples; `arrived` s, in the time in which this program could run."""
        self.newest, self._last_arrival = block, arrived
        self._received += len(block)

    def add_latency(self, latency: float) -> None:
        """Count how long results took from the arrival of their newest sample to the first sink, s."""
        self._latencies[bisect_left(LATENCY_BOUNDS, latency)] += 1
        self._latency_sum += latency
        self.set_lag(latency)

    def set_lag(self, latency: float) -> None:
        """Set how late results are, s, also where none are computed."""
        self._latency, self._lag = max(self._latency, latency), latency

    def add_idle(self, seconds: float) -> None:
        """Add time in which the service waited."""
        self._idle += seconds

    def count_event(self, event: Event) -> None:
        """Count an event of the stream."""
        if event.kind is EventKind.GAP:
            self._counts = replace(self._counts, gaps=self._counts.gaps + 1)
        if event.samples:
            total = self._counts.rejected_samples + event.samples
            self._counts = replace(self._counts, rejected_samples=total)
        if event.kind in _COUNTED:
            name, by_count = _COUNTED[event.kind]
            total = getattr(self._counts, name) + (event.count if by_count else 1)
            self._counts = replace(self._counts, **{name: total})

    def report(
        self,
        now: float,
        running: float,
        rig: str,
        recording: RecordingStatus,
        request_servers: Sequence[RequestServer],
        broker: BrokerStatus,
    ) -> Health:
        """Return the health; rates and the longest latency are those since the last report.

        Parameters
        ----------
        now : s, monotonic.
        running : s, the time in which this program could run: a pause of its own is no silence of the rig.
        """
        then, received = self._last_report
        load = 0.0
        if now > then:
            self._rate = (self._received - received) / (now - then)
            load = max(0.0, 1.0 - self._idle / (now - then))
        self._last_report = now, self._received
        then, before = self._lags[0] if self._lags else (now, self._lag)
        self._lags.append((now, self._lag))
        health = replace(
            self._fixed,
            rig=rig,
            state=self._state(running),
            counts=self.counts,
            sample_rate=0.0 if self.newest is None else self.newest.stream.sample_rate,
            measured_rate=self._rate,
            age=0.0 if self._last_arrival is None else running - self._last_arrival,
            latency=self._latency,
            latency_counts=tuple(self._latencies),
            latency_sum=self._latency_sum,
            load=load,
            lag=self._lag,
            lag_trend=(self._lag - before) / (now - then) if now > then else 0.0,
            recording=recording.path,
            recorded=recording.recorded,
            unrecorded=recording.unrecorded,
            disk_free=recording.disk_free,
            unwritten_age=recording.unwritten_age,
            recording_breaks=recording.recording_breaks,
            requests_refused=sum(server.refused for server in request_servers),
            broker=broker,
        )
        self._latency = self._lag = self._idle = 0.0
        return health

    def _state(self, running: float) -> str:
        if self._last_arrival is None:
            return "waiting"
        if self.ended:
            return "ended"
        return "stale" if running - self._last_arrival > self._stale_after else "receiving"
