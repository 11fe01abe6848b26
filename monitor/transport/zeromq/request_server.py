"""Server for requests over ZeroMQ, each answered once."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from contextlib import suppress
from time import monotonic

import msgspec
import zmq

from monitor.messages.requests import MAX_REQUEST, Answer, Request, RequestError, decode_request, encode
from monitor.transport.rate_limit import RequestLimiter
from monitor.transport.zeromq import endpoint
from monitor.transport.zeromq.key_files import Keys

_QUEUE = 64  # requests that may wait for the service's loop
_ANSWER_QUEUE = 2000  # of a client; libzmq frees a queue by halves: a burst of 1000 has room
_BATCH = 32  # requests carried out by one `serve`
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
                each.set_hwm(_QUEUE)
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
        for _ in range(_BATCH):
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
