"""What `synchroscope monitor` can be told on its command line, and the settings that come of it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.commands.options import (
    add_indicator_options,
    add_insecure_option,
    add_reliability_options,
    indicator_overrides,
    positive,
    reliability_overrides,
)
from monitor.commands.outlets import add_broker_option, add_viewer_options, broker_overrides, viewer_overrides
from monitor.commands.service_alarms import add_alarm_option, with_alarms

if TYPE_CHECKING:
    from monitor.config import Settings

DEFAULT_SIGNALS = "tcp://127.0.0.1:5555"


def add_service_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("config", nargs="?", type=Path, help="settings in TOML; options here go before them")
    parser.add_argument(
        "--connect",
        action="append",
        metavar="URL",
        help=f"a rig's publisher (default {DEFAULT_SIGNALS}); repeatable",
    )
    parser.add_argument("--bind", action="append", metavar="URL", help="where rigs connect to; repeatable")
    parser.add_argument("--rig", metavar="NAME", help="follow this rig only (default: the first that speaks)")
    parser.add_argument("--rate", type=float, metavar="HZ", help="sample rate of plain senders that do not say it")
    parser.add_argument("--publish", metavar="URL", help="where results go (default tcp://127.0.0.1:5556)")
    parser.add_argument(
        "--requests", metavar="URL", help="endpoint for operator requests (default: a free port; none: not served)"
    )
    parser.add_argument("--record", metavar="PATH", help="keep the run in this file, or in this folder")
    parser.add_argument("--duration", type=positive, metavar="S", help="stop after so many seconds")
    parser.add_argument("--once", action="store_true", help="stop after the stream's last block")
    parser.add_argument("--until-closed", action="store_true", help="stop when standard input is closed")
    parser.add_argument("--quiet", action="store_true", help="print errors only")
    parser.add_argument("--check", action="store_true", help="run the checks before a test, print them and exit")
    parser.add_argument("--json", action="store_true", help="with --check: print one JSON object")
    parser.add_argument(
        "--keys", metavar="DIR", help="accept only clients listed in this key folder, made by `synchroscope keys`"
    )
    parser.add_argument("--rig-key", metavar="FILE", help="public key of the rigs of --connect, where they have one")
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

    # an empty endpoint takes the place of those in the file, and is none
    binds = None if arguments.bind is None else [url for url in arguments.bind if url]
    stream = {"connect": arguments.connect, "bind": binds, "rig": arguments.rig}
    stream |= {"sample_rate": arguments.rate}
    sections = {
        "stream": stream,
        "results": {"publish": arguments.publish, "requests": arguments.requests},
        "record": {"path": arguments.record},
        "security": {"keys": arguments.keys, "rig_key": arguments.rig_key},
        "indicators": indicator_overrides(arguments),
        "reliability": reliability_overrides(arguments),
        "mqtt": broker_overrides(arguments),
        "viewers": viewer_overrides(arguments),
    }
    given = {name: {k: v for k, v in keys.items() if v is not None} for name, keys in sections.items()}
    settings = with_alarms(load_settings(arguments.config, given), arguments.alarm)
    if not settings.stream.connect and not settings.stream.bind:
        stream_settings = settings.stream.model_copy(update={"connect": (DEFAULT_SIGNALS,)})
        settings = settings.model_copy(update={"stream": stream_settings})
    return settings
