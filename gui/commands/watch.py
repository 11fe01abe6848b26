"""`synchroscope watch`: the dashboard of a service that runs elsewhere."""

from __future__ import annotations

import argparse

from monitor.commands.options import add_keys_option
from monitor.system.default_endpoints import RESULTS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--connect", default=RESULTS, metavar="URL", help=f"default {RESULTS}")
    add_keys_option(parser)


def run(arguments: argparse.Namespace) -> int:
    """Show it until Ctrl-C."""
    from rich.console import Console

    from gui.model.receiver import ResultLink
    from gui.terminal.dashboard import Dashboard

    link = ResultLink.connect(arguments.connect, keys=arguments.keys or "")
    try:
        Dashboard(link, Console()).run(lambda: False)
    finally:
        link.close()
    return 0
