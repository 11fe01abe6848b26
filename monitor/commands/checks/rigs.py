"""The rigs: whether their endpoints are good, and what comes from them within a few seconds."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import monotonic

from monitor.commands.checks.check_result import CheckResult, fail, ok, warn
from monitor.commands.security import Guard
from monitor.config import StreamSettings
from monitor.messages.blocks import Event, EventKind, Stream
from monitor.transport.zeromq.endpoint import host_and_port
from monitor.transport.zeromq.handshake import server_mechanism
from monitor.transport.zeromq.signals import ZmqSource

PATIENCE = 3.0
"""s for which rigs are listened to."""

_TURN = 0.05


@dataclass(slots=True)
class Ear:
    """One endpoint that is listened to, and what has been heard there."""

    url: str
    bound: bool
    source: ZmqSource
    streams: dict[str, Stream] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)  # samples a message, of each rig
    troubles: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)

    @property
    def answered(self) -> bool:
        """What more could come would change nothing."""
        return bool(self.streams or self.troubles)

    def listen(self, seconds: float) -> None:
        """Take what comes."""
        for item in self.source.receive(seconds):
            if not isinstance(item, Event):
                self.streams.setdefault(item.stream.rig, item.stream)
                self.rows[item.stream.rig] = max(1, len(item), self.rows.get(item.stream.rig, 1))
            elif item.kind is EventKind.REJECTED:
                self.refusals.append(item.detail)
            elif item.kind is EventKind.NOTE:
                self.troubles.append(item.detail)


class RigProbe:
    """Every endpoint of the settings, bound or connected as the service would; closed by `close`.

    Endpoints that cannot be used are in `problems`.
    """

    def __init__(self, settings: StreamSettings, insecure: bool, guard: Guard) -> None:
        self._rig, self._secured = settings.rig, guard.keys is not None
        self.problems: list[CheckResult] = []
        self._ears: list[Ear] = []
        for url, bound in [*((url, True) for url in settings.bind), *((url, False) for url in settings.connect)]:
            try:
                source = ZmqSource(
                    () if bound else (url,),
                    (url,) if bound else (),
                    rig=settings.rig,
                    sample_rate=settings.sample_rate,
                    stale_after=settings.stale_after,
                    insecure=insecure,
                    security=guard.keys,
                    context=guard.context,
                )
            except (ValueError, OSError) as problem:
                self.problems.append(fail("rig", str(problem)))
            else:
                self._ears.append(Ear(url, bound, source))

    @property
    def streams(self) -> list[Stream]:
        """What has been heard, one of each rig."""
        heard: dict[str, Stream] = {}
        for ear in self._ears:
            heard = ear.streams | heard
        return list(heard.values())

    def rows(self, rig: str) -> int:
        """Return how many samples a rig puts in a message, the most that were heard."""
        return max(ear.rows.get(rig, 1) for ear in self._ears)

    def listen(self, patience: float = PATIENCE) -> Iterator[CheckResult]:
        """Listen until something has come from everywhere, but not longer than `patience` s; say what came."""
        deadline = monotonic() + patience
        while (waiting := [ear for ear in self._ears if not ear.answered]) and monotonic() < deadline:
            for ear in waiting:
                ear.listen(_TURN / len(waiting))
        yield from self.problems
        for ear in self._ears:
            yield from self._told(ear)
        names = sorted(stream.rig for stream in self.streams)
        if len(names) > 1:
            yield warn("rig", f"{', '.join(names)} all speak, and only one is followed: name it with --rig")

    def _told(self, ear: Ear) -> Iterator[CheckResult]:
        for stream in ear.streams.values():
            yield ok("rig", f"{ear.url}: {described(stream)}")
        if ear.refusals and not ear.streams:
            yield fail("rig", f"{ear.url}: what comes is refused: {ear.refusals[-1]}")
        elif ear.refusals:
            yield warn("rig", f"{ear.url}: messages beside are refused: {ear.refusals[-1]}")
        if ear.troubles and not ear.streams:
            yield fail("rig", self._trouble(ear))
        if not (ear.streams or ear.refusals or ear.troubles):
            yield warn("rig", f"{ear.url}: {self._silence(ear)}")

    def _trouble(self, ear: Ear) -> str:
        # which of the two sides hangs up first is chance, and with it what a failed handshake tells
        if not self._secured and server_mechanism(ear.url) == "CURVE":
            return f"{ear.url}: it asks for keys, so give --keys"
        return ear.troubles[-1]

    def _silence(self, ear: Ear) -> str:
        if ear.bound:
            return "no rig has connected and sent yet"
        if not _answers(ear.url):
            return "nothing listens there: is the rig on, and the endpoint right?"
        whose = f"of rig {self._rig!r} " if self._rig else ""
        return f"somebody listens there, but no signals {whose}came: has the rig begun to send?"

    def close(self) -> None:
        """Leave no socket behind."""
        for ear in self._ears:
            ear.source.close()


def described(stream: Stream) -> str:
    """Return what a rig sends, in words."""
    actuators = len(stream.pairs)
    forces = sum(pair.force is not None for pair in stream.pairs)
    return (
        f"rig {stream.rig or '(no name)'}, {stream.sample_rate:g} Hz, {_several(len(stream.channels), 'channel')}, "
        f"{_several(actuators, 'actuator')}, {forces} with a force"
    )


def _several(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _answers(url: str) -> bool:
    """Tell whether something listens at an endpoint; True also where that cannot be told."""
    where = host_and_port(url)
    if where is None:
        return True
    try:
        socket.create_connection(where, timeout=1.0).close()
    except (OSError, UnicodeError):
        return False
    return True
