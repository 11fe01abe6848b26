"""What the window can be opened on: recordings, simulations, the demonstration; closed, it leaves nothing."""

from __future__ import annotations

import signal

import pytest

from monitor.recording import RunReader
from tests.e2e.desktop import until
from tests.needs import needs

QUICK = ("--measures", "nrmse", "--window", 0.5)


@pytest.fixture
def run_file(start, record, free_url, tmp_path):
    """A run that a service has recorded."""
    kept = tmp_path / "run.h5"
    service = start(
        "monitor", "--connect", free_url, "--publish", "tcp://127.0.0.1:*", "--record", kept, "--once", *QUICK
    )
    start("replay", record(20_000), "--bind", free_url, "--speed", 20).wait()
    service.wait()
    return kept


def test_a_run_file_is_played_and_halted_by_keys(desktop, run_file):
    window = desktop.open("gui", run_file, "--theme", "dark")
    desktop.titled("run.h5 - Synchroscope")
    # it is computed, and all of it is there
    until(lambda: not desktop.processes("assess"), "the end of the computation")
    desktop.stands()
    desktop.moves("p")
    desktop.lives()
    desktop.press("p")
    desktop.stands()
    desktop.press("ctrl+q")
    window.wait()
    assert (window.out, window.err) == ("", "")
    assert desktop.deserted()


def test_a_text_file_is_streamed_with_the_columns_that_are_named(desktop, record):
    names = [f"--{role}={name}_{role}" for name in ("north", "south") for role in ("command", "measured")]
    window = desktop.open("gui", record(20_000), "--stream", *names, "--layout", "Replay")
    desktop.titled("record.csv - Synchroscope")
    desktop.lives()
    player = desktop.process("replay")
    desktop.press("ctrl+q")
    window.wait()
    assert window.err == ""
    assert desktop.deserted()
    assert player not in desktop.processes()


def test_the_demonstration_is_a_window_where_there_is_a_display(desktop, tmp_path):
    kept = tmp_path / "demo.h5"
    demo = desktop.open("demo", "--record", kept)
    desktop.titled("hybrid - Synchroscope")
    desktop.lives()
    desktop.press("ctrl+q")
    demo.wait()
    assert f"The run is in {kept}" in demo.out + demo.err
    assert desktop.deserted()
    with RunReader(kept) as run:
        assert run.outcome == "clean"
        assert run.n_samples > 0


@pytest.mark.parametrize("word", ["--terminal", "--headless"])
def test_the_demonstration_opens_no_window_where_none_is_wanted(desktop, tmp_path, word):
    demo = desktop.start("demo", word, "--record", tmp_path / "demo.h5")
    # which only the terminal tells
    demo.until("receiving: ")
    assert desktop.window == ""
    demo.stop(signal.SIGINT, 130)
    assert desktop.deserted()


@pytest.mark.slow
@needs("Qt on X11")
def test_the_demonstration_is_in_the_terminal_where_the_display_does_not_answer(start, tmp_path):
    elsewhere = {"DISPLAY": ":4321", "WAYLAND_DISPLAY": "", "QT_QPA_PLATFORM": ""}
    demo = start("demo", "--record", tmp_path / "demo.h5", **elsewhere)
    demo.until("listening on")
    assert demo.err.startswith("no window: the display :4321 does not answer")
    demo.stop(signal.SIGINT, 130)


def test_a_killed_window_takes_player_and_service_with_it(desktop):
    window = desktop.open("gui", "--simulation", "hybrid")
    desktop.lives()
    assert desktop.process("replay")
    assert desktop.process("monitor")
    window.kill()
    assert desktop.deserted()
    assert window.process.returncode == -signal.SIGKILL
