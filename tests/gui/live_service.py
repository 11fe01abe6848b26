"""A rig that moves when the test says so, and a service of its own in a thread, over real sockets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Event, Thread
from time import monotonic, sleep

import numpy as np

from monitor.alarms.monitor import AlarmMonitor
from monitor.config import AlarmSettings, IndicatorSettings
from monitor.engine.monitor import Monitor
from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from monitor.messages.health import RecordingStatus
from monitor.recording import RunWriter
from monitor.service.service import Service
from monitor.transport.zeromq.requests import ZmqRequestServer
from monitor.transport.zeromq.results import ResultPublisher
from monitor.transport.zeromq.signals import SignalPublisher, SignalSubscriber

RATE = 200.0
FREQUENCY = 4.0
DELAY = {"north": 0.010, "south": 0.025}
"""s that each actuator is late; its amplitude is right."""
WINDOW = 1.0
ANY_PORT = "tcp://127.0.0.1:*"
_BLOCK = 20
_TIMEOUT = 60.0


def channels_of(actuators: Sequence[str]) -> tuple[Channel, ...]:
    return tuple(
        Channel(f"{name}.{role.value}", role, "mm", name)
        for name in actuators
        for role in (Role.COMMAND, Role.MEASURED)
    )


def samples_of(actuators: Sequence[str], index: np.ndarray, delay: Mapping[str, float] = DELAY) -> np.ndarray:
    """Return what the channels are at these samples: command and measured of each actuator in turn."""
    time = index / RATE
    late = [shift for name in actuators for shift in (0.0, delay[name])]
    return np.column_stack([10.0 * np.sin(2.0 * np.pi * FREQUENCY * (time - shift)) for shift in late])


class Rig:
    """Sines that begin where a test wants them."""

    def __init__(self, actuators: Sequence[str] = ("north", "south"), epoch: int = 1) -> None:
        self.publisher = SignalPublisher(ANY_PORT)
        self.delay = dict(DELAY)
        self.restart(actuators, epoch)

    def restart(self, actuators: Sequence[str], epoch: int) -> None:
        """Begin again at sample 0, with these actuators."""
        self.actuators = tuple(actuators)
        self.stream = Stream("rig", epoch, RATE, channels_of(actuators))
        self.sent = 0

    def move(self, seconds: float, invalid: bool = False) -> None:
        """Send the next `seconds`; `invalid`: the transducers of the first actuator are dead meanwhile."""
        assert self.publisher.wait_for_subscriber(_TIMEOUT)
        stop = self.sent + round(seconds * RATE)
        while self.sent < stop:
            index = np.arange(self.sent, min(self.sent + _BLOCK, stop))
            samples = samples_of(self.actuators, index, self.delay)
            if invalid:
                samples[:, 1] = np.nan
            self.publisher.send(SignalBlock(self.stream, self.sent, self.sent / RATE, samples))
            self.sent += len(index)

    def close(self) -> None:
        self.publisher.close(linger=0.0)


class LiveService:
    """What `synchroscope monitor` does, in a thread; begun again at its old address, it is another one."""

    def __init__(
        self, rig: Rig, record: Path | None = None, publish: str = ANY_PORT, alarms: AlarmSettings | None = None
    ) -> None:
        self.url = publish
        self.alarms = alarms
        self.record = record
        self._rig = rig
        self._stop = Event()
        self._thread = Thread()
        self.start()

    def start(self) -> None:
        self._stop.clear()
        stack = ExitStack()
        source = SignalSubscriber((self._rig.publisher.endpoint,))
        stack.callback(source.close)
        sink = ResultPublisher(self.url)
        stack.callback(sink.close, linger=0.0)
        request_server = ZmqRequestServer(ANY_PORT)
        stack.callback(request_server.close)
        recorders, recording = [], RecordingStatus
        if self.record is not None:
            writer = RunWriter(self.record, {}, flush_interval=0.05)
            stack.callback(writer.close)
            recorders.append(writer)
            recording = lambda: RecordingStatus(str(writer.path), writer.recorded, writer.unrecorded, 1 << 40)  # noqa: E731
        self.url = sink.endpoint
        service = Service(
            source,
            Monitor(IndicatorSettings(window=WINDOW)),
            [sink],
            recorders=recorders,
            alarms=AlarmMonitor(self.alarms),
            recording=recording,
            request_servers=(request_server,),
        )

        def serve() -> None:
            with stack:
                service.run(self._stop.is_set)

        self._thread = Thread(target=serve, name="service")
        self._thread.start()

    def die(self) -> None:
        self._stop.set()
        self._thread.join(_TIMEOUT)
        assert not self._thread.is_alive()
        # a rig that moves on before the publisher has noticed would speak to nobody
        deadline = monotonic() + _TIMEOUT
        while self._rig.publisher.subscribed and monotonic() < deadline:
            sleep(0.01)
