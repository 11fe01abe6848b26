"""State of the service as seen by a client, as words and a shape."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gui.wording.level import Level
from monitor.messages.health import Health

SILENCE = 2.5
"""s without a health message, of which the service sends five a second."""


@dataclass(frozen=True, slots=True)
class ServiceState:
    """State of a service.

    Parameters
    ----------
    key : connecting, waiting, receiving, stale, halted, ended, silent, recording, or another one of a newer service.
    words, shape : shown.
    level : importance.
    brief : shorter words; by default the same.
    """

    key: str
    words: str
    shape: str
    level: Level
    brief: str = ""

    @property
    def current(self) -> bool:
        """Whether the newest values are current."""
        return self.key == "receiving"


_STATES = {
    state.key: state
    for state in (
        ServiceState("connecting", "connecting", "○", Level.WARN),
        ServiceState("waiting", "waiting for the rig", "○", Level.WARN, "waiting"),
        ServiceState("receiving", "receiving", "●", Level.GOOD),
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
    if stale:
        return _STATES["stale"]
    return _STATES.get(health.state) or ServiceState(health.state, health.state, "◆", Level.WARN)
