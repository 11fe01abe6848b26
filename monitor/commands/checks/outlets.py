"""What the service binds: whether each endpoint can be had, all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Protocol

from monitor.commands.checks.check_result import CheckResult, found, ok
from monitor.commands.security import Guard
from monitor.config import Settings


class _Bound(Protocol):
    def close(self) -> None: ...


def outlets(settings: Settings, insecure: bool, guard: Guard, stack: ExitStack) -> Iterator[CheckResult]:
    """Bind what the service binds, until `stack` is closed: two that want one port are seen, too."""
    from monitor.transport.viewers.plotjuggler import PlotJugglerSink
    from monitor.transport.viewers.prometheus import PrometheusSink
    from monitor.transport.zeromq.request_server import ZmqRequestServer
    from monitor.transport.zeromq.results import ZmqResultSink

    def results(url: str) -> _Bound:
        return ZmqResultSink(url, insecure=insecure, security=guard.keys, context=guard.context)

    def requests(url: str) -> _Bound:
        return ZmqRequestServer(url, insecure=insecure, security=guard.keys, context=guard.context)

    asked = settings.results.requests
    wanted: tuple[tuple[str, str, Callable[[str], _Bound]], ...] = (
        ("results", settings.results.publish, results),
        ("requests", "" if asked == "none" else asked, requests),
        ("plotjuggler", settings.viewers.plotjuggler, partial(PlotJugglerSink, insecure=insecure)),
        ("prometheus", settings.viewers.prometheus, partial(PrometheusSink, insecure=insecure)),
    )
    for subject, place, bind in wanted:
        if place:
            yield from found(subject, partial(_bound, subject, place, bind, stack))


def _bound(subject: str, place: str, bind: Callable[[str], _Bound], stack: ExitStack) -> Iterator[CheckResult]:
    stack.callback(bind(place).close)
    yield ok(subject, f"{place} can be bound")
