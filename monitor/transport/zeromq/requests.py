"""Requests over ZeroMQ: the client of a service or a replay, and its server."""

from __future__ import annotations

import getpass
import itertools
import threading
from collections.abc import Callable
from contextlib import suppress
from time import monotonic

import msgspec
import zmq

from monitor.messages.health import Health
from monitor.messages.requests import (
    MAX_REQUEST,
    Answer,
    Request,
    RequestError,
    decode_answer,
    decode_request,
    encode,
)
from monitor.system.running_clock import RunningClock
from monitor.transport.base import TransportError
from monitor.transport.rate_limit import RequestLimiter
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


_WAITING = 64  # requests that may wait for the service's loop
_ANSWER_QUEUE = 2000  # of a client; libzmq frees a queue by halves: a burst of 1000 has room
_SERVED = 32  # requests carried out by one `serve`
_LINGER = 0.2  # s
_QUEUE_FULL = "too many requests wait: send it again later"
_END = b""

_numbers = itertools.count()


class ZmqRequestServer:
    """A ROUTER socket for clients with a REQ or a DEALER.

    A thread of its own reads all requests, refuses at once those that are invalid or too many, and queues the rest,
    so that no client can block the service. A client that does not read its answers loses them. At most `rate`
    requests a second are carried out, 50 at once, of all clients together: more are refused, so that notes do not
    displace the events of the stream.

    Parameters
    ----------
    bind : endpoint; ``tcp://127.0.0.1:*`` finds a free port.
    insecure : may bind where other machines can reach it without keys.
    security : the service's keys.
    context : of the caller, who then terminates it; by default its own.
    rate : requests a second in the long run.
    clock : s, monotonic.

    Raises
    ------
    TransportError : the endpoint is malformed or cannot be used.
    """

    def __init__(
        self,
        bind: str,
        *,
        insecure: bool = False,
        security: Keys | None = None,
        context: zmq.Context[zmq.Socket[bytes]] | None = None,
        rate: float = 20.0,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._own_context = context is None
        self._context = zmq.Context() if context is None else context
        self._socket = self._context.socket(zmq.ROUTER)
        # both ends of the queue between the thread and the service's loop: messages of client address and request
        self._inner, self._outer = self._context.socket(zmq.PAIR), self._context.socket(zmq.PAIR)
        self._frames: list[bytes] = []
        self._limiter = RequestLimiter(rate, clock)
        self._rejected_early = self._rejected_late = 0
        self.trusted = security is not None or endpoint.is_local(bind)
        """Whether only clients of this machine, or with keys, can send requests."""
        self.fault = ""
        """Why no requests are read any more; empty while they are."""
        self._thread = threading.Thread(target=self._run, name="requests", daemon=True)
        try:
            endpoint.set_options(self._socket, _ANSWER_QUEUE / endpoint.MESSAGES_PER_SECOND)
            self._socket.setsockopt(zmq.MAXMSGSIZE, 2 * MAX_REQUEST)
            self.endpoint = endpoint.attach(self._socket, bind, bind=True, insecure=insecure, security=security)
            between = f"inproc://synchroscope-requests-{next(_numbers)}"
            for each in (self._inner, self._outer):
                each.setsockopt(zmq.LINGER, 0)
                each.set_hwm(_WAITING)
            self._outer.bind(between)
            self._inner.connect(between)
        except BaseException:
            self.close()
            raise
        self._thread.start()

    @property
    def refused(self) -> int:
        """Requests that were invalid or refused."""
        return self._rejected_early + self._rejected_late

    def wait(self, timeout: float) -> bool:
        """Wait up to `timeout` s for a request; return whether there is one."""
        return bool(self._outer.poll(round(1000 * timeout)))

    def serve(self, carry_out: Callable[[Request], Answer | None]) -> None:
        """Carry out and answer the requests that have come, some tens at most, without waiting.

        `carry_out` returns the answer, or None: carried out. A ValueError refuses the request, and its text is the
        reason. Invalid requests are refused and counted in `refused` too; no message of a client raises.
        """
        for _ in range(_SERVED):
            # only with room for the answer, or it would be lost
            if not int(self._outer.getsockopt(zmq.EVENTS)) & zmq.POLLOUT:
                return
            try:
                *client, body, refusal = self._outer.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            self._outer.send_multipart([*client, refusal or self._answer(body, carry_out)], zmq.NOBLOCK)

    def _answer(self, body: bytes, carry_out: Callable[[Request], Answer | None]) -> bytes:
        request = decode_request(body)
        try:
            answer = carry_out(request) or Answer(ok=True)
        except ValueError as problem:
            self._rejected_late += 1
            return encode(Answer(ok=False, reason=str(problem), id=request.id))
        return encode(msgspec.structs.replace(answer, id=request.id))

    def _run(self) -> None:
        try:
            self._read()
        except Exception as problem:  # noqa: BLE001  reported by `fault`
            why = f"{type(problem).__name__}: {problem}"
            self.fault = f"no requests are accepted at {self.endpoint} any more: {why}; restart the service"

    def _read(self) -> None:
        poller = zmq.Poller()
        for each in (self._socket, self._inner):
            poller.register(each, zmq.POLLIN)
        while True:
            ready = dict(poller.poll())
            # without waiting: what was announced may be gone, and then this thread would never end
            with suppress(zmq.Again):
                if self._inner in ready:
                    frames = self._inner.recv_multipart(zmq.NOBLOCK)
                    if frames == [_END]:
                        return
                    self._send(frames)
            with suppress(zmq.Again):
                if self._socket in ready:
                    self._receive_frame()

    def _receive_frame(self) -> None:
        frame = self._socket.recv(zmq.NOBLOCK)
        # of a message with too many frames only the first four are stored
        if len(self._frames) < 4:
            self._frames.append(frame)
        if not self._socket.getsockopt(zmq.RCVMORE):
            frames, self._frames = self._frames, []
            self._forward(frames)

    def _forward(self, frames: list[bytes]) -> None:
        # a REQ socket sends an empty frame before its request and expects it back
        client, body = (frames[:2], frames[2:]) if frames[1:2] == [b""] else (frames[:1], frames[1:])
        refusal = self._refusal(body)
        try:
            # refusals too, so that the answers come in the order of the requests
            self._inner.send_multipart([*client, body[0] if len(body) == 1 else b"", refusal], zmq.NOBLOCK)
        except zmq.Again:
            if not refusal:
                self._rejected_early += 1
                refusal = encode(Answer(ok=False, reason=_QUEUE_FULL, id=decode_request(body[0]).id))
            self._send([*client, refusal])

    def _refusal(self, body: list[bytes]) -> bytes:
        """Return the answer to a request that is invalid or too many; else an empty one."""
        try:
            if len(body) != 1:
                raise RequestError("a request has one frame")
            self._limiter.decode(body[0])
        except RequestError as problem:
            self._rejected_early += 1
            return encode(Answer(ok=False, reason=str(problem), id=problem.number))
        return b""

    def _send(self, frames: list[bytes]) -> None:
        # a ROUTER drops messages for a client whose queue is full or that has gone
        self._socket.send_multipart(frames, zmq.NOBLOCK)

    def close(self) -> None:
        """Close all sockets, after the last answers have left. A second call does nothing."""
        if self._thread.is_alive():
            self._outer.setsockopt(zmq.SNDTIMEO, -1)
            self._outer.send(_END)
            self._thread.join()
        self._outer.close()
        self._inner.close()
        self._socket.close(linger=int(1000 * _LINGER))
        if self._own_context:
            self._context.destroy(linger=0)
