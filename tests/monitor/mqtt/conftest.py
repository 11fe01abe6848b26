"""A broker in this process, clients of it, and values to tell it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from amqtt.broker import Broker

from monitor.config import MqttSettings
from monitor.messages.alarms import Alarm, AlarmAction, AlarmReport, AlarmState, Severity, Transition
from monitor.messages.blocks import Column, ResultBlock, ResultStream
from monitor.transport.mqtt import MqttSink
from monitor.transport.rate_limit import Backoff
from tests.monitor.mqtt.watcher import Watcher


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


class Amqtt:
    """amqtt on a port of its own; stopped and started again it has forgotten everything."""

    def __init__(self) -> None:
        self.port = free_port()
        self._thread: threading.Thread | None = None
        self.start()

    def start(self) -> None:
        ready = threading.Event()
        self._over = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(ready)))
        self._thread.start()
        assert ready.wait(30.0)

    def stop(self) -> None:
        if self._thread is not None:
            self._over.set()
            self._thread.join(30.0)
            assert not self._thread.is_alive()
            self._thread = None

    async def _serve(self, ready: threading.Event) -> None:
        listener = {"type": "tcp", "bind": f"127.0.0.1:{self.port}"}
        plugins = {"amqtt.plugins.authentication.AnonymousAuthPlugin": {"allow_anonymous": True}}
        broker = Broker({"listeners": {"default": listener}, "plugins": plugins})
        await broker.start()
        ready.set()
        while not self._over.is_set():
            await asyncio.sleep(0.01)
        # now and then amqtt waits for ever for what it has just sent to be acknowledged, or leaves a socket open
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(broker.shutdown(), 2.0)
        for transport in tuple(asyncio.get_running_loop()._transports.values()):
            transport.abort()
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)


@pytest.fixture
def broker() -> Iterator[Amqtt]:
    one = Amqtt()
    yield one
    one.stop()


@pytest.fixture
def watch() -> Iterator[Callable[..., Watcher]]:
    """Open clients that are closed at the end."""
    opened: list[Watcher] = []

    def run(*given, **more) -> Watcher:
        opened.append(Watcher(*given, **more))
        return opened[-1]

    yield run
    for one in opened:
        one.close()


@pytest.fixture
def tell() -> Iterator[Callable[..., MqttSink]]:
    """Open sinks that are closed at the end."""
    opened: list[MqttSink] = []

    def run(port: int, rig: str = "rig", backoff: Backoff | None = None, **settings) -> MqttSink:
        given = MqttSettings(host="127.0.0.1", port=port, **settings)
        opened.append(MqttSink(given, rig, backoff=backoff or Backoff(0.05, 0.2)))
        return opened[-1]

    yield run
    for one in opened:
        one.close(0.5)


COLUMNS = (
    Column("fdb_delay", "s", "north"),
    Column("fdb_ratio", "1", "north"),
    Column("fdb_delay_sd", "s", "north"),
    Column("fdb_delay", "s", "south"),
    Column("model_low", "m", "beam"),
    Column("reliability_accumulated", "1", "beam"),
)
STREAM = ResultStream("rig", 7, 100.0, 2, COLUMNS)


def rows(first: int, values: list[list[float]], last: bool = False, stream: ResultStream = STREAM) -> ResultBlock:
    return ResultBlock(stream, first, first / stream.sample_rate, np.array(values, dtype=float), last)


ALARM = Alarm("north.fdb_delay.trip", "fdb_delay", "north", "s", Severity.TRIP, high=0.02)


def transition(number: int, alarm: Alarm = ALARM) -> Transition:
    """Return the numbered step of an alarm that comes and goes."""
    occurs = number % 2 == 1
    action = AlarmAction.OCCUR if occurs else AlarmAction.RETURN_TO_NORMAL
    states = (AlarmState.NORMAL, AlarmState.UNACKNOWLEDGED)
    return Transition(
        number,
        alarm.name,
        alarm.severity,
        action,
        states[not occurs],
        states[occurs],
        0.1 * number,
        10 * number,
        0.03,
    )


def report(*transitions: Transition, alarms: tuple[Alarm, ...] = (ALARM,)) -> AlarmReport:
    return AlarmReport(alarms, transitions)
