"""The settings of further ways out: a broker, viewers, and who may come near over the network."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from monitor.config.section import Section

# a level of a topic: MQTT forbids these characters there
Level = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[^/+#\x00-\x1f\x7f]+$")]
Port = Annotated[int, Field(ge=1, le=65535)]


class MqttSettings(Section):
    """A broker that is told; ``host`` empty: none.

    ``lab`` stands in the topics, ``synchroscope/v1/LAB/RIG/...``. The connection is encrypted with ``tls``, by
    default where ``ca``, ``certificate`` or ``port`` 8883 is given: ``ca`` is a file of certificates that are trusted
    (empty: the system's), ``certificate`` and ``key`` files make the client known. Otherwise that is done by
    ``username`` and the password in the file ``password_file`` or in the environment's ``password_variable``.
    ``rate`` in Hz is how often values go out. ``commands`` lets the broker's clients acknowledge and write notes; the
    connection must then be one that the broker knows by a password or a certificate. ``discovery`` tells Home
    Assistant what there is.
    """

    host: str = ""
    port: Port | None = None
    lab: Level = "lab"
    tls: bool | None = None
    ca: str = ""
    certificate: str = ""
    key: str = ""
    username: str = ""
    password_file: str = ""
    password_variable: str = "SYNCHROSCOPE_MQTT_PASSWORD"  # noqa: S105  a name
    client_id: str = ""
    rate: Annotated[float, Field(gt=0.0, le=100.0)] = 5.0
    commands: bool = False
    discovery: bool = False
    discovery_prefix: Level = "homeassistant"

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
    """Who may come near over ZeroMQ: ``keys`` is a folder made by ``synchroscope keys``; empty: no encryption.

    ``rig_key`` is the file of the public key of the rigs that ``stream.connect`` names, where they ask for keys.
    """

    keys: str = ""
    rig_key: str = ""


class ViewerSettings(Section):
    """Feeds for programs of others: ``plotjuggler`` is bound, ``prometheus`` is HOST:PORT of a page; empty: none."""

    plotjuggler: str = ""
    plotjuggler_rate: Annotated[float, Field(gt=0.0, le=100.0)] = 50.0
    prometheus: str = ""
