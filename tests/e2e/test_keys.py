"""Keys from the shell: made, handed over, and asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import h5py

from tests.e2e.conftest import ANY_PORT, ROOT


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
    desk, rig = house / "hand-over" / "desk", house / "hand-over" / "rig"

    monitor = start("monitor", "--bind", ANY_PORT, "--publish", ANY_PORT, "--keys", house, "--record", run)
    stranger = start("replay", "4dof", "--duration", 2, "--speed", "max", "--connect", monitor.listening)
    stranger.wait(2)
    assert "asks for keys" in stranger.err
    replay = start("replay", "4dof", "--duration", 2, "--speed", "max", "--connect", monitor.listening, "--keys", rig)
    replay.wait()
    url = monitor.results

    code, _, err = said("note", "let me in", "--connect", url)
    assert code == 2 and "asks for keys" in err and err.count("\n") == 1
    assert said("note", "by hand", "--connect", url, "--keys", desk)[0] == 0
    assert said("note", "by the service's own", "--connect", url, "--keys", house)[0] == 0

    assert said("keys", house, "--remove", "rig")[0] == 0
    late = start("replay", "4dof", "--duration", 2, "--speed", "max", "--connect", monitor.listening, "--keys", desk)
    late.wait()
    watch = start("watch", "--connect", url, "--keys", desk, COLUMNS="200")
    monitor.until("note")
    watch.stop(2, None)

    secret = desk / "desk.secret"
    secret.chmod(0o644)
    code, _, err = said("note", "x", "--connect", url, "--keys", desk)
    assert code == 2 and f"chmod 600 {secret}" in err and err.count("\n") == 1
    monitor.stop()
    with h5py.File(run) as file:
        notes = [text for text in str(file["events"][...].tolist()).split("'") if text.startswith(("by", "let"))]
    assert any("by hand" in text for text in notes) and not any("let me in" in text for text in notes)


def test_other_machines_need_keys(start, tmp_path: Path) -> None:
    code, _, err = said("monitor", "--publish", "tcp://0.0.0.0:*", "--bind", ANY_PORT, "--requests", "none")
    assert code == 2 and "--keys" in err and "--insecure" in err
    assert said("keys", tmp_path / "keys")[0] == 0
    monitor = start(
        "monitor",
        "--publish",
        "tcp://0.0.0.0:*",
        "--bind",
        ANY_PORT,
        "--requests",
        "none",
        "--keys",
        tmp_path / "keys",
    )
    monitor.until(r"results on tcp://0\.0\.0\.0:\d+")
    monitor.stop()
    (tmp_path / "keys" / "service.secret").chmod(0o640)
    code, _, err = said("monitor", "--keys", tmp_path / "keys")
    assert code == 2 and "chmod 600" in err
