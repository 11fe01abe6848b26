"""`synchroscope note`: a line of text into a run, from a shell."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from monitor.commands.options import add_keys_option, client_security
from monitor.system.default_endpoints import RESULTS

if TYPE_CHECKING:
    from monitor.messages.requests import Answer, Request
    from monitor.transport.zeromq.key_files import Keys


_ANSWER_TIMEOUT = 5.0  # s for a service to say how it is, and again for it to answer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("text", help="one line; it stands at the newest sample")
    parser.add_argument("--connect", default=RESULTS, metavar="URL", help=f"of the monitor (default {RESULTS})")
    add_keys_option(parser)


def run(arguments: argparse.Namespace) -> int:
    """Send the note; 0 when the service has taken it."""
    from monitor.messages.requests import NoteRequest
    from monitor.transport.zeromq.request_client import requests_url

    note = NoteRequest(text=arguments.text)
    security = client_security(arguments)
    url = requests_url(requests_of(arguments.connect, security), arguments.connect)
    answer = answer_of(url, note, security)
    if not answer.ok:
        raise ValueError(answer.reason)
    return 0


def requests_of(results: str, security: Keys | None) -> str:
    """Return the endpoint that the service at `results` names in its health."""
    from monitor.messages.blocks import Event, EventKind
    from monitor.messages.health import Health
    from monitor.transport.zeromq.results import ResultSubscriber

    subscriber = ResultSubscriber(results, kinds=("health",), security=security)
    try:
        deadline = time.monotonic() + _ANSWER_TIMEOUT
        while (left := deadline - time.monotonic()) > 0:
            for item in subscriber.receive(left):
                if isinstance(item, Health):
                    return item.requests
                # events of the service were not asked for: this is the connection's own
                if isinstance(item, Event) and item.kind is EventKind.NOTE:
                    raise ValueError(item.detail)
    finally:
        subscriber.close()
    raise ValueError(f"no monitor publishes on {results}: give its endpoint with --connect")


def answer_of(url: str, request: Request, security: Keys | None) -> Answer:
    """Send a request, and return what the service says."""
    from monitor.transport.zeromq.request_client import RequestClient

    client = RequestClient(url, timeout=_ANSWER_TIMEOUT, security=security)
    try:
        client.send(request)
        while not (answers := client.answers(_ANSWER_TIMEOUT)):
            pass
        return answers[0]
    finally:
        client.close()
