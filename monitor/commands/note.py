"""`synchroscope note`: add a note to a run."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from monitor.commands.options import add_monitor_option, client_security

if TYPE_CHECKING:
    from monitor.messages.requests import Answer, Request
    from monitor.transport.zeromq.key_files import Keys


_REPLY_TIMEOUT = 5.0  # s for the health report, and for the answer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("text", help="one line, recorded at the newest sample")
    add_monitor_option(parser)


def run(arguments: argparse.Namespace) -> int:
    """Send the note; return 0 when the service has accepted it."""
    from monitor.messages.requests import NoteRequest
    from monitor.transport.zeromq.request_client import requests_url

    note = NoteRequest(text=arguments.text)
    security = client_security(arguments)
    url = requests_url(request_endpoint(arguments.connect, security), arguments.connect)
    answer = send_request(url, note, security)
    if not answer.ok:
        raise ValueError(answer.reason)
    return 0


def request_endpoint(results: str, security: Keys | None) -> str:
    """Return the request endpoint of the service at `results`, from its health report."""
    from monitor.messages.blocks import Event, EventKind
    from monitor.messages.health import Health
    from monitor.transport.zeromq.results import ResultSubscriber

    subscriber = ResultSubscriber(results, kinds=("health",), security=security)
    try:
        deadline = time.monotonic() + _REPLY_TIMEOUT
        while (left := deadline - time.monotonic()) > 0:
            for item in subscriber.receive(left):
                if isinstance(item, Health):
                    return item.requests
                # events of the service are not subscribed to: this one is from the connection itself
                if isinstance(item, Event) and item.kind is EventKind.NOTE:
                    raise ValueError(item.detail)
    finally:
        subscriber.close()
    raise ValueError(f"no monitor is publishing at {results}: give its endpoint with --connect")


def send_request(url: str, request: Request, security: Keys | None) -> Answer:
    """Send a request and return the answer."""
    from monitor.transport.zeromq.request_client import RequestClient

    client = RequestClient(url, timeout=_REPLY_TIMEOUT, security=security)
    try:
        client.send(request)
        while not (answers := client.answers(_REPLY_TIMEOUT)):
            pass
        return answers[0]
    finally:
        client.close()
