"""A source and a sink without a network: for embedding, and for tests."""

from __future__ import annotations

import queue
from collections.abc import Iterable

from monitor.messages.alarms import AlarmReport
from monitor.messages.blocks import Event, ResultBlock, SignalBlock
from monitor.messages.health import Health
from monitor.messages.transfer import TransferBlock


class MemorySource:
    """Hand out blocks and events one at a time.

    Parameters
    ----------
    items : handed out in this order, after which the source has ended.
        Without them the source is fed by `put`, from any thread, and ends by `finish`.
    """

    def __init__(self, items: Iterable[SignalBlock | Event] | None = None) -> None:
        self._queue: queue.SimpleQueue[SignalBlock | Event | None] = queue.SimpleQueue()
        self._ended = False
        self._handed = 0
        if items is not None:
            for item in items:
                self.put(item)
            self.finish()

    def put(self, item: SignalBlock | Event) -> None:
        """Queue one more."""
        self._queue.put(item)

    def finish(self) -> None:
        """Say that nothing more will be put."""
        self._queue.put(None)

    def receive(self, timeout: float) -> tuple[SignalBlock | Event, ...]:
        """Return the next item alone; nothing when none comes within `timeout` seconds."""
        self._handed = 0
        if self._ended:
            return ()
        try:
            item = self._queue.get(timeout=max(timeout, 0.0))
        except queue.Empty:
            return ()
        self._ended = item is None
        if item is None:
            return ()
        self._handed = 1
        return (item,)

    @property
    def ended(self) -> bool:
        """Everything has been handed out and nothing more will come."""
        return self._ended

    @property
    def waiting(self) -> int:
        """How many items are queued that have not been handed out."""
        return 0 if self._ended else self._queue.qsize()

    @property
    def dropped_last(self) -> int:
        """None: it takes all that is put."""
        return 0

    @property
    def waited(self) -> tuple[float, ...]:
        """Nothing: what is put has come when it is received."""
        return (0.0,) * self._handed

    def close(self) -> None:
        """End here; what is still queued is forgotten."""
        self._ended = True


class MemorySink:
    """Keep everything that comes, in order, in lists."""

    def __init__(self) -> None:
        self.signals_seen: list[SignalBlock] = []
        self.results_seen: list[ResultBlock] = []
        self.transfers_seen: list[TransferBlock] = []
        self.events_seen: list[Event] = []
        self.alarms_seen: list[AlarmReport] = []
        self.health_seen: list[Health] = []
        self.closed = False

    def signals(self, block: SignalBlock) -> None:
        """Keep the samples."""
        self.signals_seen.append(block)

    def results(self, block: ResultBlock) -> None:
        """Keep the indicator values."""
        self.results_seen.append(block)

    def transfer(self, block: TransferBlock) -> None:
        """Keep the transfer functions."""
        self.transfers_seen.append(block)

    def event(self, event: Event) -> None:
        """Keep the event."""
        self.events_seen.append(event)

    def alarms(self, report: AlarmReport) -> None:
        """Keep the alarms."""
        self.alarms_seen.append(report)

    def health(self, health: Health) -> None:
        """Keep the look at the service."""
        self.health_seen.append(health)

    def close(self) -> None:
        """Remember that the sink was closed; the lists stay."""
        self.closed = True
