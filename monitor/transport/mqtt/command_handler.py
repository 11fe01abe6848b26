"""Requests that come in by way of the broker, and notes on the connection to it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from time import monotonic

from monitor.messages.requests import MAX_NOTE, Answer, NoteRequest, Request, RequestError, decode_request, encode
from monitor.transport.rate_limit import TokenBucket

_QUEUE = 64
_NOTES = 16
_RATE, _BURST = 20.0, 50


class MqttCommandHandler:
    """Take what clients of the broker ask, carried out in the service's loop and answered by the broker.

    What the session has to say of the connection is carried out as a note: it stands in the run with everything else.
    At most 20 requests a second are carried out, 50 at once; 64 may wait, more are lost and counted.

    Parameters
    ----------
    answer : takes the JSON of an answer.
    clock : s, monotonic.
    """

    endpoint = ""
    """None that a ZeroMQ client could connect to."""

    def __init__(self, answer: Callable[[bytes], None], clock: Callable[[], float] = monotonic) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[tuple[bytes, bool]] = deque()
        self._notes: deque[str] = deque(maxlen=_NOTES)
        self._rate_limit = TokenBucket(_BURST, _RATE, clock)
        self._send = answer
        self.refused = 0

    def take(self, payload: bytes, retained: bool) -> None:
        """Queue a request; from any thread."""
        with self._lock:
            if len(self._waiting) < _QUEUE:
                self._waiting.append((payload, retained))
            else:
                self.refused += 1

    def note(self, text: str) -> None:
        """Queue a line about the connection; from any thread."""
        with self._lock:
            self._notes.append(text)

    def serve(self, carry_out: Callable[[Request], None]) -> None:
        """Carry out and answer what has come; never wait. A ValueError from `carry_out` refuses the request."""
        with self._lock:
            waiting, notes = tuple(self._waiting), tuple(self._notes)
            self._waiting.clear()
            self._notes.clear()
        for text in notes:
            carry_out(NoteRequest(text=text.encode(errors="replace")[:MAX_NOTE].decode(errors="ignore")))
        for payload, retained in waiting:
            self._send(encode(self._answered(payload, retained, carry_out)))

    def _answered(self, payload: bytes, retained: bool, carry_out: Callable[[Request], None]) -> Answer:
        number = 0
        try:
            if retained:
                raise RequestError("a retained request is not carried out: publish it without retain")
            request = decode_request(payload)
            number = request.id
            if not self._rate_limit.take():
                raise RequestError(f"more than {_RATE:g} requests a second: wait, then send it again", number)
            carry_out(request)
        except ValueError as problem:
            self.refused += 1
            number = problem.number if isinstance(problem, RequestError) else number
            return Answer(ok=False, reason=str(problem), id=number)
        return Answer(ok=True, id=number)

    def close(self) -> None:
        """Do nothing: the connection is the sink's."""
