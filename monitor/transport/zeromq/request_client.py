"""Client for requests to a running service or replay."""

from __future__ import annotations

import getpass
from collections.abc import Callable

import msgspec
import zmq

from monitor.messages.health import Health
from monitor.messages.requests import Answer, Request, RequestError, decode_answer, encode
from monitor.system.running_clock import RunningClock
from monitor.transport.base import TransportError
from monitor.transport.zeromq import endpoint
from monitor.transport.zeromq.key_files import Keys

ANSWER_TIMEOUT = 5.0
"""s."""

_POLL_INTERVAL = 0.2  # s
_QUEUE = 64
_BATCH = 256


class RequestClient:
    """Send requests and receive their answers, without blocking.

    Every request gets exactly one answer. Without one from the service within `timeout` it is answered here, with a
    refusal, and is not sent any more if it is still queued.

    Parameters
    ----------
    url : where the service accepts requests, as returned by `requests_url`.
    timeout : s, for an answer.
    clock : s, in which this process can run; called at every `answers`, which must not wait for a second.
    security : keys of the client, where the service requires them.

    Raises
    ------
    TransportError : the endpoint is malformed.
    """

    def __init__(
        self,
        url: str,
        *,
        timeout: float = ANSWER_TIMEOUT,
        clock: Callable[[], float] | None = None,
        security: Keys | None = None,
    ) -> None:
        self._url = url
        self._timeout = timeout
        self._clock = clock or RunningClock()
        self._security = security
        self._number = 0
        self._pending: dict[int, float] = {}
        self._refused: list[Answer] = []
        self._context, self._socket = self._open()

    def send(self, request: Request) -> int:
        """Send `request` under a new number, and return the number, which is the `id` of its answer."""
        self._number += 1
        try:
            self._socket.send(encode(msgspec.structs.replace(request, id=self._number)), zmq.NOBLOCK)
        except zmq.Again:
            reason = f"{_QUEUE} requests wait for the service at {self._url} already"
            self._refused.append(Answer(ok=False, reason=reason, id=self._number))
        else:
            self._pending[self._number] = self._clock()
        return self._number

    def answers(self, timeout: float = 0.0) -> list[Answer]:
        """Return the answers that have arrived, in order; wait up to `timeout` s for the first."""
        found, self._refused = self._refused, []
        if self._pending and not found:
            self._socket.poll(int(1000 * timeout))
        found += self._received()
        first = min(self._pending.values(), default=self._clock())
        if self._clock() - first > self._timeout:
            found += self._give_up()
        return found

    def _received(self) -> list[Answer]:
        found = []
        for _ in range(_BATCH):
            try:
                answer = decode_answer(self._socket.recv_multipart(zmq.NOBLOCK)[-1])
            except zmq.Again:
                break
            except RequestError:
                continue
            if self._pending.pop(answer.id, None) is not None:
                found.append(answer)
        return found

    def _give_up(self) -> list[Answer]:
        reason = f"no answer from {self._url} within {self._timeout:g} s; it may not have been carried out"
        found = [Answer(ok=False, reason=reason, id=number) for number in self._pending]
        self._pending.clear()
        # with the old socket a queued request could reach a service that comes back much later; with the old context
        # a closed socket may still send for a moment
        self.close()
        self._context, self._socket = self._open()
        return found

    def _open(self) -> tuple[zmq.Context[zmq.Socket[bytes]], zmq.Socket[bytes]]:
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        try:
            socket = context.socket(zmq.DEALER)
            endpoint.set_options(socket, _QUEUE / endpoint.MESSAGES_PER_SECOND)
            endpoint.attach(socket, self._url, bind=False, security=self._security)
        except BaseException:
            context.destroy(linger=0)
            raise
        return context, socket

    def close(self, linger: float = 0.0) -> None:
        """Close; requests not sent within `linger` s are discarded. A second call does nothing."""
        self._socket.close(linger=int(1000 * linger))
        self._context.destroy(linger=0)


def requests_url(requests: str, results: str) -> str:
    """Return the endpoint for a client that found `requests` in the health of the service at `results`.

    An endpoint bound on all addresses of the service's machine is reached at the host of `results`.

    Raises
    ------
    TransportError : the service accepts no requests, or only from its own machine, which is another.
    """
    if not requests:
        raise TransportError(f"the service at {results} accepts no requests")
    if endpoint.is_local(requests) and not endpoint.is_local(results):
        raise TransportError(
            f"the service at {results} accepts requests from its own machine only: "
            "connect there, to 127.0.0.1, or start it with --requests tcp://*:PORT and --keys"
        )
    return endpoint.reached_from(requests, results)


def send_request(
    request: Request, health: Health, url: str, security: Keys | None, timeout: float = ANSWER_TIMEOUT
) -> None:
    """Send a request to the service at `url`, whose health is given, and wait until it is carried out.

    Raises
    ------
    RequestError : it is refused, or not answered.
    TransportError : the service accepts no requests.
    """
    client = RequestClient(requests_url(health.requests, url), timeout=timeout, security=security)
    try:
        client.send(request)
        while not (answers := client.answers(_POLL_INTERVAL)):
            pass
    finally:
        client.close()
    if not answers[0].ok:
        raise RequestError(answers[0].reason)


def user_name() -> str:
    """Return the login name; empty where the system does not know it."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""
