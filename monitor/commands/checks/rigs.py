"""Checks of the rigs: their endpoints, and the signals received within a few seconds."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import monotonic

from monitor.commands.checks import CheckResult, fail, ok, warn
from monitor.commands.security import Guard
from monitor.commands.sources import LiveChannels, open_source
from monitor.config import StreamSettings
from monitor.messages.blocks import Event, EventKind, Stream
from monitor.transport.base import ListeningSource
from monitor.transport.zeromq.endpoint import host_and_port, server_mechanism

LISTEN_TIME = 3.0
"""s for which signals are received."""

_POLL_INTERVAL = 0.05


@dataclass(slots=True)
class ProbedEndpoint:
    """One endpoint, and what was received there."""

    url: str
    bound: bool
    source: ListeningSource
    streams: dict[str, Stream] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)  # samples per message, of each rig
    faults: list[str] = field(default_factory=list)
    rejections: list[str] = field(default_factory=list)

    @property
    def answered(self) -> bool:
        """Whether further messages would not change the result."""
        return bool(self.streams or self.faults)

    def receive(self, seconds: float) -> None:
        """Receive for `seconds`."""
        for item in self.source.receive(seconds):
            if not isinstance(item, Event):
                self.streams.setdefault(item.stream.rig, item.stream)
                self.rows[item.stream.rig] = max(1, len(item), self.rows.get(item.stream.rig, 1))
            elif item.kind is EventKind.REJECTED:
                self.rejections.append(item.detail)
            elif item.kind is EventKind.NOTE:
                self.faults.append(item.detail)


class RigProbe:
    """Sockets for all endpoints of the settings, bound or connected as in the service.

    Endpoints that cannot be opened are in `problems`.
    """

    def __init__(
        self, settings: StreamSettings, insecure: bool, guard: Guard, live_channels: LiveChannels | None = None
    ) -> None:
        self._rig, self._secured = settings.rig, guard.keys is not None
        self.problems: list[CheckResult] = []
        self._endpoints: list[ProbedEndpoint] = []
        for url, bound in [*((url, True) for url in settings.bind), *((url, False) for url in settings.connect)]:
            try:
                ends = {"bind": (url,) if bound else (), "connect": () if bound else (url,)}
                source = open_source(
                    settings.model_copy(update=ends), guard, live_channels, insecure=insecure, listening=True
                )
            except (ValueError, OSError, ModuleNotFoundError) as problem:
                self.problems.append(fail("rig", str(problem)))
            else:
                self._endpoints.append(ProbedEndpoint(url, bound, source))

    @property
    def streams(self) -> list[Stream]:
        """The received streams, one per rig."""
        found: dict[str, Stream] = {}
        for endpoint in self._endpoints:
            found = endpoint.streams | found
        return list(found.values())

    def rows(self, rig: str) -> int:
        """Return the largest number of samples in a message of a rig."""
        return max(endpoint.rows.get(rig, 1) for endpoint in self._endpoints)

    def listen(self, timeout: float = LISTEN_TIME) -> Iterator[CheckResult]:
        """Receive until every endpoint has answered, at most `timeout` s; yield the results."""
        deadline = monotonic() + timeout
        while (
            waiting := [endpoint for endpoint in self._endpoints if not endpoint.answered]
        ) and monotonic() < deadline:
            for endpoint in waiting:
                endpoint.receive(_POLL_INTERVAL / len(waiting))
        yield from self.problems
        for endpoint in self._endpoints:
            yield from self._results(endpoint)
        names = sorted(stream.rig for stream in self.streams)
        if len(names) > 1:
            yield warn("rig", f"{', '.join(names)} all send, but only one is monitored: select it with --rig")

    def _results(self, endpoint: ProbedEndpoint) -> Iterator[CheckResult]:
        for stream in endpoint.streams.values():
            yield ok("rig", f"{endpoint.url}: {stream_text(stream)}")
        if endpoint.rejections and not endpoint.streams:
            yield fail("rig", f"{endpoint.url}: its messages are rejected: {endpoint.rejections[-1]}")
        elif endpoint.rejections:
            yield warn("rig", f"{endpoint.url}: some messages are rejected: {endpoint.rejections[-1]}")
        if endpoint.faults and not endpoint.streams:
            yield fail("rig", self._fault_reason(endpoint))
        if not (endpoint.streams or endpoint.rejections or endpoint.faults):
            yield warn("rig", f"{endpoint.url}: {self._silence_reason(endpoint)}")

    def _fault_reason(self, endpoint: ProbedEndpoint) -> str:
        # the reason of a failed handshake depends on which side disconnects first
        if not self._secured and server_mechanism(endpoint.url) == "CURVE":
            return f"{endpoint.url}: the server requires keys, so give --keys"
        return endpoint.faults[-1]

    def _silence_reason(self, endpoint: ProbedEndpoint) -> str:
        if endpoint.bound:
            return "no rig has connected and sent signals yet"
        if endpoint.url.startswith("lsl://"):
            return "no such stream is found, or it sends no samples"
        if not _answers(endpoint.url):
            return "nothing is listening there: is the rig running, and the endpoint correct?"
        which = f"of rig {self._rig!r} " if self._rig else ""
        return f"something is listening there, but no signals {which}were received: is the rig sending?"

    def close(self) -> None:
        """Close the sockets."""
        for endpoint in self._endpoints:
            endpoint.source.close()


def stream_text(stream: Stream) -> str:
    """Return the rate, channels and actuators of a stream as text."""
    actuators = len(stream.pairs)
    forces = sum(pair.force is not None for pair in stream.pairs)
    return (
        f"rig {stream.rig or '(no name)'}, {stream.sample_rate:g} Hz, "
        f"{_count_text(len(stream.channels), 'channel')}, {_count_text(actuators, 'actuator')}, {forces} with a force"
    )


def _count_text(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _answers(url: str) -> bool:
    """Whether something is listening at an endpoint; True if unknown."""
    address = host_and_port(url)
    if address is None:
        return True
    try:
        socket.create_connection(address, timeout=1.0).close()
    except (OSError, UnicodeError):
        return False
    return True
