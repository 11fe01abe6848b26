"""The window on a service that runs: watched, steered by keys, and still there when the service is not."""

from __future__ import annotations

import signal

import numpy as np
import pytest

from monitor.messages.blocks import EventKind
from monitor.recording import RunReader
from tests.e2e.desktop import until

ANY_PORT = "tcp://127.0.0.1:*"


def notes(path) -> list[str]:
    with RunReader(path) as run:
        return [event.detail for event in run.events() if event.kind is EventKind.NOTE]


def test_a_live_test_is_watched_paused_noted_and_survives_its_service(desktop, start, record, tmp_path):
    first, second = tmp_path / "first.h5", tmp_path / "second.h5"
    rig = start("replay", "hybrid", "--bind", ANY_PORT, "--duration", 300, "--speed", 1)
    service = start("monitor", "--connect", rig.publishing, "--publish", ANY_PORT, "--record", first)
    results = service.results
    window = desktop.open("gui", "--connect", results)
    desktop.titled(f"{results} - Synchroscope")
    service.until("the stream starts")
    desktop.lives()
    assert len(np.unique(desktop.screen.picture())) > 50

    desktop.press("space")
    desktop.stands()
    desktop.moves("Home")
    desktop.lives()
    assert desktop.writes("oil is warm", service)
    # what is not on the disk yet would be lost
    until(lambda: notes(first) == ["oil is warm"], "the note in the run file")

    # with a channel more, and others, at the old address
    service.kill()
    rig.kill()
    desktop.stands()
    desktop.moves("ctrl+2")
    desktop.moves("ctrl+1")
    other = start("replay", record(60_000), "--bind", ANY_PORT)
    service = start("monitor", "--connect", other.publishing, "--publish", results, "--record", second)
    service.until("the stream starts")
    # refused until the window has heard of the new one
    until(lambda: desktop.writes("began again", service), "a note for the new service")
    desktop.lives()
    desktop.press("ctrl+q")
    window.wait()
    assert window.err == ""
    assert desktop.deserted()
    service.stop()
    other.kill()
    assert set(notes(second)) == {"began again"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_told_to_end_the_window_closes_the_recording_of_its_service(desktop, start, tmp_path, number):
    folder = tmp_path / "runs"
    rig = start("replay", "hybrid", "--bind", ANY_PORT, "--duration", 300)
    window = desktop.open("gui", "--serve", rig.publishing, "--record", f"{folder}/")
    until(lambda: [*folder.glob("*.h5")], "a recording")
    desktop.lives()
    window.stop(number)
    assert window.err == ""
    assert desktop.deserted()
    rig.kill()
    (kept,) = folder.glob("*.h5")
    with RunReader(kept) as run:
        assert run.outcome == "clean"
        assert run.n_samples > 0


@pytest.mark.slow
def test_two_windows_that_are_started_at_once_serve_two_rigs(desktop, free_url):
    # both find the usual endpoint of results free, and one is too late
    windows = [desktop.start("gui", "--serve", free_url) for _ in range(2)]
    assert len(set(desktop.served(2))) == 2
    for window in windows:
        window.stop()
        assert window.err == ""
    assert desktop.deserted()
