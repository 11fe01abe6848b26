"""Settings around the computation: streams, results, recording, alarms, MQTT, network access and viewers."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from monitor.config.section import NotNegative, Positive, Section, Time, setting
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


HEALTH_VALUES = (
    *("age", "latency", "lag", "load", "sample_rate", "measured_rate"),
    *("disk_free", "unwritten_age", "broker_waiting", "all_unrecorded", "unaccounted"),
    *("lost", "duplicates", "reordered", "gaps", "restarts", "clock_jumps", "reconnects", "rejected"),
    *("unrecorded", "recording_breaks", "requests_refused", "broker_dropped", "unpublished"),
)
"""What limits may be set on of the service itself, after ``health.``; those of the last two lines are what has been
counted since the last look, a fifth of a second ago."""

Text = Annotated[str, Field(max_length=64, pattern=r"^[^\x00-\x1f\x7f]*$")]


def _not_falling(band: tuple[float, float]) -> tuple[float, float]:
    if band[0] > band[1]:
        raise ValueError("must be [lowest, highest], the first not above the second")
    return band


Boundary = Annotated[
    Annotated[tuple[Time, Time], AfterValidator(_not_falling)] | Time | None,
    BeforeValidator(lambda given: tuple(given) if isinstance(given, list) else given),
]
"""A number to stay on one side of, or a pair to stay within."""


class LimitSettings(Section):
    """A limit on a published value; the terms are those of ISA-18.2 and IEC 62682.

    Each of ``warn`` and ``trip`` makes an alarm of its own, for each actuator (or response) that has the value.
    """

    value: Annotated[str, Field(min_length=1, max_length=128)] = setting(
        ..., "Value", "An indicator, a reliability, or health.NAME."
    )
    actuator: str = setting("", "Actuator", "The alarm is for this one alone.", empty="for each that has the value")
    warn: Boundary = setting(
        None, "Warning limit", "In the value's unit: a number, or a pair to stay within.", empty="no warning"
    )
    trip: Boundary = setting(None, "Trip limit", "The same for a trip, not within the warning's.", empty="no trip")
    side: Literal["above", "below"] = setting("above", "Side", "Where a value is too far, of a single number.")
    deadband: NotNegative = setting(0.0, "Deadband", "How far a value must be back, in its unit.")
    on_delay: NotNegative = setting(
        0.0, "On-delay", "How long the condition must hold before the alarm occurs.", unit="s"
    )
    off_delay: NotNegative = setting(
        0.0, "Off-delay", "How long the value must be back before the alarm returns to normal.", unit="s"
    )
    latching: bool = setting(False, "Latching", "An alarm that has occurred stays until it is reset.")
    acknowledge: bool = setting(True, "Acknowledge", "The alarm asks to be acknowledged.")
    in_service: bool = setting(True, "In service", "Out of service it is listed and never occurs.")
    name: Text = setting("", "Name", "What the alarm is called.", empty="as the value")
    advice: Annotated[str, Field(max_length=120)] = setting("", "Advice", "What the operator is to do.", empty="none")

    @field_validator("value")
    @classmethod
    def _known(cls, value: str) -> str:
        kind, dot, name = value.partition(".")
        if kind == "health" and dot and name not in HEALTH_VALUES:
            raise ValueError(f"no {value}: of the service there are {', '.join(HEALTH_VALUES)}")
        return value

    @property
    def called(self) -> str:
        """What alarms are named after."""
        return self.name or self.value.removeprefix("health.")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.warn is None and self.trip is None:
            raise ValueError("neither warn nor trip: give one of the two or both")
        if self.warn is not None and self.trip is not None:
            warn, trip = self.bounds(self.warn), self.bounds(self.trip)
            if not (trip[0] <= warn[0] and warn[1] <= trip[1]):
                raise ValueError(f"trip {self.trip} comes before warn {self.warn}: let it lie further out")
        for boundary in (self.warn, self.trip):
            if isinstance(boundary, tuple) and boundary[1] - boundary[0] < 2.0 * self.deadband:
                raise ValueError(
                    f"deadband {self.deadband:g} leaves nothing between {boundary[0]:g} and {boundary[1]:g}"
                )
        return self

    def bounds(self, boundary: float | tuple[float, float]) -> tuple[float, float]:
        """Return the lowest and the highest value that is normal; infinite where there is none."""
        if isinstance(boundary, tuple):
            return boundary
        return (float("-inf"), boundary) if self.side == "above" else (boundary, float("inf"))


class AlarmSettings(Section):
    """Alarms: limits on values, and those of stream and recording, which are on unless switched off."""

    limit: tuple[LimitSettings, ...] = setting((), "Limits", "Limits on published values.", shown=False)
    dead_stream: bool = setting(True, "Dead stream", "Trips when nothing has come for as long as makes it stale.")
    overload: bool = setting(True, "Overload", "Warns when results are more than 2 s late.")
    lost_data: bool = setting(True, "Lost data", "Warns when samples are missing.")
    recording: bool = setting(
        True, "Recording", "Trips when samples cannot be recorded; warns of a late disk or a missing run file."
    )
    disk_warn: NotNegative = setting(2e9, "Disk space, warning", "Less than this warns; 0: never.", unit="bytes")
    disk_trip: NotNegative = setting(2e8, "Disk space, trip", "Less than this trips; 0: never.", unit="bytes")
    state: str = setting(
        "", "State file", "Keeps alarms over a restart of the service.", empty="beside the recording", opens="file"
    )
    shelve_at_most: Positive = setting(28800.0, "Longest shelving", "No alarm is shelved for longer.", unit="s")

    @model_validator(mode="after")
    def _told_apart(self) -> Self:
        seen: set[tuple[str, str]] = set()
        for limit in self.limit:
            which = (limit.called, limit.actuator)
            if which in seen:
                raise ValueError(
                    f"limit: two on {' of '.join(filter(None, which))}: write both bounds as a pair, or name one"
                )
            seen.add(which)
        return self
