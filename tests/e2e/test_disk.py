"""What the operator sees when the run file goes, and when the disk hangs, while the real command records."""

from __future__ import annotations

import sys
from time import monotonic

import pytest

from monitor.messages.blocks import EventKind
from monitor.messages.health import Health
from monitor.recording import RunReader
from monitor.transport.zeromq.results import ResultSubscriber
from tests.e2e.conftest import ANY_PORT, PATIENCE
from tests.e2e.hanging_disk import hanging_disk


@pytest.mark.skipif(sys.platform == "win32", reason="there, an open file cannot be removed")
def test_a_run_file_that_is_removed_is_told_and_the_run_goes_on_in_another(start, tmp_path):
    folder = tmp_path / "runs"
    monitor = start("monitor", "--bind", ANY_PORT, "--publish", ANY_PORT, "--record", f"{folder}/")
    client = ResultSubscriber(monitor.results, kinds=("health",))
    rig = start("replay", "hybrid", "--connect", monitor.listening)

    def health_where(condition) -> Health:
        deadline = monotonic() + PATIENCE
        while monotonic() < deadline:
            for health in client.receive(0.1):
                if isinstance(health, Health) and condition(health):
                    return health
        raise AssertionError(monitor.err)

    try:
        health_where(lambda health: health.recorded > 0)
        for path in folder.glob("*.h5"):
            path.unlink()
        broken = health_where(lambda health: health.recording_breaks == 1 and health.recorded > 0)
        assert broken.unrecorded > 0
    finally:
        client.close()
    monitor.until(r"was removed: \d+ samples that were in it are lost")
    monitor.until("the recording continues in")
    monitor.until(r"alarm: recording\.trip")
    monitor.stop(code=1)
    rig.kill()
    assert f"{broken.unrecorded} samples were not recorded" in monitor.err
    (path,) = folder.glob("*.h5")
    with RunReader(path) as run:
        assert run.outcome == "lossy"
        assert run.n_samples >= broken.recorded
        notes = [event.detail for event in run.events() if event.kind is EventKind.NOTE]
        assert any("was removed" in note for note in notes)


@pytest.mark.parametrize("once", [False, True])
def test_a_stop_does_not_wait_for_a_disk_that_hangs(start, tmp_path, once):
    words = ["monitor", "--bind", ANY_PORT, "--publish", ANY_PORT, "--record", tmp_path / "run.h5"]
    environment = hanging_disk(tmp_path / "hanging")
    service = start(*words, *(["--once"] if once else []), **environment)
    client = ResultSubscriber(service.results, kinds=("health",))
    rig = start("replay", "hybrid", "--connect", service.listening, *(["--speed", "max"] if once else []))
    # one that ends by itself waits, and says for what
    service.until("samples wait to be stored in" if once else r"alarm: recording\.warn")
    if not once:
        heard = [item.counts.received for item in client.receive(1.0) if isinstance(item, Health)]
        while len(heard) < 5:
            heard += [item.counts.received for item in client.receive(1.0) if isinstance(item, Health)]
        # the stream goes on meanwhile
        assert heard[-1] > heard[-2] > heard[-3]
    client.close()
    service.stop(code=1)
    rig.wait() if once else rig.kill()
    assert "the disk does not respond and the file is not closed" in service.err
    assert "samples were not recorded" in service.err
    assert "Traceback" not in service.err
