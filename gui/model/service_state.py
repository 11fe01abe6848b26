"""States of the service and of its recording as seen by a client."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from gui.wording.level import Level
from monitor.messages.health import LONGEST_UNWRITTEN, Health

SILENCE = 2.4
"""s without a health message, of which the service sends five a second."""
_LAG = 0.3  # s by which the results of a service that keeps up are late at most
_LOAD = 0.9  # of a service that does not wait for samples
_FAST = 1.5  # times real time, from which on a replay sets the pace, and not a rig


@dataclass(frozen=True, slots=True)
class ServiceState:
    """State of a service.

    Parameters
    ----------
    key : connecting, waiting, receiving, overloaded, stale, halted, ended, silent, recording, or of a newer service.
    words, shape : shown.
    level : importance.
    brief : shorter words; by default the same.
    current : the newest values are current.
    """

    key: str
    words: str
    shape: str
    level: Level
    brief: str = ""
    current: bool = False


_STATES = {
    state.key: state
    for state in (
        ServiceState("connecting", "connecting", "○", Level.WARN),
        ServiceState("waiting", "waiting for the rig", "○", Level.WARN, "waiting"),
        ServiceState("receiving", "receiving", "●", Level.GOOD, current=True),
        ServiceState("overloaded", "overloaded", "▲", Level.WARN, current=True),
        ServiceState("stale", "stale", "▲", Level.BAD),
        ServiceState("halted", "replay paused", "❚❚", Level.INFO),
        ServiceState("ended", "ended", "■", Level.INFO),
        ServiceState("silent", "no data from the service", "▲", Level.BAD, "no data"),
    )
}


RECORDED = ServiceState("recording", "recording", "■", Level.INFO)
"""State of a recording that is shown as a whole: there is no service."""


def service_state(
    health: Health | None, silence: float = 0.0, age: float = 0.0, interval: float = 0.0, *, halted: bool = False
) -> ServiceState:
    """Return the state of a service.

    Parameters
    ----------
    health : newest message; None before the first.
    silence : s since then.
    age : s since the last results; old ones are stale, whatever the service reports. Infinite: unknown.
    interval : s between results.
    halted : the stream is a replay that its user paused.
    """
    if health is None:
        return _STATES["connecting"]
    if health.state == "ended":
        return _STATES["ended"]
    if silence > SILENCE:
        return _STATES["silent"]
    stale = health.state == "receiving" and SILENCE + 2.0 * interval < age < math.inf
    if halted and (stale or health.state == "stale"):
        return _STATES["halted"]
    if _overloaded(health) and (health.shed or stale or health.state == "stale"):
        late = stale or health.state == "stale"
        return replace(
            _STATES["overloaded"],
            words=f"overloaded, {max(health.lag, age if late and age < math.inf else 0.0):.1f} s behind",
            brief="overloaded",
            level=Level.BAD if late else Level.WARN,
            current=not late,
        )
    if stale:
        return _STATES["stale"]
    return _STATES.get(health.state) or ServiceState(health.state, health.state, "◆", Level.WARN)


def _overloaded(health: Health) -> bool:
    """Whether the service computes all the time and cannot keep up; a stream that is dead leaves it idle."""
    if health.state not in ("receiving", "stale") or health.measured_rate > _FAST * health.sample_rate > 0.0:
        return False
    return health.lag > _LAG or health.load > _LOAD


class RecordingProgress:
    """Whether samples reach the disk: a recording has stopped where samples wait or are lost, and none is written.

    Attributes
    ----------
    stopped_since : arrival of the oldest sample that is not on the disk, s since 1970; None: samples are written.
    """

    def __init__(self) -> None:
        self.stopped_since: float | None = None
        self._health = Health()
        self._last_write, self._first_loss = -math.inf, math.inf

    def update(self, health: Health, now: float) -> None:
        """Compare a health message with the previous one; `now` is s since 1970."""
        before, self._health = self._health, health
        if not (before.recording and health.recording) or health.recorded != before.recorded:
            self._last_write, self._first_loss, self.stopped_since = now, math.inf, None
        elif health.unrecorded > before.unrecorded:
            self._first_loss = min(self._first_loss, now)
        since = min(self._first_loss, now - health.unwritten_age if health.unwritten_age > 0.0 else math.inf)
        # a disk that is slow writes now and then
        if min(now - since, now - self._last_write) > LONGEST_UNWRITTEN:
            self.stopped_since = since if self.stopped_since is None else min(since, self.stopped_since)
