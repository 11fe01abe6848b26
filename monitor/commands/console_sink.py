"""What the operator is told, line by line, while the service runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from monitor.alarms.text import describe_transition
from monitor.messages.alarms import AlarmReport
from monitor.messages.blocks import Event, EventKind, ResultBlock, ResultStream, Samples, SignalBlock
from monitor.messages.health import Health
from monitor.messages.transfer import TransferBlock

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


_PAUSE = 5.0
_NO_SAMPLES = 2.5  # s after which a rig that sends nothing is told of
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
_MOST_ALARMS = 20  # lines within a pause


class ConsoleSink:
    """A sink that says events in words; of one kind at most a line in five seconds, where more would be noise.

    Parameters
    ----------
    say : takes a line.
    clock : s, monotonic.
    awaited : endpoints of rigs that are connected to; one that sends nothing for long is told once.
    """

    def __init__(
        self,
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        awaited: Sequence[str] = (),
    ) -> None:
        self._say = say
        self._clock = clock
        self._awaited, self._begun = tuple(awaited), clock()
        self._said: dict[EventKind, float] = {}
        self._complete = True
        self._judged = FinalReliability()
        self._alarms_since, self._alarms = clock(), 0

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
        if event.kind is EventKind.ALARM and not self._room_for_alarm(now):
            return
        self._said[event.kind] = now
        what = f"{event.count or ''} {_TOLD[event.kind]}".strip()
        detail = event.detail if event.alarm is None else describe_transition(event.alarm)
        self._say(f"at {event.time:.3f} s: {': '.join(filter(None, (what, detail)))}")
        if event.kind is EventKind.ENDED:
            for line in self._judged.lines:
                self._say(line)

    def alarms(self, report: AlarmReport) -> None:
        """Say nothing: every transition is an event."""

    def health(self, health: Health) -> None:
        """Say once that no samples come or cannot be recorded, and how many alarms there was no room for."""
        now = self._clock()
        self._tell_left_out(now)
        if health.counts.received:
            self._awaited = ()
        elif self._awaited and now - self._begun >= _NO_SAMPLES:
            self._say(f"no samples from {', '.join(self._awaited)}: still trying")
            self._awaited = ()
        if health.unrecorded and self._complete:
            self._complete = False
            self._say(f"{health.recording}: {health.unrecorded} samples could not be recorded")

    def close(self) -> None:
        """Do nothing."""

    def _room_for_alarm(self, now: float) -> bool:
        self._tell_left_out(now)
        self._alarms += 1
        return self._alarms <= _MOST_ALARMS

    def _tell_left_out(self, now: float) -> None:
        if now - self._alarms_since < _PAUSE:
            return
        if self._alarms > _MOST_ALARMS:
            self._say(f"{self._alarms - _MOST_ALARMS} more steps of alarms, not said one by one")
        self._alarms_since, self._alarms = now, 0
