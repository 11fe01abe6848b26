"""The broker: whether it can be reached, knows the service, and takes and gives back a message."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator
from time import perf_counter

import aiomqtt

from monitor.commands.checks.check_result import CheckResult, fail, ok, warn
from monitor.config import MqttSettings
from monitor.transport.mqtt.connection import Connection, NoConnectionError, password, tls_context, url_of
from monitor.transport.mqtt.outbox import RigTopics

CHECK = "check"
"""The topic beside ``status`` and the others that the message goes by; nothing stays there."""

_BACK = 2.0  # s for the message to come back


def broker(settings: MqttSettings, rig: str) -> Iterator[CheckResult]:
    """Connect as the service does, under a name of its own, and send a message to a topic of the check."""
    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
        yield runner.run(_meet(settings, rig))


async def _meet(settings: MqttSettings, rig: str) -> CheckResult:
    name, topic = url_of(settings), RigTopics(settings.lab, rig).topic(CHECK)
    # of the same name the broker would end the connection of a service that runs
    identifier = f"synchroscope-check-{secrets.token_hex(4)}"
    secret, context = password(settings), tls_context(settings)
    connection = Connection(settings, identifier, secret, context, aiomqtt.Will(topic, b"", qos=0))
    began = perf_counter()
    try:
        await connection.open()
    except NoConnectionError as problem:
        if problem.refused:
            return fail("broker", f"{name}: {problem}")
        return warn("broker", f"{name}: {problem}; the service goes on without it, and tries again and again")
    met = f"{name}: connected in {1e3 * (perf_counter() - began):.0f} ms{_known(settings)}"
    try:
        trip = await _round_trip(connection, topic)
    except aiomqtt.MqttError as problem:
        return fail("broker", f"{met}, but it does not take messages under {topic}: {problem.__cause__ or problem}")
    finally:
        await connection.disconnect()
    if trip is None:
        return warn("broker", f"{met}; {topic} did not come back: the user may not write there, or not read")
    return ok("broker", f"{met}; {topic} there and back in {1e3 * trip:.1f} ms")


async def _round_trip(connection: Connection, topic: str) -> float | None:
    """Return the s after which a message is back; None where it does not come."""
    granted = await connection.subscribe(topic, qos=1)
    readable = not any(getattr(code, "is_failure", False) for code in granted)
    word = secrets.token_hex(8).encode()
    began = perf_counter()
    await connection.publish(topic, word, qos=1)
    if not readable:
        return None
    try:
        async with asyncio.timeout(_BACK):
            async for message in connection.messages:
                if message.payload == word:
                    return perf_counter() - began
    except TimeoutError:
        pass
    return None


def _known(settings: MqttSettings) -> str:
    ways = ["by TLS"] if settings.encrypted else ["unencrypted"]
    if settings.certificate:
        ways.append("with a certificate")
    if settings.username:
        ways.append(f"as {settings.username}")
    return f" {', '.join(ways)}"
