"""All processes of a service are stopped for a while, as where a laptop sleeps: it says so, and nothing is lost."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from time import monotonic, sleep

import numpy as np

from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from monitor.recording import RunReader
from monitor.transport.zeromq.signals import SignalPublisher
from tests.e2e.running import ANY_PORT, family

RATE, ROWS = 1000.0, 10
CHANNELS = Channel("c", Role.COMMAND, "m", "a"), Channel("m", Role.MEASURED, "m", "a")
PAUSE, BEFORE, AFTER = 4.0, 1.5, 1.5


def test_a_pause_is_told_as_that_and_loses_nothing(start, tmp_path: Path) -> None:
    rig = SignalPublisher(ANY_PORT)
    path = tmp_path / "run.h5"
    words = ("monitor", "--connect", rig.endpoint, "--publish", ANY_PORT, "--measures", "nrmse", "--record", path)
    service = start(*words, "--once")
    assert service.listening and rig.wait_for_subscriber(30.0)
    stream, index, began = Stream("rig", 1, RATE, CHANNELS), 0, monotonic()
    steps = [(BEFORE, signal.SIGSTOP), (BEFORE + PAUSE, signal.SIGCONT)]
    while (now := monotonic() - began) < BEFORE + PAUSE + AFTER:
        if steps and now >= steps[0][0]:
            for pid in family(service.process.pid):
                os.kill(pid, steps[0][1])
            del steps[0]
        while index < now * RATE:
            count = np.arange(index, index + ROWS, dtype=float)
            rig.send(SignalBlock(stream, index, index / RATE, np.column_stack((np.sin(count), count))))
            index += ROWS
        sleep(0.005)
    rig.send(SignalBlock(stream, index, index / RATE, np.empty((0, 2)), last=True))
    service.wait()
    rig.close()
    said = service.err
    assert f"{index} samples received, 0 lost, 0 duplicate, 0 late, 0 messages rejected, 0 restarts" in said
    [pause] = re.findall(r"this program was paused for ([0-9.]+) s", said)
    assert PAUSE - 0.5 < float(pause) < PAUSE + 5.0
    assert "started again" not in said and "disconnected" not in said
    with RunReader(path) as run:
        assert run.n_samples == index
