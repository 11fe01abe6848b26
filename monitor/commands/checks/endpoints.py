"""The endpoints: keys of the service and of its clients, and whether all that is bound can be had."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Protocol

from monitor.commands.checks.check_result import CheckResult, fail, found, ok, warn
from monitor.commands.security import Guard, unencrypted_rigs
from monitor.config import Settings
from monitor.transport.zeromq.allow_list import AllowList
from monitor.transport.zeromq.endpoint import is_local
from monitor.transport.zeromq.key_files import (
    CLIENTS,
    HAND_OVER,
    PUBLIC,
    SECRET,
    SERVICE,
    read_public,
    service_keys,
)


def keys(settings: Settings) -> Iterator[CheckResult]:
    """Read the service's keys and the list of its clients as the service does."""
    security = settings.security
    folder = Path(security.keys)
    own = service_keys(folder, Path(security.rig_key) if security.rig_key else None)
    public = folder / f"{SERVICE}{PUBLIC}"
    if read_public(public) != own.public:
        yield fail("keys", f"{public} does not belong to {SERVICE}{SECRET}: clients that have it are not let in")
    problems: list[str] = []
    names = AllowList(folder / CLIENTS, report=problems.append).names
    yield from (fail("keys", problem) for problem in problems)
    if names:
        yield ok("keys", f"{folder}: let in are {', '.join(sorted(names.values()))}")
    elif not problems:
        yield warn("keys", f"{folder}: nobody is let in; `synchroscope keys {folder} --client NAME` lets somebody in")
    if plain := unencrypted_rigs(settings):
        yield warn("keys", plain)
    left = sorted(path.name for path in (folder / HAND_OVER).glob("*/") if any(path.glob(f"*{SECRET}")))
    if left:
        yield warn("keys", f"{folder / HAND_OVER}: hand over the secret keys of {', '.join(left)}, then delete them")


def no_keys(settings: Settings) -> Iterator[CheckResult]:
    """Say what is open without keys."""
    results = settings.results
    asked = [] if results.requests in ("", "none") else [results.requests]
    feeds = [settings.viewers.plotjuggler] if settings.viewers.plotjuggler else []
    reachable = [url for url in (*settings.stream.bind, results.publish, *asked, *feeds) if not is_local(url)]
    if reachable:
        yield warn("keys", f"none: everybody in the network can reach {', '.join(reachable)}")
    else:
        yield ok("keys", "none are needed: only programs on this machine can reach the service")


class _Bound(Protocol):
    def close(self) -> None: ...


def outlets(settings: Settings, insecure: bool, guard: Guard, stack: ExitStack) -> Iterator[CheckResult]:
    """Bind what the service binds, until `stack` is closed: two that want one port are seen, too."""
    from monitor.transport.plotjuggler import PlotJugglerSink
    from monitor.transport.prometheus import PrometheusSink
    from monitor.transport.zeromq.request_server import ZmqRequestServer
    from monitor.transport.zeromq.results import ResultPublisher

    def results(url: str) -> _Bound:
        return ResultPublisher(url, insecure=insecure, security=guard.keys, context=guard.context)

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
