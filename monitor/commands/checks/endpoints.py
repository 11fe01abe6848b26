"""Checks of the endpoints: CURVE keys, whether sockets can be bound, and the MQTT broker."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Protocol

from monitor.commands.checks import CheckLevel, CheckResult, checked, fail, ok, warn
from monitor.commands.security import Guard, unencrypted_rigs
from monitor.config import MqttSettings, Settings
from monitor.transport.zeromq.allow_list import AllowList
from monitor.transport.zeromq.endpoint import is_local
from monitor.transport.zeromq.key_files import CLIENTS, HAND_OVER, PUBLIC, SECRET, SERVICE, read_public, service_keys

if TYPE_CHECKING:
    from monitor.transport.mqtt.connection import MqttConnection


def keys(settings: Settings) -> Iterator[CheckResult]:
    """Read the service's keys and the list of its clients, as the service does."""
    security = settings.security
    folder = Path(security.keys)
    own = service_keys(folder, Path(security.rig_key) if security.rig_key else None)
    public = folder / f"{SERVICE}{PUBLIC}"
    if read_public(public) != own.public:
        yield fail("keys", f"{public} does not match {SERVICE}{SECRET}: clients that use it are rejected")
    problems: list[str] = []
    names = AllowList(folder / CLIENTS, report=problems.append).names
    yield from (fail("keys", problem) for problem in problems)
    if names:
        yield ok("keys", f"{folder}: admitted: {', '.join(sorted(names.values()))}")
    elif not problems:
        yield warn("keys", f"{folder}: no client is admitted; add one with: synchroscope keys {folder} --client NAME")
    if unencrypted := unencrypted_rigs(settings):
        yield warn("keys", unencrypted)
    secrets_left = sorted(path.name for path in (folder / HAND_OVER).glob("*/") if any(path.glob(f"*{SECRET}")))
    if secrets_left:
        yield warn(
            "keys", f"{folder / HAND_OVER}: transfer the secret keys of {', '.join(secrets_left)}, then delete them"
        )


def no_keys(settings: Settings) -> Iterator[CheckResult]:
    """Check which endpoints other machines can reach without keys."""
    results = settings.results
    requests = [] if results.requests in ("", "none") else [results.requests]
    viewers = settings.viewers
    feeds = [viewers.plotjuggler] * bool(viewers.plotjuggler) + [f"lsl://{viewers.lsl}"] * bool(viewers.lsl)
    reachable = [url for url in (*settings.stream.bind, results.publish, *requests, *feeds) if not is_local(url)]
    if reachable:
        yield warn("keys", f"none: every machine in the network can reach {', '.join(reachable)}")
    else:
        yield ok("keys", "not needed: only programs on this machine can reach the service")


class _Closable(Protocol):
    def close(self) -> None: ...


def sockets(settings: Settings, insecure: bool, guard: Guard, stack: ExitStack) -> Iterator[CheckResult]:
    """Bind the sockets of the service until `stack` is closed, so that two on one port are found."""
    from monitor.transport.plotjuggler import PlotJugglerSink
    from monitor.transport.prometheus import PrometheusSink
    from monitor.transport.zeromq.requests import ZmqRequestServer
    from monitor.transport.zeromq.results import ResultPublisher

    def results(url: str) -> _Closable:
        return ResultPublisher(url, insecure=insecure, security=guard.keys, context=guard.context)

    def requests(url: str) -> _Closable:
        return ZmqRequestServer(url, insecure=insecure, security=guard.keys, context=guard.context)

    request_url = settings.results.requests
    wanted: tuple[tuple[str, str, Callable[[str], _Closable]], ...] = (
        ("results", settings.results.publish, results),
        ("requests", "" if request_url == "none" else request_url, requests),
        ("plotjuggler", settings.viewers.plotjuggler, partial(PlotJugglerSink, insecure=insecure)),
        ("prometheus", settings.viewers.prometheus, partial(PrometheusSink, insecure=insecure)),
    )
    for subject, endpoint, bind in wanted:
        if endpoint:
            yield from checked(subject, partial(_bind, subject, endpoint, bind, stack))
    if settings.viewers.lsl:
        yield from checked("lsl", partial(_publish_lsl, settings.viewers.lsl, insecure))


