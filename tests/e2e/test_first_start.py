"""A service that has no kernels: it records at once, says what it does not judge and why, and ends when told to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from monitor import Rig, connect
from monitor.messages.alarms import AlarmState
from monitor.messages.reasons import Reason
from monitor.recording import RunReader
from tests.e2e.conftest import ANY_PORT, Start

RATE, ROWS, ENOUGH = 1000.0, 100, 300


@pytest.mark.parametrize("cacheable", [True, False])
def test_it_records_from_the_first_sample_and_judges_nothing(start: Start, tmp_path: Path, cacheable: bool) -> None:
    kernels, run = tmp_path / "kernels", tmp_path / "run.h5"
    if not cacheable:
        # nothing can be written into a file: the service compiles in a thread
        kernels.write_text("")
    words = ("--bind", ANY_PORT, "--publish", ANY_PORT, "--record", run, "--alarm", "delay=0.02:0.05")
    service = start("monitor", *words, NUMBA_CACHE_DIR=str(kernels))
    channels = ["a.command [mm]", "a.measured [mm]"]
    rig = Rig(service.listening, channels=channels, sample_rate=RATE, connect=True)
    sent, judged = 0, []
    assert rig.wait_for_subscriber(60.0)
    with rig, connect(service.results, timeout=60.0) as connection:
        for _ in connection.items():
            health = connection.health
            # another block only once the one before is on the disk: no clock is needed
            if health is not None and health.recorded == sent:
                if sent >= ENOUGH:
                    break
                motion = np.sin(0.03 * (sent + np.arange(float(ROWS))))
                rig.send(np.column_stack([motion, 0.9 * motion]))
                sent += ROWS
            judged += [alarm for alarm in connection.alarms if alarm.value == "delay"]
        assert health is not None and "broadband" in health.compilation.measures and health.compilation.share < 1.0
    service.stop()
    assert {(alarm.state, alarm.not_judged) for alarm in judged} == {
        (AlarmState.NOT_JUDGED, "broadband, fdb, paei, paei_adaptive being compiled")
    }
    with RunReader(run) as recorded:
        assert recorded.n_samples == sent
        assert recorded.result_stream is not None
        names = [each.name for each in recorded.result_stream.columns]
        values = recorded.results()[3]
    assert len(values) and (values[:, names.index("broadband_reason")] == Reason.COMPILING).all()
