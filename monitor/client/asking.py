"""A request to a service, and its answer."""

from __future__ import annotations

from monitor.messages.health import Health
from monitor.messages.requests import Request, RequestError
from monitor.transport.security.curve import Keys

PATIENCE = 5.0
"""s for a service to answer."""


def ask(request: Request, health: Health, url: str, security: Keys | None) -> None:
    """Ask the service whose health says where it takes requests; return when it has said yes.

    Raises
    ------
    RequestError : it refuses, or does not answer.
    TransportError : it takes no requests.
    """
    from monitor.transport.zeromq.request_client import RequestClient, requests_url

    client = RequestClient(requests_url(health.requests, url), patience=PATIENCE, security=security)
    try:
        client.send(request)
        while not (answers := client.answers(PATIENCE)):
            pass
    finally:
        client.close()
    if not answers[0].ok:
        raise RequestError(answers[0].reason)
