"""The options of `synchroscope monitor`, and the settings that they give."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.commands.options import (
    add_indicator_options,
    add_insecure_option,
    add_reliability_options,
    add_setting,
    given_settings,
    limits_given,
    positive,
)
from monitor.commands.outlets import add_broker_option, add_viewer_options, broker_overrides
from monitor.commands.service_alarms import add_alarm_option, with_alarms
from monitor.system.default_endpoints import SIGNALS

if TYPE_CHECKING:
    from monitor.config import Settings


def add_service_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("config", nargs="?", type=Path, help="settings in TOML; options here go before them")
    add_setting(parser, "stream.connect", "URL")
    add_setting(parser, "stream.bind", "URL")
    add_setting(parser, "stream.rig", "NAME")
    add_setting(parser, "stream.sample_rate", "HZ", option="rate")
    add_setting(parser, "results.publish", "URL")
    add_setting(parser, "results.requests", "URL")
    add_setting(parser, "record.path", "PATH", option="record")
    parser.add_argument("--duration", type=positive, metavar="S", help="stop after so many seconds")
    parser.add_argument("--once", action="store_true", help="stop after the stream's last block")
    parser.add_argument("--until-closed", action="store_true", help="stop when standard input is closed")
    parser.add_argument("--quiet", action="store_true", help="print errors only")
    parser.add_argument("--check", action="store_true", help="run the checks before a test, print them and exit")
    parser.add_argument("--json", action="store_true", help="with --check: print one JSON object")
    add_setting(parser, "security.keys", "DIR")
    add_setting(parser, "security.rig_key", "FILE")
    add_insecure_option(parser)
    add_indicator_options(parser)
    add_reliability_options(parser)
    add_alarm_option(parser)
    add_broker_option(parser)
    add_viewer_options(parser)


def service_settings(arguments: argparse.Namespace) -> Settings:
    """Return the settings: the options that were given, before those of the file.

    Raises
    ------
    ValueError : some of them cannot be used; all are named.
    """
    from monitor.config import load_settings

    given = given_settings(arguments)
    stream, reliability = given.get("stream", {}), given.get("reliability", {})
    if "bind" in stream:
        # an empty endpoint takes the place of those in the file, and is none
        stream["bind"] = [url for url in stream["bind"] if url]
    if limits := limits_given(arguments):
        reliability["limits"] = {name: (limit.reject, limit.accept) for name, limit in limits.items()}
    given |= {"reliability": reliability, "mqtt": broker_overrides(arguments)}
    settings = with_alarms(load_settings(arguments.config, given), arguments.alarm)
    if not settings.stream.connect and not settings.stream.bind:
        stream_settings = settings.stream.model_copy(update={"connect": (SIGNALS,)})
        settings = settings.model_copy(update={"stream": stream_settings})
    return settings
