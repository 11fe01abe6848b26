"""Rate limits: token bucket, requests, exponential backoff, fixed interval."""

from __future__ import annotations

import random
from collections.abc import Callable
from time import monotonic

from monitor.messages.requests import Request, RequestError, decode_request

_REQUEST_BURST = 50


class TokenBucket:
    """A token bucket.

    Parameters
    ----------
    burst : how many are allowed at once, after a pause.
    rate : how many a second are allowed in the long run.
    clock : s, monotonic.
    """

    def __init__(self, burst: float, rate: float, clock: Callable[[], float] = monotonic) -> None:
        self._burst, self._rate, self._clock = burst, rate, clock
        self._tokens = float(burst)
        self._updated = clock()

    def allow(self) -> bool:
        """Consume one token; return False if there is none."""
        now = self._clock()
        self._tokens = min(self._tokens + self._rate * (now - self._updated), self._burst)
        self._updated = now
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True


class RequestLimiter:
    """Decode requests, at most `rate` a second in the long run and 50 at once after a pause.

    Parameters
    ----------
    rate : per second.
    clock : s, monotonic.
    """

    def __init__(self, rate: float = 20.0, clock: Callable[[], float] = monotonic) -> None:
        self._rate, self._bucket = rate, TokenBucket(_REQUEST_BURST, rate, clock)

    def decode(self, body: bytes) -> Request:
        """Return a request; raises `RequestError` if it is invalid or exceeds the rate."""
        request = decode_request(body)
        if not self._bucket.allow():
            raise RequestError(f"more than {self._rate:g} requests a second: wait, then send it again", request.id)
        return request


STABLE_AFTER = 30.0
"""s after which a connection counts as stable."""


class Backoff:
    """Exponential backoff with full jitter: each wait is uniform between 0 and a bound that doubles.

    Parameters
    ----------
    initial, maximum : s, bound of the first wait and largest bound.
    draw : uniform in [0, 1).
    """

    def __init__(
        self, initial: float = 0.5, maximum: float = 60.0, draw: Callable[[], float] = random.random
    ) -> None:
        self._initial, self._maximum, self._draw = initial, maximum, draw
        self._bound = initial

    def disconnected(self, lasted: float) -> None:
        """Reset the bound if the connection has lasted for `STABLE_AFTER`."""
        if lasted >= STABLE_AFTER:
            self._bound = self._initial

    def wait(self) -> float:
        """Return the next wait, s."""
        wait = self._draw() * self._bound
        self._bound = min(2.0 * self._bound, self._maximum)
        return wait

    def long_wait(self) -> float:
        """Return a long wait [s], after a rejection that will not soon change."""
        return (0.5 + 0.5 * self._draw()) * self._maximum


class FixedInterval:
    """Return how long to sleep until the next of a series of equidistant instants; those missed are skipped.

    Parameters
    ----------
    interval : s between two instants.
    clock : s, monotonic.
    """

    def __init__(self, interval: float, clock: Callable[[], float] = monotonic) -> None:
        self._interval, self._clock = interval, clock
        self._due = clock()

    def remaining(self) -> float:
        """Return the s until the next instant."""
        now = self._clock()
        self._due = max(self._due + self._interval, now)
        return self._due - now
