"""`synchroscope watch`: the dashboard of a running service."""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

from monitor.commands.options import add_keys_option
from monitor.system.default_endpoints import RESULTS

if TYPE_CHECKING:
    from gui.terminal.dashboard import Dashboard

_NOTICE_DELAY = 2.5  # s without messages until that is reported


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--connect", default=RESULTS, metavar="URL", help=f"results of the service (default {RESULTS})"
    )
    add_keys_option(parser)


def run(arguments: argparse.Namespace) -> int:
    """Show the dashboard until Ctrl-C."""
    from rich.console import Console

    from gui.model.receiver import ServiceSubscription
    from gui.terminal.dashboard import Dashboard

    link = ServiceSubscription.connect(arguments.connect, keys=arguments.keys or "")
    try:
        dashboard = Dashboard(link, Console())
        _wait_for_service(dashboard, arguments.connect)
        dashboard.run(lambda: False)
    finally:
        link.close()
    return 0


def _wait_for_service(dashboard: Dashboard, url: str) -> None:
    """Wait for the first message of the service; report once if there is none."""
    deadline = time.monotonic() + _NOTICE_DELAY
    reported = False
    while dashboard.health is None:
        dashboard.update(0.1)
        if not reported and time.monotonic() >= deadline:
            reported = True
            print(f"no monitor answers at {url}: retrying", file=sys.stderr, flush=True)
