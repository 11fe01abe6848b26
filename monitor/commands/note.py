"""`synchroscope note`: add a note to a run."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, TypeVar

from monitor.commands.options import add_monitor_option, client_security

if TYPE_CHECKING:
    from monitor.messages.alarms import AlarmReport
    from monitor.messages.health import Health
    from monitor.transport.zeromq.key_files import Keys


_REPLY_TIMEOUT = 5.0  # s for a report, and for an answer

Message = TypeVar("Message", "Health", "AlarmReport")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("text", help="one line, recorded at the newest sample")
    add_monitor_option(parser)


def run(arguments: argparse.Namespace) -> int:
    """Send the note; return 0 when the service has accepted it."""
    from monitor.messages.health import Health
    from monitor.messages.requests import NoteRequest
    from monitor.transport.zeromq.requests import send_request

    note = NoteRequest(text=arguments.text)
    security = client_security(arguments)
    health = next_message(arguments.connect, Health, security)
    send_request(note, health, arguments.connect, security, _REPLY_TIMEOUT)
    return 0


def next_message(results: str, kind: type[Message], security: Keys | None) -> Message:
    """Return the next health or alarm report of the service at `results`; wait 5 s at most."""
    from monitor.messages.blocks import Event, EventKind
    from monitor.messages.health import Health
    from monitor.transport.zeromq.results import ResultSubscriber

    subscriber = ResultSubscriber(results, kinds=("health" if kind is Health else "alarms",), security=security)
    try:
        deadline = time.monotonic() + _REPLY_TIMEOUT
        while (left := deadline - time.monotonic()) > 0:
            for item in subscriber.receive(left):
                if isinstance(item, kind):
                    return item
                # events of the service are not subscribed to: this one is from the connection itself
                if isinstance(item, Event) and item.kind is EventKind.NOTE:
                    raise ValueError(item.detail)
    finally:
        subscriber.close()
    raise ValueError(f"no monitor is publishing at {results}: give its endpoint with --connect")
