"""Keys from the shell: made, handed over, and asked for."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

from monitor.recording import RunReader
from tests.e2e.conftest import ANY_PORT, PATIENCE, ROOT


def said(*words: object) -> tuple[int, str, str]:
    """Run a command that ends by itself."""
    done = subprocess.run(
        [sys.executable, "-m", "monitor", *map(str, words)], cwd=ROOT, capture_output=True, text=True, timeout=90
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


def test_a_service_with_keys_from_the_shell(start, tmp_path: Path, warm_kernels) -> None:
    house, run = tmp_path / "keys", tmp_path / "run.h5"
    code, out, _ = said("keys", house, "--client", "desk", "--client", "rig")
    assert code == 0 and "hand-over/desk" in out
    desk, rig = (shutil.move(house / "hand-over" / name, tmp_path / name) for name in ("desk", "rig"))

    monitor = start("monitor", "--bind", ANY_PORT, "--publish", ANY_PORT, "--keys", house, "--record", run)
    played: tuple[object, ...] = (
        "replay",
        "hybrid",
        "--duration",
        2,
        "--speed",
        "max",
        "--connect",
        monitor.listening,
    )
    stranger = start(*played)
    stranger.wait(2)
    assert "requires keys" in stranger.err
    replay = start(
        "replay", "hybrid", "--duration", 2, "--speed", "max", "--connect", monitor.listening, "--keys", rig
    )
    replay.wait()
    url = monitor.results

    outside = start("note", "let me in", "--connect", url)
    inside = start("note", "by hand", "--connect", url, "--keys", desk)
    own = start("note", "by the service's own", "--connect", url, "--keys", house)
    watch = start("watch", "--connect", url, "--keys", desk)
    deadline = monotonic() + PATIENCE
    while "receiving" not in watch.out and "ended" not in watch.out:
        assert monotonic() < deadline, watch.out
        sleep(0.05)
    watch.stop(signal.SIGINT, None)
    inside.wait()
    own.wait()
    outside.wait(2)
    assert "requires keys" in outside.err and outside.err.count("\n") == 1

    assert said("keys", house, "--remove", "rig")[0] == 0
    gone = start(*played, "--keys", rig)
    gone.wait(2)
    assert "not on the list" in gone.err

    secret = desk / "desk.secret"
    secret.chmod(0o644)
    code, _, err = said("note", "x", "--connect", url, "--keys", desk)
    assert code == 2 and f"chmod 600 {secret}" in err and err.count("\n") == 1
    monitor.stop()
    with RunReader(run) as reader:
        notes = [event.detail for event in reader.events()]
    assert "by hand" in notes and "by the service's own" in notes and "let me in" not in notes


def test_other_machines_need_keys(start, tmp_path: Path) -> None:
    assert said("keys", tmp_path / "keys", "--client", "desk")[0] == 0
    words = ("--publish", "tcp://0.0.0.0:*", "--bind", ANY_PORT, "--requests", "none")
    refused = start("monitor", *words)
    loose = tmp_path / "keys" / "hand-over" / "desk"
    (loose / "desk.secret").rename(loose / "service.secret").chmod(0o640)
    unsafe = start("monitor", *words, "--keys", loose)
    monitor = start("monitor", *words, "--keys", tmp_path / "keys")
    refused.wait(2)
    assert "--keys" in refused.err and "--insecure" in refused.err
    unsafe.wait(2)
    assert "chmod 600" in unsafe.err and unsafe.err.count("\n") == 1
    monitor.until(r"results on tcp://0\.0\.0\.0:\d+")
    monitor.stop()
