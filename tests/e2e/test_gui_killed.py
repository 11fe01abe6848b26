"""The service of a rig is the rig's: a window that is killed takes nothing from the recording."""

from __future__ import annotations

import os
import signal

from monitor.messages.health import Health
from monitor.recording import RunReader
from monitor.transport.zeromq.results import ResultSubscriber
from tests.e2e.desktop import until

ANY_PORT = "tcp://127.0.0.1:*"


def test_the_service_of_a_killed_window_goes_on_and_is_watched_by_the_next(desktop, start, tmp_path):
    folder = tmp_path / "runs"
    rig = start("replay", "hybrid", "--bind", ANY_PORT, "--duration", 300)
    window = desktop.open("gui", "--serve", rig.publishing, "--record", f"{folder}/")
    (results,) = desktop.served()
    service = desktop.process("monitor")
    desktop.lives()
    window.kill()

    # two looks that it has taken after the death of the window
    seen = [recorded_at(results), recorded_at(results)]
    until(lambda: recorded_at(results) > seen[-1] > 0, "more samples on the disk")
    assert (desktop.processes("gui"), desktop.processes("monitor")) == ([], [service])

    again = desktop.open("gui", "--connect", results)
    desktop.titled(f"{results} - Synchroscope")
    desktop.lives()
    desktop.press("ctrl+q")
    again.wait()
    assert again.err == ""
    assert (desktop.processes("gui"), desktop.processes("monitor")) == ([], [service])

    os.kill(service, signal.SIGTERM)
    assert desktop.deserted()
    rig.kill()
    (kept,) = folder.glob("*.h5")
    with RunReader(kept) as run:
        assert run.outcome == "clean"
        assert run.n_samples > seen[-1]


def recorded_at(results: str) -> int:
    """Return how many samples a service says are on its disk."""
    subscriber = ResultSubscriber(results, kinds=("health",))
    try:
        looks = until(
            lambda: [item for item in subscriber.receive(0.1) if isinstance(item, Health)], f"health of {results}"
        )
    finally:
        subscriber.close()
    return int(looks[-1].recorded)
