"""Outlets of a service as options and settings have them: the MQTT broker, PlotJuggler and Prometheus."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from monitor.commands.options import add_setting
from monitor.messages.health import Broker
from monitor.system.default_endpoints import PLOTJUGGLER, PROMETHEUS

if TYPE_CHECKING:
    from monitor.config import Settings, ViewerSettings
    from monitor.recording import Recorder
    from monitor.transport.base import RequestServer, Sink
    from monitor.transport.mqtt.payloads import RecordingResult


_SCHEMES: dict[str, dict[str, object]] = {"": {}, "mqtt": {"tls": False}, "mqtts": {"tls": True}}


@dataclass(frozen=True, slots=True)
class BrokerConnection:
    """What the service needs to tell a broker: sinks and inlets, none or one of each, and how the connection is."""

    sinks: Sequence[Sink] = ()
    inlets: Sequence[RequestServer] = ()
    look: Callable[[], Broker] = Broker
    close: Callable[[], None] = lambda: None


def add_broker_option(parser: argparse.ArgumentParser) -> None:
    """Offer a broker."""
    parser.add_argument(
        "--mqtt",
        metavar="BROKER",
        help="publish to an MQTT broker: HOST, HOST:PORT, mqtt://HOST:PORT or mqtts://HOST:PORT (encrypted)",
    )


def broker_overrides(arguments: argparse.Namespace) -> dict[str, object]:
    """Return the settings that the option stands for.

    Raises
    ------
    ValueError : it is not a broker, or names a user: what stands there can be read by everybody on the machine.
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
    settings: Settings, recorder: Callable[[], Recorder | None], say: Callable[[str], None]
) -> BrokerConnection:
    """Begin to tell the broker, if the settings name one.

    Parameters
    ----------
    settings : of the service.
    recorder : asked at the end, when it is closed, for how the recording came out.
    say : takes a line.

    Raises
    ------
    CredentialError : a password, key or certificate cannot be used; the text is one line.
    """
    mqtt = settings.mqtt
    if not mqtt.host:
        return BrokerConnection()

    from monitor.transport.mqtt import MqttSink

    if mqtt.username and not mqtt.encrypted and not _is_here(mqtt.host):
        say(f"the password for {mqtt.host} is sent unencrypted: everybody on the way can read it; set tls")
    sink = MqttSink(mqtt, settings.stream.rig, recorded=lambda: _ending(recorder()))
    say(f"telling {sink.url}")
    return BrokerConnection((sink,), (sink.command_handler,), lambda: sink.broker, sink.close)


def _port(text: str, parts: SplitResult) -> int | None:
    try:
        port = parts.port
    except ValueError:
        port = 0
    if port == 0:
        raise ValueError(f"--mqtt {text}: its port should be a number from 1 to 65535")
    return port


def _is_here(host: str) -> bool:
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
    """Offer the feeds."""
    group = parser.add_argument_group("third-party viewers")
    add_setting(group, "viewers.plotjuggler", "URL", nargs="?", const=PLOTJUGGLER)
    add_setting(group, "viewers.prometheus", "HOST:PORT", nargs="?", const=PROMETHEUS)


@contextmanager
def open_viewers(settings: ViewerSettings, insecure: bool, say: Callable[[str], None]) -> Iterator[Sequence[Sink]]:
    """Yield the sinks of the viewers that the settings name, and close them afterwards.

    Raises
    ------
    TransportError : an endpoint is malformed, taken, or open to other machines without `insecure`.
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
            say(f"PlotJuggler's feed on {feed.endpoint}")
        if settings.prometheus:
            from monitor.transport.prometheus import PrometheusSink

            page = PrometheusSink(settings.prometheus, insecure=insecure)
            stack.callback(page.close)
            sinks.append(page)
            say(f"metrics for Prometheus on {page.url}")
        yield sinks
