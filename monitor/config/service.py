"""Settings around the computation: streams, results, recording, alarms, MQTT, network access and viewers."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from monitor.config.section import NotNegative, Positive, Section, Time, setting
from monitor.system.default_endpoints import RESULTS, SIGNALS

# limit of the wire format
RigName = Annotated[str, Field(max_length=128)]
# level of an MQTT topic, without the reserved characters
TopicLevel = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[^/+#\x00-\x1f\x7f]+$")]
Port = Annotated[int, Field(ge=1, le=65535)]
Rate = Annotated[float, Field(gt=0.0, le=100.0)]


class StreamSettings(Section):
    """Source of the signals."""

    connect: tuple[str, ...] = setting(
        (),
        "Rigs that publish",
        "Endpoints of the rigs' publishers, or lsl://NAME of an LSL stream.",
        empty=SIGNALS,
        opens="connect",
    )
    bind: tuple[str, ...] = setting(
        (), "Rigs that connect", "Endpoints that rigs connect to.", empty="none", opens="bind"
    )
    rig: RigName = setting(
        "", "Only this rig", "Name of the rig to monitor; others are ignored.", empty="the first that sends"
    )
    sample_rate: Positive | None = setting(
        None,
        "Sample rate",
        "Of plain senders and LSL streams without a rate.",
        unit="Hz",
        empty="as the rig sends it",
    )
    command: tuple[str, ...] = setting(
        (), "Command channels", "Of an LSL stream, one an actuator: name, or number from 1.", empty="by their names"
    )
    measured: tuple[str, ...] = setting(
        (), "Measured channels", "Of an LSL stream, in the same order.", empty="by their names"
    )
    force: tuple[str, ...] = setting(
        (), "Force channels", "Of an LSL stream, in the same order.", empty="by their names"
    )
    stale_after: Positive = setting(
        5.0, "Stale after", "Time without samples after which the stream is stale.", unit="s"
    )


class ResultSettings(Section):
    """Endpoints of results and requests."""

    publish: str = setting(RESULTS, "Publish at", "Endpoint of the results.", opens="bind")
    signals: bool = setting(
        True, "Signals", "Also publish the signals; without them the window has no time histories."
    )
    requests: str = setting(
        "tcp://127.0.0.1:*",
        "Requests at",
        "Endpoint for notes and alarm acknowledgement; * is a free port, none disables it.",
        empty="none",
        opens="bind",
    )


class RecordSettings(Section):
    """Where runs are recorded."""

    path: str = setting(
        "",
        "Record to",
        "File, or folder in which every run gets a name.",
        empty="no recording",
        opens="folder",
    )
    flush_interval: Annotated[float, Field(gt=0.0, le=1.0)] = setting(
        0.5, "Flush every", "Longest time whose samples a crash can lose.", unit="s"
    )


class MqttSettings(Section):
    """MQTT broker for values, states and alarms; disabled without ``host``."""

    host: str = setting("", "Broker", "Name or address of the broker.", empty="disabled")
    port: Port | None = setting(None, "Port", "Port of the broker.", empty="1883, with TLS 8883")
    lab: TopicLevel = setting("lab", "Laboratory", "Part of the topics, synchroscope/v1/LAB/RIG.")
    tls: bool | None = setting(
        None,
        "Encryption",
        "The connection uses TLS.",
        empty="with certificates or port 8883",
        labels=("with certificates or port 8883", "yes", "no"),
    )
    ca: str = setting(
        "", "Trusted certificates", "File of trusted certificate authorities.", empty="the system's", opens="file"
    )
    certificate: str = setting(
        "", "Certificate", "File of the client certificate, instead of a password.", empty="none", opens="file"
    )
    key: str = setting("", "Certificate key", "File of the certificate's private key.", empty="none", opens="file")
    username: str = setting("", "User", "User name at the broker.", empty="none")
    password_file: str = setting(
        "",
        "Password file",
        "File with only the password, readable by its owner alone.",
        empty="from the environment",
        opens="file",
    )
    password_variable: str = setting(
        "SYNCHROSCOPE_MQTT_PASSWORD", "Password variable", "Environment variable, where no file is given."
    )
    client_id: str = setting("", "Client", "Client identifier at the broker.", empty="a new one at every start")
    plain_topics: bool = setting(
        False, "Plain topics", "Encodes dots and spaces of names in topics too, as NATS requires."
    )
    rate: Rate = setting(5.0, "Rate", "How often values are published.", unit="Hz")
    commands: bool = setting(
        False,
        "Commands",
        "Clients of the broker may send requests; requires user or certificate.",
    )
    discovery: bool = setting(False, "Home Assistant", "Announces the values to Home Assistant.")
    discovery_rate: Rate = setting(
        0.2, "Home Assistant rate", "How often its values are published; its database stores each of them.", unit="Hz"
    )
    discovery_values: Literal["main", "all"] = setting(
        "main",
        "Home Assistant values",
        "Delay and ratio of each actuator and the reliabilities, or all values.",
        labels=("delay, ratio and reliability", "all"),
    )
    discovery_prefix: TopicLevel = setting("homeassistant", "Discovery prefix", "Home Assistant's discovery topic.")

    @model_validator(mode="after")
    def _authenticated(self) -> Self:
        if bool(self.certificate) != bool(self.key):
            raise ValueError("certificate and key go together: give both files")
        if self.encrypted is False and (self.ca or self.certificate):
            raise ValueError("ca and certificate need tls")
        if self.commands and not (self.username or self.certificate):
            raise ValueError(
                "commands need username or certificate: they are not accepted over an unauthenticated connection"
            )
        if not self.host and self.model_fields_set:
            raise ValueError(f"{', '.join(sorted(self.model_fields_set))} without a broker: give host too")
        return self

    @property
    def encrypted(self) -> bool:
        """Whether the connection uses TLS."""
        return bool(self.ca or self.certificate or self.port == 8883) if self.tls is None else self.tls


class SecuritySettings(Section):
    """Network access control: keys of the service and of the rigs."""

    keys: str = setting(
        "",
        "Keys",
        "Folder made by synchroscope keys; only clients listed in it are accepted.",
        empty="no encryption",
        opens="folder",
    )
    rig_key: str = setting(
        "", "Key of the rigs", "File of the rigs' public key, if they use encryption.", empty="none", opens="file"
    )


class ViewerSettings(Section):
    """Feeds for third-party viewers."""

    plotjuggler: str = setting(
        "", "PlotJuggler at", "Endpoint of a feed for PlotJuggler's ZMQ subscriber.", empty="no feed", opens="bind"
    )
    plotjuggler_rate: Rate = setting(50.0, "PlotJuggler rate", "Largest number of messages a second.", unit="Hz")
    prometheus: str = setting("", "Prometheus at", "HOST:PORT of the metrics page for Prometheus.", empty="no page")
    lsl: str = setting(
        "", "LSL stream", "Name of an LSL stream of the results; their events are a second one.", empty="none"
    )


HEALTH_VALUES = (
    *("age", "latency", "lag", "load", "sample_rate", "measured_rate"),
    *("disk_free", "unwritten_age", "broker_waiting", "broker_denied", "all_unrecorded", "unaccounted"),
    *("not_judged", "paused", "memory_used"),
    *("lost", "duplicates", "reordered", "rejected_samples"),
    *("gaps", "restarts", "clock_jumps", "contradictions", "reconnects", "rejected"),
    *("unrecorded", "recording_breaks", "requests_refused", "broker_dropped", "unpublished"),
)
"""Health metrics that can have limits, after ``health.``; those of the last three lines are counted over the last
fifth of a second."""

Text = Annotated[str, Field(max_length=64, pattern=r"^[^\x00-\x1f\x7f]*$")]


def _not_falling(band: tuple[float, float]) -> tuple[float, float]:
    if band[0] > band[1]:
        raise ValueError("must be [lowest, highest], the first not above the second")
    return band


Boundary = Annotated[
    Annotated[tuple[Time, Time], AfterValidator(_not_falling)] | Time | None,
    BeforeValidator(lambda given: tuple(given) if isinstance(given, list) else given),
]
"""Limit on one side, or a range."""


class LimitSettings(Section):
    """Limit on a published value, in the terms of ISA-18.2 and IEC 62682.

    Each of ``warn`` and ``trip`` is an alarm of its own, for each actuator (or response) with that value.
    """

    value: Annotated[str, Field(min_length=1, max_length=128)] = setting(
        ..., "Value", "delay, ratio, an indicator, a reliability, or health.NAME."
    )
    actuator: str = setting("", "Actuator", "Only for this actuator.", empty="all with this value")
    warn: Boundary = setting(
        None, "Warning limit", "In the value's unit: a number, or a range as a pair.", empty="no warning"
    )
    trip: Boundary = setting(None, "Trip limit", "Likewise for a trip, outside the warning limit.", empty="no trip")
    side: Literal["above", "below"] = setting("above", "Side", "Side of a single limit on which the alarm occurs.")
    deadband: NotNegative = setting(
        0.0, "Deadband", "Distance from the limit at which a value is normal again, in its unit."
    )
    on_delay: NotNegative = setting(0.0, "On-delay", "Duration of the condition before the alarm occurs.", unit="s")
    off_delay: NotNegative = setting(
        0.0, "Off-delay", "Duration of a normal value before the alarm returns to normal.", unit="s"
    )
    latching: bool = setting(False, "Latching", "The alarm remains until it is reset.")
    acknowledge: bool = setting(True, "Acknowledge", "The alarm requires acknowledgement.")
    in_service: bool = setting(True, "In service", "An alarm out of service is listed, but never occurs.")
    name: Text = setting("", "Name", "Name of the alarm.", empty="name of the value")
    advice: Annotated[str, Field(max_length=120)] = setting("", "Advice", "Action for the operator.", empty="none")

    @field_validator("value")
    @classmethod
    def _known(cls, value: str) -> str:
        kind, dot, name = value.partition(".")
        if kind == "health" and dot and name not in HEALTH_VALUES:
            raise ValueError(f"no {value}: the metrics of the service are {', '.join(HEALTH_VALUES)}")
        return value

    @property
    def alarm_name(self) -> str:
        """Base of the alarms' names."""
        return self.name or self.value.removeprefix("health.")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.warn is None and self.trip is None:
            raise ValueError("neither warn nor trip: give one of the two or both")
        if self.warn is not None and self.trip is not None:
            warn, trip = self.bounds(self.warn), self.bounds(self.trip)
            if not (trip[0] <= warn[0] and warn[1] <= trip[1]):
                raise ValueError(f"trip {self.trip} is within warn {self.warn}: it must be further out")
        for boundary in (self.warn, self.trip):
            if isinstance(boundary, tuple) and boundary[1] - boundary[0] < 2.0 * self.deadband:
                raise ValueError(
                    f"deadband {self.deadband:g} leaves nothing between {boundary[0]:g} and {boundary[1]:g}"
                )
        return self

    def bounds(self, boundary: float | tuple[float, float]) -> tuple[float, float]:
        """Return the lowest and highest normal value; infinite without a limit."""
        if isinstance(boundary, tuple):
            return boundary
        return (float("-inf"), boundary) if self.side == "above" else (boundary, float("inf"))


