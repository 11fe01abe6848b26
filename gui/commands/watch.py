"""`synchroscope watch`: the dashboard of a service that runs elsewhere."""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

from monitor.commands.options import add_keys_option
from monitor.system.default_endpoints import RESULTS

if TYPE_CHECKING:
    from gui.terminal.dashboard import Dashboard

_NO_ANSWER = 2.5  # s after which it is said that no service answers


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
        dashboard = Dashboard(link, Console())
        _wait_for_service(dashboard, arguments.connect)
        dashboard.run(lambda: False)
    finally:
        link.close()
    return 0


def _wait_for_service(dashboard: Dashboard, url: str) -> None:
    """Wait for the first word of the service; say once that there is none, where it would show."""
    deadline = time.monotonic() + _NO_ANSWER
    told = False
    while dashboard.health is None:
        dashboard.update(0.1)
        if not told and time.monotonic() >= deadline:
            told = True
            print(f"no monitor answers at {url}: still trying", file=sys.stderr, flush=True)
