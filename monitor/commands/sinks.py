"""Sinks of a service, opened from its settings: MQTT broker, PlotJuggler, Prometheus, LSL and systemd."""

from __future__ import annotations

import argparse
import contextlib
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from monitor.commands.options import add_setting
from monitor.messages import Sink
from monitor.messages.health import BrokerStatus
from monitor.system.default_endpoints import PLOTJUGGLER, PROMETHEUS

if TYPE_CHECKING:
    from monitor.config import Settings, ViewerSettings
    from monitor.messages.health import Health
    from monitor.recording import Recorder
    from monitor.transport.base import RequestServer
    from monitor.transport.mqtt.payloads import RecordingResult


_SCHEMES: dict[str, dict[str, object]] = {"": {}, "mqtt": {"tls": False}, "mqtts": {"tls": True}}


@dataclass(frozen=True, slots=True)
class BrokerConnection:
    """Connection to the MQTT broker: its sink and request server, if any, and its state."""

    sinks: Sequence[Sink] = ()
    request_servers: Sequence[RequestServer] = ()
    state: Callable[[], BrokerStatus] = BrokerStatus
    close: Callable[[], None] = lambda: None


def add_broker_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--mqtt``."""
    parser.add_argument(
        "--mqtt",
        metavar="BROKER",
        help="publish to an MQTT broker: HOST, HOST:PORT, mqtt://HOST:PORT or mqtts://HOST:PORT (encrypted)",
    )


def broker_overrides(arguments: argparse.Namespace) -> dict[str, object]:
    """Return the broker settings of the option.

    Raises
    ------
    ValueError : it is malformed, or contains a user name: other users of the machine can read command lines.
    """
    text: str | None = arguments.mqtt
    if text is None:
        return {}
    if "@" in text:
        raise ValueError(
            "--mqtt: a password does not belong on a command line: give username and password_file under [mqtt] in "
            "the settings"
        )
    try:
        parts = urlsplit(text if "://" in text else f"//{text}")
        host = parts.hostname
    except ValueError:
        host, parts = None, urlsplit("")
    if not host or parts.scheme not in _SCHEMES or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise ValueError(f"--mqtt {text}: write HOST, HOST:PORT, mqtt://HOST:PORT or mqtts://HOST:PORT")
    port = _port(text, parts)
    given: dict[str, object] = {"host": host, **_SCHEMES[parts.scheme]}
    return given if port is None else given | {"port": port}


def open_broker(
    settings: Settings, recorder: Callable[[], Recorder | None], log: Callable[[str], None]
) -> BrokerConnection:
    """Connect to the broker that the settings name, if any.

    Parameters
    ----------
    settings : of the service.
    recorder : returns the recorder, whose outcome is published when the connection is closed.
    log : prints a line.

    Raises
    ------
    CredentialError : a password, key or certificate cannot be used; the message is one line.
    """
    mqtt = settings.mqtt
    if not mqtt.host:
        return BrokerConnection()

    from monitor.transport.mqtt import MqttSink

    if mqtt.username and not mqtt.encrypted and not _is_loopback(mqtt.host):
        log(f"the password for {mqtt.host} is sent unencrypted; set mqtt.tls")
    sink = MqttSink(mqtt, settings.stream.rig, recorded=lambda: _ending(recorder()))
    log(f"publishing to {sink.url}")
    return BrokerConnection((sink,), (sink.command_handler,), lambda: sink.broker, sink.close)


def _port(text: str, parts: SplitResult) -> int | None:
    try:
        port = parts.port
    except ValueError:
        port = 0
    if port == 0:
        raise ValueError(f"--mqtt {text}: the port must be a number from 1 to 65535")
    return port


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _ending(recorder: Recorder | None) -> RecordingResult | None:
    if recorder is None:
        return None
    from monitor.transport.mqtt.payloads import RecordingResult

    return RecordingResult(recorder.outcome, recorder.recorded, recorder.unrecorded)


def add_viewer_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--plotjuggler``, ``--prometheus`` and ``--lsl``."""
    group = parser.add_argument_group("third-party viewers")
    add_setting(group, "viewers.plotjuggler", "URL", nargs="?", const=PLOTJUGGLER)
    add_setting(group, "viewers.prometheus", "HOST:PORT", nargs="?", const=PROMETHEUS)
    add_setting(group, "viewers.lsl", "NAME", nargs="?", const="synchroscope")


@contextmanager
def open_viewers(
    settings: ViewerSettings, insecure: bool, log: Callable[[str], None], *, lsl_times: bool = False
) -> Iterator[Sequence[Sink]]:
    """Yield the sinks of the viewers that the settings name, and close them afterwards.

    Parameters
    ----------
    settings : of the viewers.
    insecure : other machines may read, without encryption.
    log : prints a line.
    lsl_times : the times of the blocks are those of LSL's clock.

    Raises
    ------
    ModuleNotFoundError : the package of a viewer is not installed.
    TransportError : an endpoint is malformed, in use, or reachable from other machines without `insecure`.
    """
    sinks: list[Sink] = []
    with ExitStack() as stack:
        if settings.plotjuggler:
            from monitor.transport.plotjuggler import PlotJugglerSink

            feed = PlotJugglerSink(
                settings.plotjuggler, settings.plotjuggler_rate, insecure=insecure, own_process=True
            )
            stack.callback(feed.close)
            sinks.append(feed)
            log(f"PlotJuggler feed on {feed.endpoint}")
        if settings.prometheus:
            from monitor.transport.prometheus import PrometheusSink

            page = PrometheusSink(settings.prometheus, insecure=insecure)
            stack.callback(page.close)
            sinks.append(page)
            log(f"metrics for Prometheus on {page.url}")
        if settings.lsl:
            from monitor.transport.lsl.sink import LslSink

            streams = LslSink(settings.lsl, insecure=insecure, lsl_times=lsl_times)
            stack.callback(streams.close)
            sinks.append(streams)
            log(f"results as an LSL stream, {streams.endpoint}")
        yield sinks


class SystemdSink(Sink):
    """A sink that notifies systemd (sd_notify): ready, watchdog with every health report, stopping.

    Parameters
    ----------
    address : of systemd's socket, as in ``NOTIFY_SOCKET``; ``@`` marks an abstract one.
    """

    def __init__(self, address: str) -> None:
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)

    def ready(self, status: str) -> None:
        """Notify that the service is ready; `status` is shown by ``systemctl status``."""
        self._notify("READY=1", f"STATUS={status}")

    def health(self, health: Health) -> None:
        """Reset the watchdog, and update the status."""
        counts = health.counts
        source = f"{health.rig}, {health.state}" if health.rig else health.state
        self._notify("WATCHDOG=1", f"STATUS={source}: {counts.received} samples received, {counts.lost} lost")

    def close(self) -> None:
        """Notify that the service is stopping; a second call does nothing."""
        self._notify("STOPPING=1")
        self._socket.close()

    def _notify(self, *lines: str) -> None:
        # a missing manager must not stop the service
        with contextlib.suppress(OSError):
            self._socket.sendto("\n".join(lines).encode(), self._address)


def open_systemd(environment: Mapping[str, str]) -> SystemdSink | None:
    """Return a sink for the systemd that started this program; None without."""
    address = environment.get("NOTIFY_SOCKET", "")
    return SystemdSink(address) if address[:1] in ("/", "@") and hasattr(socket, "AF_UNIX") else None