class AlarmSettings(Section):
    """Limits on values, and built-in alarms of stream and recording, which are enabled by default."""

    limit: tuple[LimitSettings, ...] = setting((), "Limits", "Limits on published values.", shown=False)
    dead_stream: bool = setting(True, "Dead stream", "Trips when the stream is stale.")
    overload: bool = setting(True, "Overload", "Warns when results are more than 2 s late, or measures paused.")
    lost_data: bool = setting(True, "Lost data", "Warns when samples are missing.")
    recording: bool = setting(
        True, "Recording", "Trips when samples cannot be recorded; warns of a late disk or a missing run file."
    )
    disk_warn: NotNegative = setting(2e9, "Disk space, warning", "Less than this warns; 0: never.", unit="bytes")
    disk_trip: NotNegative = setting(2e8, "Disk space, trip", "Less than this trips; 0: never.", unit="bytes")
    state: str = setting(
        "",
        "State file",
        "File that preserves alarms over a restart of the service.",
        empty="next to the recording",
        opens="file",
    )
    max_value_age: Positive | None = setting(
        None,
        "Longest age of a value",
        "Age above which a value is not used: its alarms are not judged.",
        unit="s",
        empty="the window, at least 3 s",
    )
    not_judged: bool = setting(False, "Not judged", "Warns when alarms are not judged.")
    shelve_at_most: Positive = setting(
        28800.0, "Longest shelving", "Longest time for which an alarm can be shelved.", unit="s"
    )
    limits_changeable: Literal["trusted", "always", "never"] = setting(
        "trusted",
        "Limits by request",
        "Whether requests may change the limits: those from this machine or with keys, all, or none.",
    )

    @model_validator(mode="after")
    def _unique(self) -> Self:
        seen: set[tuple[str, str]] = set()
        for limit in self.limit:
            which = (limit.alarm_name, limit.actuator)
            if which in seen:
                raise ValueError(
                    f"limit: two on {' of '.join(filter(None, which))}: write both bounds as a pair, or name one"
                )
            seen.add(which)
        return self
