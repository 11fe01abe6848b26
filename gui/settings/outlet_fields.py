"""The settings of a service's alarms, and of whom else it tells, as the dialog shows them."""

from __future__ import annotations

from gui.settings.endpoint_check import can_bind
from gui.settings.setting_field import SettingField, SettingsSection
from monitor.config import AlarmSettings, MqttSettings, SecuritySettings, ViewerSettings

_F = SettingField
_ALARMS = (
    _F("dead_stream", "Dead stream", "Trips when nothing has come for as long as makes the stream stale.", "switch"),
    _F("lost_data", "Lost data", "Warns when samples are missing.", "switch"),
    _F("overload", "Overload", "Warns when results come more than two seconds late.", "switch"),
    _F("recording", "Recording", "Trips when samples cannot be kept, warns of a late or full disk.", "switch"),
    _F("disk_warn", "Room on the disk, warn", "Less than this warns; 0: never.", unit="bytes"),
    _F("disk_trip", "Room on the disk, trip", "Less than this trips; 0: never.", unit="bytes"),
    _F("shelve_at_most", "Shelve at most", "Nothing is put aside for longer.", unit="s"),
    _F(
        "state",
        "Kept in",
        "A file that keeps alarms over a new start of the service.",
        "text",
        empty="beside the recording",
    ),
)
_MQTT = (
    _F("host", "Broker", "Its name or address.", "text", empty="disabled"),
    _F("port", "Port", "Of the broker.", empty="1883, or 8883 with TLS"),
    _F("lab", "Laboratory", "Stands in the topics, synchroscope/v1/LAB/RIG.", "text"),
    _F(
        "tls",
        "Encrypted",
        "The connection is by TLS.",
        "choice",
        choices=((None, "where a certificate or port 8883 is given"), (True, "yes"), (False, "no")),
    ),
    _F("ca", "Trusted certificates", "A file.", "text", empty="those of the system"),
    _F("certificate", "Certificate", "A file that makes this client known.", "text", empty="none"),
    _F("key", "Key", "The file of the certificate's key.", "text", empty="none"),
    _F("username", "User", "For a broker that asks for one.", "text", empty="none"),
    _F("password_file", "Password file", "A file with the password alone.", "text", empty="from the environment"),
    _F("password_variable", "Password variable", "Of the environment, where no file is given.", "text"),
    _F("client_id", "Client", "How the broker calls this client.", "text", empty="made up of the rig"),
    _F("rate", "Rate", "How often values go out.", unit="Hz"),
    _F("commands", "Take commands", "Clients of the broker may acknowledge and write notes.", "switch"),
    _F("discovery", "Home Assistant", "Tells Home Assistant what there is.", "switch"),
    _F("discovery_prefix", "Discovery prefix", "Where Home Assistant looks.", "text"),
)
_SECURITY = (
    _F(
        "keys",
        "Keys",
        "The folder that synchroscope keys has made.",
        "folder",
        empty="nothing is encrypted",
    ),
    _F("rig_key", "Key of the rigs", "The file of their public key, where they ask for keys.", "text", empty="none"),
)
_VIEWERS = (
    _F("plotjuggler", "PlotJuggler at", "Where the feed is bound.", "text", empty="no feed", check=can_bind),
    _F("plotjuggler_rate", "PlotJuggler rate", "Messages a second, at most.", unit="Hz"),
    _F("prometheus", "Prometheus at", "HOST:PORT of a page with the service's health.", "text", empty="no page"),
)
OUTLET_SECTIONS = (
    SettingsSection(
        "alarms",
        "Alarms",
        "Alarms that every service has. Limits on values are written into the file, as [[alarms.limit]], and stay as "
        "they are there.",
        AlarmSettings,
        _ALARMS,
    ),
    SettingsSection("mqtt", "MQTT", "A broker that is told.", MqttSettings, _MQTT),
    SettingsSection("security", "Security", "Network access control.", SecuritySettings, _SECURITY),
    SettingsSection("viewers", "Viewers", "Feeds for programs of others.", ViewerSettings, _VIEWERS),
)
"""The last pages of the dialog."""
