"""What the operator is told, line by line, while the service runs."""

from __future__ import annotations

import time
from collections.abc import Callable

from monitor.alarm_report import AlarmReport
from monitor.alarms.text import in_words
from monitor.blocks import Event, EventKind, ResultBlock, SignalBlock
from monitor.commands.last_judged import LastJudged
from monitor.health import Health
from monitor.transfer import TransferBlock

_PAUSE = 5.0
_TOLD = {
    EventKind.STARTED: "the stream starts",
    EventKind.RESTART: "the rig has restarted",
    EventKind.ENDED: "the stream has ended",
    EventKind.GAP: "samples lost",
    EventKind.DUPLICATE: "samples came twice and were left out",
    EventKind.REORDERED: "samples came too late and were left out",
    EventKind.CLOCK_JUMP: "the rig's clock jumped",
    EventKind.REJECTED: "messages refused",
    EventKind.RECONNECTED: "",
    EventKind.DECISION: "",
    EventKind.NOTE: "",
    EventKind.ALARM: "alarm",
}
# never too many, and each says something else
_ALWAYS = (EventKind.DECISION, EventKind.NOTE, EventKind.ALARM)


class Announcer:
    """A sink that says events in words; of one kind at most a line in five seconds, where more would be noise.

    Parameters
    ----------
    say : takes a line.
    clock : s, monotonic.
    """

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._say = say
        self._clock = clock
        self._said: dict[EventKind, float] = {}
        self._complete = True
        self._judged = LastJudged()

    def signals(self, block: SignalBlock) -> None:
        """Say nothing."""

    def results(self, block: ResultBlock) -> None:
        """Remember what is said of models at the end."""
        self._judged.follow(block)

    def transfer(self, block: TransferBlock) -> None:
        """Say nothing."""

    def event(self, event: Event) -> None:
        """Say what happened, unless it is noise."""
        now = self._clock()
        if event.kind not in _TOLD:
            return
        if event.kind not in _ALWAYS and now - self._said.get(event.kind, now - _PAUSE) < _PAUSE:
            return
        self._said[event.kind] = now
        what = f"{event.count or ''} {_TOLD[event.kind]}".strip()
        detail = in_words(event) if event.kind is EventKind.ALARM else event.detail
        self._say(f"at {event.time:.3f} s: {': '.join(filter(None, (what, detail)))}")
        if event.kind is EventKind.ENDED:
            for line in self._judged.lines:
                self._say(line)

    def alarms(self, report: AlarmReport) -> None:
        """Say nothing: every transition is an event."""

    def health(self, health: Health) -> None:
        """Say once that samples cannot be recorded."""
        if health.unrecorded and self._complete:
            self._complete = False
            self._say(f"{health.recording}: {health.unrecorded} samples could not be recorded")

    def close(self) -> None:
        """Do nothing."""
