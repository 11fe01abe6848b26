"""All alarms of a service: which values they watch, what has become of them, what is asked of them."""

from __future__ import annotations

from monitor.alarm_report import Alarm, Transition
from monitor.blocks import ResultBlock, ResultStream
from monitor.config import AlarmSettings
from monitor.health import Health
from monitor.requests import AlarmRequest


class AlarmMonitor:
    """Judge results and health by limits.

    Parameters
    ----------
    settings : the limits; None: none at all.
    stale_after : s of silence after which the stream is dead.
    """

    def __init__(self, settings: AlarmSettings | None = None, stale_after: float = 5.0) -> None:
        self._settings = settings

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """All of them, as they are."""
        return ()

    def follow(self, stream: ResultStream) -> tuple[str, ...]:
        """Watch the columns of a new stream; return what there is to note, one line each."""
        return ()

    def judge(self, results: ResultBlock) -> tuple[Transition, ...]:
        """Judge the rows of the stream that is followed."""
        return ()

    def look(self, health: Health, time: float, index: int, passed: float) -> tuple[Transition, ...]:
        """Judge the service's health, `passed` s after the last look; what is shelved comes back in time."""
        return ()

    def obey(self, request: AlarmRequest, time: float, index: int) -> tuple[Transition, ...]:
        """Do what is asked; raises ValueError, with one line that says why, where that cannot be done."""
        raise ValueError("there are no alarms here")

    def snapshot(self) -> bytes:
        """Return what must outlive the service."""
        return b""

    def restore(self, kept: bytes) -> None:
        """Take over what `snapshot` returned, in another service; raises ValueError for anything else."""
