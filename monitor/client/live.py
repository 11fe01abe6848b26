"""`connect`: a running service's results in a Python program, in three lines."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from threading import Lock
from types import TracebackType
from typing import Self

from monitor.client.connection_state import ConnectionState, ServiceLostError, is_of
from monitor.client.rows import Row, RowReader
from monitor.messages.alarms import Alarm
from monitor.messages.blocks import Event, ResultBlock
from monitor.messages.health import Health
from monitor.messages.requests import AcknowledgeRequest, NoteRequest, Request, ResetRequest, ShelveRequest
from monitor.system.default_endpoints import RESULTS
from monitor.transport.zeromq.key_files import keys_of
from monitor.transport.zeromq.request_client import ANSWER_TIMEOUT, send_request
from monitor.transport.zeromq.results import MessageKind, Published, ResultSubscriber

_TICK = 0.1  # s of one wait, after which it is seen whether somebody closed
_PAUSE = 0.005  # s between two looks of an asynchronous loop


def connect(
    url: str = RESULTS,
    *,
    rig: str = "",
    kinds: Sequence[MessageKind] = ("results", "alarms", "event"),
    keys: str = "",
    timeout: float | None = 10.0,
    follow: bool = False,
) -> Live:
    """Subscribe to the service whose results are at `url`.

    Parameters
    ----------
    rig : let the results and signals of this rig through only; empty: of any.
    kinds : what is wanted: results, transfer, signals, alarms, event. Health always comes.
    keys : folder of keys, where the service asks for them.
    timeout : s without a word of the service after which iterating raises `ServiceLostError`; None: never. A service
        that waits for its rig does say so. Where the service lets nobody in with these keys, or without any, it is
        raised at once.
    follow : go on to the next run after the stream's last block, instead of ending.

    Raises
    ------
    TransportError : the endpoint is malformed.
    KeyFileError : the keys are missing or not safe.

    Examples
    --------
    >>> from monitor import connect
    >>> for row in connect("tcp://127.0.0.1:5556"):  # doctest: +SKIP
    ...     print(row.time, row["north"]["broadband_delay"])
    """
    return Live(url, rig, kinds, keys, timeout, follow)


class Live:
    """What a service publishes, as it comes; made by `connect`.

    Iterating, with ``for`` or ``async for``, gives every `Row` in order. It ends after the stream's last block, or
    when `close` is called, from whatever thread. A reader that is seconds late loses rows, and sees it in
    `Row.index`; the service and its other clients notice nothing.
    """

    def __init__(
        self, url: str, rig: str, kinds: Sequence[MessageKind], keys: str, timeout: float | None, follow: bool
    ) -> None:
        self._rig, self._follow = rig, follow
        self._security = keys_of(keys)
        # the rig is picked out here: until its first block a service speaks under no name
        wanted = tuple(dict.fromkeys((*kinds, "health")))
        self._subscriber = ResultSubscriber(url, kinds=wanted, security=self._security)
        self.url = url
        self._lock = Lock()
        self._waiting: deque[Published] = deque()
        self._reader = RowReader()
        self._rows: Iterator[Row] = iter(())
        self._newest: Row | None = None
        self._over = False
        self._hearing = ConnectionState(url, self._subscriber.endpoint, timeout)

    @property
    def health(self) -> Health | None:
        """How the service was when it last said so."""
        return self._hearing.health

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """All alarms, as they were told last."""
        return self._hearing.alarms

    @property
    def events(self) -> deque[Event]:
        """The newest events."""
        return self._hearing.events

    @property
    def silence(self) -> float:
        """Seconds since the service last said anything, or since the connection was made."""
        return self._hearing.silence

    def __iter__(self) -> Iterator[Row]:
        return self

    def __next__(self) -> Row:
        while (row := next(self._rows, None)) is None:
            item = self._next_item()
            if item is None:
                raise StopIteration
            self._open(item)
        return row

    def __aiter__(self) -> AsyncIterator[Row]:
        return self

    async def __anext__(self) -> Row:
        while (row := next(self._rows, None)) is None:
            while not self._waiting and not self._over and not self._receive(0.0):
                self._hearing.check()
                await asyncio.sleep(_PAUSE)
            item = self._taken()
            if item is None:
                raise StopAsyncIteration
            self._open(item)
        return row

    def blocks(self) -> Iterator[ResultBlock]:
        """Yield whole blocks, for who wants arrays: ``block.values`` is (n_rows, n_columns)."""
        return (item for item in self.items() if isinstance(item, ResultBlock) and len(item))

    def items(self) -> Iterator[Published]:
        """Yield everything that was asked for, in the order in which it came."""
        while (item := self._next_item()) is not None:
            yield item

    def newest(self) -> Row | None:
        """Return the newest row without waiting, and pass over those before it; None before the first."""
        while self._receive(0.0):
            pass
        blocks = [item for item in self._waiting if isinstance(item, ResultBlock) and len(item)]
        # whatever else came is known already, in `health`, `alarms` and `events`
        self._waiting.clear()
        if blocks:
            self._rows = iter(())
            self._newest = self._reader.row(blocks[-1], -1)
        return self._newest

    def note(self, text: str) -> None:
        """Put a line into the run, at the newest sample.

        Raises
        ------
        RequestError : the service refuses, or does not answer.
        ServiceLostError : there is no service to ask.
        ValueError : it is no line of text, or too long.
        """
        self._ask(NoteRequest(text=text))

    def acknowledge(self, alarm: str = "", by: str = "") -> None:
        """Take note of an alarm, or of all; `by` is who does. Raises as `note` does."""
        self._ask(AcknowledgeRequest(alarm=alarm, by=by))

    def reset(self, alarm: str = "", by: str = "") -> None:
        """Let a latched alarm go, or all, whose condition has gone. Raises as `note` does."""
        self._ask(ResetRequest(alarm=alarm, by=by))

    def shelve(self, alarm: str, seconds: float, by: str = "") -> None:
        """Put an alarm aside for so long; 0 takes it out again. Raises as `note` does."""
        self._ask(ShelveRequest(alarm=alarm, seconds=seconds, by=by))

    def close(self) -> None:
        """Leave: whoever iterates, here or in another thread, has come to the end. A second call does nothing."""
        self._over = True
        self._rows = iter(())
        self._waiting.clear()
        with self._lock:
            self._subscriber.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        # three lines have no room for a close
        with suppress(AttributeError):
            self.close()

    def _open(self, item: Published) -> None:
        if isinstance(item, ResultBlock):
            self._rows = self._reader.rows(item)

    def _next_item(self) -> Published | None:
        """Wait for the next; None when all is over."""
        while not self._waiting and not self._over:
            if not self._receive(_TICK):
                self._hearing.check()
        return self._taken()

    def _taken(self) -> Published | None:
        try:
            item = self._waiting.popleft()
        except IndexError:
            # closed, perhaps by another thread just now
            return None
        match item:
            case ResultBlock():
                ended = item.last
            case Health():
                ended = item.state == "ended"
            case _:
                ended = False
        if ended and not self._follow:
            self.close()
        return item

    def _receive(self, timeout: float) -> bool:
        """Take what has come; wait up to `timeout` s for the first. True if something came."""
        with self._lock:
            items = [] if self._over else self._subscriber.receive(timeout)
        for item in items:
            if is_of(self._rig, item):
                self._hearing.take(item)
                self._waiting.append(item)
        return bool(items)

    def _ask(self, request: Request) -> None:
        deadline = time.monotonic() + ANSWER_TIMEOUT
        while self.health is None:
            if self._over or time.monotonic() > deadline:
                raise ServiceLostError(f"no data from the service at {self.url}: there is nobody to ask")
            if not self._receive(_TICK):
                self._hearing.check()
        send_request(request, self.health, self.url, self._security)
