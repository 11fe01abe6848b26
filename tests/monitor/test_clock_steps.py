"""The wall clock is set back and forth while a service works: nothing that it computes, counts or records notices."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from monitor.alarms.monitor import AlarmMonitor
from monitor.config import AlarmSettings, IndicatorSettings
from monitor.engine.monitor import Monitor
from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from monitor.messages.health import RecordingStatus
from monitor.recording import RunReader, RunWriter
from monitor.service.service import Service
from monitor.transport.zeromq.signals import SignalPublisher, SignalSubscriber
from tests.monitor.in_memory import MemorySink

pytestmark = pytest.mark.usefixtures("warm_kernels")
RATE, ROWS, BLOCKS = 1000.0, 50, 60
STREAM = Stream("rig", 1, RATE, (Channel("c", Role.COMMAND, "m", "a"), Channel("m", Role.MEASURED, "m", "a")))
STEPS = (3600.0, -3600.0, 3.2e8, -3.2e8, 0.0)


def block(number: int) -> SignalBlock:
    angle = 0.03 * (ROWS * number + np.arange(float(ROWS)))
    return SignalBlock(
        STREAM,
        ROWS * number,
        ROWS * number / RATE,
        np.column_stack([np.sin(angle), np.sin(angle - 0.1)]),
        number == BLOCKS - 1,
    )


def watched(path: Path) -> MemorySink:
    """Return what a service says of the blocks, sent over a socket."""
    publisher = SignalPublisher("tcp://127.0.0.1:*")
    source, sink = SignalSubscriber((publisher.endpoint,)), MemorySink()
    writer = RunWriter(path, {}, flush_interval=0.05)
    service = Service(
        source,
        Monitor(IndicatorSettings(window=0.5)),
        [sink, writer],
        alarms=AlarmMonitor(AlarmSettings()),
        recording=lambda: RecordingStatus(
            str(path), writer.recorded, writer.unrecorded, 1 << 40, writer.unwritten_age
        ),
    )
    assert publisher.wait_for_subscriber(10.0)
    sent = 0

    def send_one() -> bool:
        nonlocal sent
        if sent < BLOCKS:
            publisher.send(block(sent))
            sent += 1
        return False

    service.run(send_one, once=True)
    writer.close()
    source.close()
    publisher.close(0.0)
    return sink


def test_nothing_notices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calm = watched(tmp_path / "calm.h5")
    real, calls = time.time, iter(range(1 << 30))
    monkeypatch.setattr(time, "time", lambda: real() + STEPS[next(calls) % len(STEPS)])
    stepped = watched(tmp_path / "stepped.h5")
    assert [replace(e, detail="") for e in stepped.events_seen] == [replace(e, detail="") for e in calm.events_seen]
    values = [np.concatenate([r.values for r in sink.results_seen]).tobytes() for sink in (calm, stepped)]
    assert values[0] == values[1]
    for health in stepped.health_seen:
        assert 0.0 <= health.age < 60.0 and 0.0 <= health.latency < 60.0 and 0.0 <= health.unwritten_age < 60.0
    assert not [alarm for report in stepped.alarms_seen for alarm in report.alarms if alarm.active]
    with RunReader(tmp_path / "stepped.h5") as reader:
        assert reader.n_samples == ROWS * BLOCKS
        times = np.concatenate([rows.time for _, rows in reader.numbering()])
    np.testing.assert_allclose(times, np.arange(ROWS * BLOCKS) / RATE, atol=1e-12)
