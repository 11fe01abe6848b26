"""`connect`: receive the results of a running service in a Python program, as rows of values by actuator and name."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Self

from monitor.catalogue import reason_column
from monitor.messages.alarms import Alarm, AlarmReport
from monitor.messages.blocks import Event, EventKind, ResultBlock, ResultStream, Samples, SignalBlock, TransferBlock
from monitor.messages.health import Health
from monitor.messages.reasons import reason_word
from monitor.messages.requests import (
    AcknowledgeRequest,
    NewLimits,
    NoteRequest,
    Request,
    ResetRequest,
    SetLimitsRequest,
    ShelveRequest,
)
from monitor.system.default_endpoints import RESULTS
from monitor.system.running_clock import RunningClock
from monitor.transport.zeromq.key_files import keys_of
from monitor.transport.zeromq.requests import ANSWER_TIMEOUT, send_request
from monitor.transport.zeromq.results import MessageKind, Published, ResultSubscriber
from monitor.wire import native as wire


def _missing(kind: str, name: object, names: Mapping[str, object]) -> str:
    return f"no {kind} {name!r}; there are: {', '.join(names) or 'none'}"


class Values(Mapping[str, float]):
    """Values of one actuator (or site) at one instant, by name; NaN where not valid."""

    __slots__ = ("_positions", "_stream", "_values")

    def __init__(self, stream: ResultStream, positions: Mapping[str, int], values: Samples) -> None:
        self._stream, self._positions, self._values = stream, positions, values

    def __getitem__(self, name: str) -> float:
        return float(self._values[self._position(name)])

    def __iter__(self) -> Iterator[str]:
        return iter(self._positions)

    def __len__(self) -> int:
        return len(self._positions)

    def __repr__(self) -> str:
        return repr(dict(self))

    def unit(self, name: str) -> str:
        """Return the unit of a value; 1 if it is dimensionless."""
        return self._stream.columns[self._position(name)].unit

    def reason(self, name: str) -> str:
        """Return why a value is NaN, in a few words; empty where there is one, or the reason is unknown."""
        code = self.get(reason_column(name), 0.0)
        return reason_word(code) if code > 0.0 else ""

    def _position(self, name: str) -> int:
        try:
            return self._positions[name]
        except KeyError:
            raise KeyError(_missing("value", name, self._positions)) from None


@dataclass(frozen=True, slots=True, eq=False)
class Row(Mapping[str, Values]):
    """One instant: ``row["north"]["broadband_delay"]``.

    Parameters
    ----------
    stream : describes the columns; another object, or another epoch, after a restart.
    time : s on the rig's clock.
    index : of the sample.
    numbers : (n_columns,), in the order of the columns of the stream.
    """

    stream: ResultStream
    time: float
    index: int
    numbers: Samples

    def __getitem__(self, actuator: str) -> Values:
        try:
            positions = self.stream.places[actuator]
        except KeyError:
            raise KeyError(_missing("actuator", actuator, self.stream.places)) from None
        return Values(self.stream, positions, self.numbers)

    def __iter__(self) -> Iterator[str]:
        return iter(self.stream.places)

    def __len__(self) -> int:
        return len(self.stream.places)

    def __repr__(self) -> str:
        return f"Row(time={self.time:g}, index={self.index}, actuators={list(self.stream.places)})"


def row_of(block: ResultBlock, number: int) -> Row:
    """Return one row of a block of results; -1 is the last."""
    stream, number = block.stream, range(len(block))[number]
    ahead = number * stream.every
    return Row(stream, block.time + ahead / stream.sample_rate, block.index + ahead, block.values[number])


_POLL_INTERVAL = 0.1  # s; between polls the timeout and a close by another thread are checked
_ASYNC_POLL_INTERVAL = 0.005  # s
_MAX_EVENTS = 1000
_RESULTS = wire.topic("results")


class ServiceLostError(ConnectionError):
    """No data from the service for the timeout, or it rejects the keys. Iterate again to keep waiting."""


def connect(
    url: str = RESULTS,
    *,
    rig: str = "",
    kinds: Sequence[MessageKind] = ("results", "alarms", "event"),
    keys: str = "",
    timeout: float | None = 10.0,
    follow: bool = False,
) -> Connection:
    """Connect a SUB socket to the results of a service and subscribe.

    As with ZeroMQ, this returns at once: the service may start later, and the connection is re-established
    automatically.

    Parameters
    ----------
    url : endpoint of the results of the service.
    rig : accept results and signals of this rig only; empty: of all rigs.
    kinds : messages to subscribe to: results, transfer, signals, alarms, event. Health is always included.
    keys : folder of CURVE keys, if the service requires them.
    timeout : s without a message from the service, which publishes its health five times a second even if its rig
        is silent, after which iterating raises `ServiceLostError`; None: never. If the service rejects the keys, or
        requires some, that is raised at once.
    follow : continue with the next run after the last block of a stream, instead of ending.

    Raises
    ------
    TransportError : the endpoint is malformed.
    KeyFileError : the keys are missing, or their file permissions are not safe.

    Examples
    --------
    >>> from monitor import connect
    >>> for row in connect("tcp://127.0.0.1:5556"):  # doctest: +SKIP
    ...     print(row.time, row["north"]["broadband_delay"])
    """
    return Connection(url, rig, kinds, keys, timeout, follow)


class Connection:
    """A subscription to the results of a service, returned by `connect`; an iterator and a context manager.

    Iterating, with ``for`` or ``async for``, yields every `Row` in order. It ends after the last block of the stream,
    or when `close` is called, from any thread. A reader that is seconds too slow loses rows, which shows in
    `Row.index`; the service and other clients are not affected.

    Attributes
    ----------
    url : endpoint, as given to `connect`.
    health : newest `Health` of the service; None before the first.
    alarms : all alarms, from the newest report.
    events : the newest events, up to 1000.
    """

    def __init__(
        self, url: str, rig: str, kinds: Sequence[MessageKind], keys: str, timeout: float | None, follow: bool
    ) -> None:
        self._rig, self._timeout, self._follow = rig, timeout, follow
        self._security = keys_of(keys)
        # the rig is not part of the subscription: a service has no rig until its first block
        subscribed = tuple(dict.fromkeys((*kinds, "health")))
        self._subscriber = ResultSubscriber(url, kinds=subscribed, security=self._security)
        self.url = url
        self.health: Health | None = None
        self.alarms: tuple[Alarm, ...] = ()
        self.events: deque[Event] = deque(maxlen=_MAX_EVENTS)
        self._lock = Lock()
        self._waiting: deque[Published] = deque()
        self._rows: Iterator[Row] = iter(())
        self._newest: Row | None = None
        self._closed = False
        self._clock = RunningClock()
        self._last_message = self._clock()
        self._fault = self._rejection = ""

    @property
    def silence(self) -> float:
        """Seconds since the last message of the service, or since `connect`, in which this program was listening."""
        return self._clock() - self._last_message

    def __iter__(self) -> Iterator[Row]:
        return self

    def __next__(self) -> Row:
        while (row := next(self._rows, None)) is None:
            item = self._next_item()
            if item is None:
                raise StopIteration
            self._read_rows(item)
        return row

    def __aiter__(self) -> AsyncIterator[Row]:
        return self

    async def __anext__(self) -> Row:
        while (row := next(self._rows, None)) is None:
            while not self._waiting and not self._closed and not self._receive(0.0):
                self._check()
                await asyncio.sleep(_ASYNC_POLL_INTERVAL)
            item = self._pop()
            if item is None:
                raise StopAsyncIteration
            self._read_rows(item)
        return row

    def blocks(self) -> Iterator[ResultBlock]:
        """Yield blocks, as arrays: ``block.values`` is (n_rows, n_columns)."""
        return (item for item in self.items() if isinstance(item, ResultBlock) and len(item))

    def items(self) -> Iterator[Published]:
        """Yield all messages of the subscribed kinds, in order."""
        while (item := self._next_item()) is not None:
            yield item

    def newest(self) -> Row | None:
        """Return the newest row without waiting, and discard those before it; None before its first."""
        with self._lock:
            items = [] if self._closed else self._subscriber.receive_newest(_RESULTS)
        self._queue(items)
        blocks = [item for item in self._waiting if isinstance(item, ResultBlock) and len(item)]
        # other messages are in `health`, `alarms` and `events` already
        self._waiting.clear()
        if blocks:
            self._rows = iter(())
            self._newest = row_of(blocks[-1], -1)
        return self._newest

    def note(self, text: str) -> None:
        """Add a line of text to the run, at the newest sample.

        Raises
        ------
        RequestError : the service rejects the request, or does not answer within 5 s.
        ServiceLostError : there is no service.
        ValueError : the text is empty, too long or not printable.
        """
        self._request(NoteRequest(text=text))

    def acknowledge(self, alarm: str = "", by: str = "") -> None:
        """Acknowledge an alarm, or all; `by` is the operator. Raises as `note` does."""
        self._request(AcknowledgeRequest(alarm=alarm, by=by))

    def reset(self, alarm: str = "", by: str = "") -> None:
        """Reset a latched alarm that is acknowledged and not active, or all. Raises as `note` does."""
        self._request(ResetRequest(alarm=alarm, by=by))

    def shelve(self, alarm: str, seconds: float, by: str = "") -> None:
        """Shelve an alarm; 0 s unshelves it. Raises as `note` does."""
        self._request(ShelveRequest(alarm=alarm, seconds=seconds, by=by))

    def set_limits(self, alarm: str, low: float | None, high: float | None, by: str = "") -> None:
        """Change the normal range of an alarm, in its unit; None: open to that side. Raises as `note` does."""
        self._request(SetLimitsRequest(limits=(NewLimits(alarm=alarm, low=low, high=high),), by=by))

    def close(self) -> None:
        """Close the socket; iterations, also in other threads, end. A second call does nothing."""
        self._closed = True
        self._rows = iter(())
        self._waiting.clear()
        with self._lock:
            self._subscriber.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        # a program of three lines does not close it
        with suppress(AttributeError):
            self.close()

    def _read_rows(self, item: Published) -> None:
        if isinstance(item, ResultBlock):
            self._rows = (row_of(item, number) for number in range(len(item)))

    def _next_item(self) -> Published | None:
        """Wait for the next item; None if closed or ended."""
        while not self._waiting and not self._closed:
            if not self._receive(_POLL_INTERVAL):
                self._check()
        return self._pop()

    def _pop(self) -> Published | None:
        try:
            item = self._waiting.popleft()
        except IndexError:
            # closed, possibly by another thread
            return None
        ended = item.last if isinstance(item, ResultBlock) else isinstance(item, Health) and item.state == "ended"
        if ended and not self._follow:
            self.close()
        return item

    def _receive(self, timeout: float) -> bool:
        """Queue received items; wait up to `timeout` s for the first. Return whether there was any."""
        with self._lock:
            items = [] if self._closed else self._subscriber.receive(timeout)
        self._queue(items)
        return bool(items)

    def _queue(self, items: Sequence[Published]) -> None:
        for item in items:
            if isinstance(item, ResultBlock | SignalBlock | TransferBlock) and self._rig not in ("", item.stream.rig):
                continue
            self._update_state(item)
            self._waiting.append(item)

    def _update_state(self, item: Published) -> None:
        match item:
            case Health():
                self.health = item
            case AlarmReport():
                self.alarms = item.alarms
            case Event():
                self.events.append(item)
                if item.kind is EventKind.NOTE:
                    self._fault = item.detail
        if not isinstance(item, Event):
            self._last_message, self._fault = self._clock(), ""

    def _check(self) -> None:
        """Raise `ServiceLostError` if the service rejects the keys or the timeout is over."""
        rejection = self._subscriber.rejection
        if rejection != self._rejection:
            self._rejection = rejection
            if rejection:
                raise ServiceLostError(rejection)
        if self._timeout is not None and self.silence > self._timeout:
            self._last_message = self._clock()
            why = f": {self._fault}" if self._fault else ""
            raise ServiceLostError(f"no data from the service at {self.url} for {self._timeout:g} s{why}")

    def _request(self, request: Request) -> None:
        deadline = self._clock() + ANSWER_TIMEOUT
        # its health has the endpoint for requests
        while self.health is None:
            if self._closed or self._clock() > deadline:
                raise ServiceLostError(f"no data from the service at {self.url}: the request was not sent")
            if not self._receive(_POLL_INTERVAL):
                self._check()
        send_request(request, self.health, self.url, self._security)