def _bind(subject: str, endpoint: str, bind: Callable[[str], _Closable], stack: ExitStack) -> Iterator[CheckResult]:
    stack.callback(bind(endpoint).close)
    yield ok(subject, f"{endpoint} can be bound")


def _publish_lsl(name: str, insecure: bool) -> Iterator[CheckResult]:
    from monitor.transport.lsl.sink import LslSink

    LslSink(name, insecure=insecure).close()
    yield ok("lsl", f"results can be published as the LSL stream {name}")


_ROUND_TRIP_TIMEOUT = 2.0  # s


def broker(settings: MqttSettings, rig: str) -> Iterator[CheckResult]:
    """Connect as the service does, with its own client identifier, and send test messages."""
    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
        yield from runner.run(_check_broker(settings, rig))


async def _check_broker(settings: MqttSettings, rig: str) -> list[CheckResult]:
    import aiomqtt

    from monitor.transport.mqtt.connection import (
        CLOSED,
        MqttConnection,
        NoConnectionError,
        advice,
        url_of,
        write_refusal,
    )
    from monitor.transport.mqtt.credentials import password, tls_context
    from monitor.transport.mqtt.discovery import check_topic
    from monitor.transport.mqtt.outbox import CHECK, RigTopics

    rig_topics = RigTopics(settings.lab, rig, settings.plain_topics)
    name, topics = url_of(settings), [rig_topics.topic(CHECK)]
    if settings.discovery:
        topics.append(check_topic(settings.discovery_prefix, rig_topics))
    # with the same identifier the broker would disconnect a running service
    identifier = f"synchroscope-check-{secrets.token_hex(4)}"
    secret, context = password(settings), tls_context(settings)
    connection = MqttConnection(settings, identifier, secret, context, None)
    started = perf_counter()
    try:
        await connection.open()
    except NoConnectionError as problem:
        if problem.refused:
            return [fail("broker", f"{name}: {problem}")]
        return [warn("broker", f"{name}: {problem}; the service runs without it, and retries")]
    connected = f"{name}: connected in {1e3 * (perf_counter() - started):.0f} ms{_connection_text(settings)}"
    results = []
    try:
        for topic in topics:
            if refusal := await write_refusal(settings, secret, context, topic):
                why = f"refuses messages to {topic}: {refusal}; {advice(topic, refusal)}"
                results.append(fail("broker", f"{connected}, but it {why}"))
            else:
                results.append(await _round_trip_result(connection, topic, connected))
        dotted = f"{topics[0]}/{rig_topics.alarm('a.b')}"
        plain = settings.plain_topics or results[0].level is CheckLevel.FAIL
        if not plain and await write_refusal(settings, secret, context, dotted) == CLOSED:
            why = f"refuses messages to {dotted}: {CLOSED}; {advice(dotted, CLOSED)}"
            results.append(fail("broker", f"{connected}, but it {why}"))
    except aiomqtt.MqttError as problem:
        return [*results, fail("broker", f"{connected}, but the connection is lost: {problem.__cause__ or problem}")]
    finally:
        await connection.disconnect()
    return results


async def _round_trip_result(connection: MqttConnection, topic: str, connected: str) -> CheckResult:
    trip = await _round_trip(connection, topic)
    if trip is None:
        return warn("broker", f"{connected}; {topic} was not received: the user may not write or read it")
    return ok("broker", f"{connected}; round trip of {topic} {1e3 * trip:.1f} ms")


async def _round_trip(connection: MqttConnection, topic: str) -> float | None:
    """Return the round trip time of an empty message, s; None if it is not received."""
    granted = await connection.subscribe(topic, qos=1)
    readable = not any(getattr(code, "is_failure", False) for code in granted)
    started = perf_counter()
    # to Home Assistant an empty one is the removal of a sensor that does not exist
    await connection.publish(topic, b"", qos=1)
    if not readable:
        return None
    try:
        async with asyncio.timeout(_ROUND_TRIP_TIMEOUT):
            async for message in connection.messages:
                if str(message.topic) == topic and not message.payload:
                    return perf_counter() - started
    except TimeoutError:
        pass
    return None


def _connection_text(settings: MqttSettings) -> str:
    parts = ["with TLS"] if settings.encrypted else ["unencrypted"]
    if settings.certificate:
        parts.append("with a certificate")
    if settings.username:
        parts.append(f"as {settings.username}")
    return f" {', '.join(parts)}"
