"""The settings of what goes in and out: stream, results, recording, MQTT, keys and viewers."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from monitor.config.section import Positive, Section, setting
from monitor.system.default_endpoints import RESULTS, SIGNALS

# no message can bear a longer one
RigName = Annotated[str, Field(max_length=128)]
# a level of a topic: MQTT forbids these characters there
Level = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[^/+#\x00-\x1f\x7f]+$")]
Port = Annotated[int, Field(ge=1, le=65535)]
Rate = Annotated[float, Field(gt=0.0, le=100.0)]


class StreamSettings(Section):
    """Where the signals come from."""

    connect: tuple[str, ...] = setting(
        (), "Rigs that publish", "Endpoints of the rigs' publishers.", empty=SIGNALS, opens="connect"
    )
    bind: tuple[str, ...] = setting(
        (), "Rigs that connect", "Endpoints that rigs connect to.", empty="none", opens="bind"
    )
    rig: RigName = setting(
        "", "Only this rig", "Name of the rig to follow; others are left out.", empty="the first that sends"
    )
    sample_rate: Positive | None = setting(
        None,
        "Sample rate",
        "Of plain senders that give neither a rate nor times.",
        unit="Hz",
        empty="as the rig sends it",
    )
    stale_after: Positive = setting(5.0, "Stale after", "Silence after which the stream is called stale.", unit="s")


class ResultSettings(Section):
    """Where results go, and where requests are taken."""

    publish: str = setting(RESULTS, "Publish at", "Endpoint of the results.", opens="bind")
    signals: bool = setting(
        True, "Signals", "Sent on beside the results; without them the window has no time histories."
    )
    requests: str = setting(
        "tcp://127.0.0.1:*",
        "Requests at",
        "Endpoint for notes and for the acknowledging of alarms; * is a free port, none switches it off.",
        empty="none",
        opens="bind",
    )


class RecordSettings(Section):
    """Where runs are recorded."""

    path: str = setting(
        "",
        "Record to",
        "Where runs are recorded: a file, or a folder where every run gets a name.",
        empty="no recording",
        opens="folder",
    )
    flush_interval: Annotated[float, Field(gt=0.0, le=1.0)] = setting(
        0.5, "Flush every", "A kill loses no more than this.", unit="s"
    )


class MqttSettings(Section):
    """An MQTT broker that values, states and alarms are published to; ``host`` empty: disabled."""

    host: str = setting("", "Broker", "Name or address of the broker.", empty="disabled")
    port: Port | None = setting(None, "Port", "Port of the broker.", empty="1883, with TLS 8883")
    lab: Level = setting("lab", "Laboratory", "Part of the topics, synchroscope/v1/LAB/RIG.")
    tls: bool | None = setting(
        None,
        "Encryption",
        "The connection is by TLS.",
        empty="with certificates or port 8883",
        labels=("with certificates or port 8883", "yes", "no"),
    )
    ca: str = setting(
        "", "Trusted certificates", "File of the authorities that are trusted.", empty="the system's", opens="file"
    )
    certificate: str = setting(
        "", "Certificate", "A file that identifies this client; in place of a password.", empty="none", opens="file"
    )
    key: str = setting("", "Certificate key", "The file of the certificate's key.", empty="none", opens="file")
    username: str = setting("", "User", "Name at a broker that asks for one.", empty="none")
    password_file: str = setting(
        "",
        "Password file",
        "A file with the password alone, readable by its owner only.",
        empty="from the environment",
        opens="file",
    )
    password_variable: str = setting(
        "SYNCHROSCOPE_MQTT_PASSWORD", "Password variable", "Of the environment, where no file is given."
    )
    client_id: str = setting("", "Client", "Name of this client at the broker.", empty="made from the rig's name")
    rate: Rate = setting(5.0, "Rate", "How often values are published.", unit="Hz")
    commands: bool = setting(
        False,
        "Commands",
        "The broker's clients may acknowledge alarms and write notes; asks for user or certificate.",
    )
    discovery: bool = setting(False, "Home Assistant", "Announces the values to Home Assistant.")
    discovery_prefix: Level = setting("homeassistant", "Discovery prefix", "Topic where Home Assistant looks.")

    @model_validator(mode="after")
    def _authenticated(self) -> Self:
        if bool(self.certificate) != bool(self.key):
            raise ValueError("certificate and key go together: give both files")
        if self.encrypted is False and (self.ca or self.certificate):
            raise ValueError("ca and certificate need tls")
        if self.commands and not (self.username or self.certificate):
            raise ValueError("commands need username or certificate: they are not taken over an unknown connection")
        if not self.host and self.model_fields_set:
            raise ValueError(f"{', '.join(sorted(self.model_fields_set))} without a broker: give host too")
        return self

    @property
    def encrypted(self) -> bool:
        """Whether the connection is by TLS."""
        return bool(self.ca or self.certificate or self.port == 8883) if self.tls is None else self.tls


class SecuritySettings(Section):
    """Network access control: keys of the service, and of the rigs it connects to."""

    keys: str = setting(
        "",
        "Keys",
        "Folder made by synchroscope keys; only clients listed in it are accepted.",
        empty="no encryption",
        opens="folder",
    )
    rig_key: str = setting(
        "", "Key of the rigs", "File of the rigs' public key, where they ask for keys.", empty="none", opens="file"
    )


class ViewerSettings(Section):
    """Feeds for third-party viewers."""

    plotjuggler: str = setting(
        "", "PlotJuggler at", "Endpoint of a feed for PlotJuggler's ZMQ subscriber.", empty="no feed", opens="bind"
    )
    plotjuggler_rate: Rate = setting(
        50.0, "PlotJuggler rate", "Most messages a second that PlotJuggler gets.", unit="Hz"
    )
    prometheus: str = setting("", "Prometheus at", "HOST:PORT of a page of metrics for Prometheus.", empty="no page")
