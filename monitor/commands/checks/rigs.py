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
from monitor.transport.zeromq.endpoint import host_and_port, server_mechanism
from monitor.transport.zeromq.signals import SignalSubscriber

LISTEN_TIME = 3.0
"""s for which rigs are listened to."""

_POLL_INTERVAL = 0.05


@dataclass(slots=True)
class ListenedEndpoint:
    """One endpoint that is listened to, and what has been heard there."""

    url: str
    bound: bool
    source: SignalSubscriber
    streams: dict[str, Stream] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)  # samples a message, of each rig
    faults: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)

    @property
    def answered(self) -> bool:
        """What more could come would change nothing."""
        return bool(self.streams or self.faults)

    def listen(self, seconds: float) -> None:
        """Take what comes."""
        for item in self.source.receive(seconds):
            if not isinstance(item, Event):
                self.streams.setdefault(item.stream.rig, item.stream)
                self.rows[item.stream.rig] = max(1, len(item), self.rows.get(item.stream.rig, 1))
            elif item.kind is EventKind.REJECTED:
                self.refusals.append(item.detail)
            elif item.kind is EventKind.NOTE:
                self.faults.append(item.detail)


class RigProbe:
    """Every endpoint of the settings, bound or connected as the service would; closed by `close`.

    Endpoints that cannot be used are in `problems`.
    """

    def __init__(self, settings: StreamSettings, insecure: bool, guard: Guard) -> None:
        self._rig, self._secured = settings.rig, guard.keys is not None
        self.problems: list[CheckResult] = []
        self._endpoints: list[ListenedEndpoint] = []
        for url, bound in [*((url, True) for url in settings.bind), *((url, False) for url in settings.connect)]:
            try:
                source = SignalSubscriber(
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
                self._endpoints.append(ListenedEndpoint(url, bound, source))

    @property
    def streams(self) -> list[Stream]:
        """What has been heard, one of each rig."""
        heard: dict[str, Stream] = {}
        for endpoint in self._endpoints:
            heard = endpoint.streams | heard
        return list(heard.values())

    def rows(self, rig: str) -> int:
        """Return how many samples a rig puts in a message, the most that were heard."""
        return max(endpoint.rows.get(rig, 1) for endpoint in self._endpoints)

    def listen(self, patience: float = LISTEN_TIME) -> Iterator[CheckResult]:
        """Listen until something has come from everywhere, but not longer than `patience` s; say what came."""
        deadline = monotonic() + patience
        while (
            waiting := [endpoint for endpoint in self._endpoints if not endpoint.answered]
        ) and monotonic() < deadline:
            for endpoint in waiting:
                endpoint.listen(_POLL_INTERVAL / len(waiting))
        yield from self.problems
        for endpoint in self._endpoints:
            yield from self._results(endpoint)
        names = sorted(stream.rig for stream in self.streams)
        if len(names) > 1:
            yield warn("rig", f"{', '.join(names)} all speak, and only one is followed: name it with --rig")

    def _results(self, endpoint: ListenedEndpoint) -> Iterator[CheckResult]:
        for stream in endpoint.streams.values():
            yield ok("rig", f"{endpoint.url}: {described(stream)}")
        if endpoint.refusals and not endpoint.streams:
            yield fail("rig", f"{endpoint.url}: what comes is refused: {endpoint.refusals[-1]}")
        elif endpoint.refusals:
            yield warn("rig", f"{endpoint.url}: messages beside are refused: {endpoint.refusals[-1]}")
        if endpoint.faults and not endpoint.streams:
            yield fail("rig", self._fault(endpoint))
        if not (endpoint.streams or endpoint.refusals or endpoint.faults):
            yield warn("rig", f"{endpoint.url}: {self._silence(endpoint)}")

    def _fault(self, endpoint: ListenedEndpoint) -> str:
        # which of the two sides hangs up first is chance, and with it what a failed handshake tells
        if not self._secured and server_mechanism(endpoint.url) == "CURVE":
            return f"{endpoint.url}: the server requires keys, so give --keys"
        return endpoint.faults[-1]

    def _silence(self, endpoint: ListenedEndpoint) -> str:
        if endpoint.bound:
            return "no rig has connected and sent yet"
        if not _answers(endpoint.url):
            return "nothing listens there: is the rig on, and the endpoint right?"
        whose = f"of rig {self._rig!r} " if self._rig else ""
        return f"somebody listens there, but no signals {whose}came: has the rig begun to send?"

    def close(self) -> None:
        """Leave no socket behind."""
        for endpoint in self._endpoints:
            endpoint.source.close()


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
