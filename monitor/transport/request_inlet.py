"""Requests that come in over ZeroMQ, each answered once."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

import zmq

from monitor.requests import MAX_REQUEST, Answer, Request, RequestError, decode_request, encode
from monitor.transport import endpoint
from monitor.transport.allowance import Allowance
from monitor.transport.curve import Keys

_QUEUE = 64  # messages that may wait, to and from each client
_FRAMES = 64  # looked at in one turn of the service's loop
_LINGER = 0.2
_RATE = 20.0  # requests per second that are carried out, in the long run
_BURST = 50  # at once, after a pause


class RequestInlet:
    """A ROUTER socket for clients with a REQ or a DEALER.

    Nothing waits for a client: one that does not take its answers loses them, one that sends faster than is
    served is held up by its own queue. At most 20 requests a second are carried out, 50 at once, of all clients
    together: more are refused, so that notes do not push out what happens to the stream.

    Parameters
    ----------
    bind : endpoint; ``tcp://127.0.0.1:*`` finds a free port.
    insecure : may bind where other machines can reach it without keys.
    security : the service's keys.
    context : of the caller, who then terminates it; by default an own one.
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
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._own_context = context is None
        self._context = zmq.Context() if context is None else context
        self._socket = self._context.socket(zmq.ROUTER)
        self._frames: list[bytes] = []
        self._allowance = Allowance(_BURST, _RATE, clock)
        self.refused = 0
        try:
            endpoint.prepare(self._socket, _QUEUE / endpoint.MESSAGES_PER_SECOND)
            self._socket.setsockopt(zmq.MAXMSGSIZE, 2 * MAX_REQUEST)
            self.endpoint = endpoint.attach(self._socket, bind, bind=True, insecure=insecure, security=security)
        except BaseException:
            self.close()
            raise

    def serve(self, carry_out: Callable[[Request], None]) -> None:
        """Carry out and answer what has come, some tens of requests at most; never wait.

        A ValueError from `carry_out` refuses the request, and its text is the reason. What cannot be read is
        refused and counted in `refused`, too; nothing that a client sends raises.
        """
        for _ in range(_FRAMES):
            try:
                frame = self._socket.recv(zmq.NOBLOCK)
            except zmq.Again:
                return
            # of a message with too many frames no more is kept than tells so
            if len(self._frames) < 4:
                self._frames.append(frame)
            if not self._socket.getsockopt(zmq.RCVMORE):
                frames, self._frames = self._frames, []
                self._answer(frames, carry_out)

    def _answer(self, frames: list[bytes], carry_out: Callable[[Request], None]) -> None:
        # a REQ puts an empty frame before its request and expects it back
        client, body = (frames[:2], frames[2:]) if frames[1:2] == [b""] else (frames[:1], frames[1:])
        number = 0
        try:
            if len(body) != 1:
                raise RequestError("a request has one frame")
            request = decode_request(body[0])
            number = request.id
            if not self._allowance.take():
                raise RequestError(f"more than {_RATE:g} requests a second: wait, then send it again", number)
            carry_out(request)
            answer = Answer(ok=True, id=number)
        except ValueError as problem:
            self.refused += 1
            number = problem.number if isinstance(problem, RequestError) else number
            answer = Answer(ok=False, reason=str(problem), id=number)
        # a ROUTER drops what its client's queue has no room for
        self._socket.send_multipart([*client, encode(answer)], zmq.NOBLOCK)

    def close(self) -> None:
        """Leave no socket behind; the last answers may still go. A second call does nothing."""
        self._socket.close(linger=int(1000 * _LINGER))
        if self._own_context:
            self._context.term()
