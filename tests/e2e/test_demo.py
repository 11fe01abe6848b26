"""The demonstration as a user starts it: real processes, real sockets, and nothing left behind."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from monitor.recording import RunReader
from replay.commands.truth_table import compare_with_truth

ROOT = Path(__file__).parents[2]
PATIENCE = 240.0
pytestmark = pytest.mark.skipif(os.name != "posix", reason="process groups and pseudo-terminals are POSIX")


def _start(folder: Path, *words: str, **streams) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "SYNCHROSCOPE_TEST": str(folder)}
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        # where there is a display, a window is opened instead
        environment.pop(name, None)
    command = [sys.executable, "-m", "monitor", "demo", *words]
    return subprocess.Popen(command, cwd=folder, env=environment, text=True, start_new_session=True, **streams)


def _relatives(folder: Path) -> list[int]:
    """Processes that carry the mark of this test in their environment."""
    mark = f"SYNCHROSCOPE_TEST={folder}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if mark in entry.read_bytes().split(b"\0"):
                found.append(int(entry.parent.name))
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    deadline = time.monotonic() + 5.0
    while _relatives(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.02)
    left = _relatives(tmp_path)
    for process in left:
        os.kill(process, signal.SIGKILL)
    assert not left, "processes were left behind"


def _until(stream, pattern: str) -> str:
    """Read lines until one matches."""
    said = ""
    for line in stream:
        said += line
        if re.search(pattern, line):
            return said
    raise AssertionError(f"{pattern!r} never came; this did:\n{said}")


def test_headless_run_indicates_what_was_injected(folder, warm_kernels):
    record = folder / "kept" / "run.h5"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with _start(folder, "--headless", "--duration", "9", "--record", str(record), **pipes) as demo:
        out, err = demo.communicate(timeout=PATIENCE)
    assert demo.returncode == 0, err
    assert "Traceback" not in out + err and "listening on" in err
    assert re.search(r"receiving: [\d,]+ samples, 0 lost \| north ", err)
    assert max(map(len, out.splitlines()[:-3])) <= 80
    assert str(record) in out
    assert "-0.00" not in out
    with RunReader(record) as reader:
        assert reader.outcome == "clean"
        assert reader.n_samples == 9 * 1024
        assert reader.settings["indicators"]["window"] == 1.0
        injected = [(event.time, event.detail) for event in reader.events() if ": injected " in event.detail]
    assert (0.0, "north: injected delay 12.0 ms, amplitude ratio 1.000") in injected
    assert (3.0, "north: injected delay 12.0 → 25.0 ms, amplitude ratio 1.000") in [
        (round(t, 1), d) for t, d in injected
    ]
    assert len(injected) == 7
    intervals = compare_with_truth(record, ramp=1.5)
    settled = [s for s in intervals if not s.slides and s.injected.delay == s.injected.delay]
    assert {s.actuator for s in settled} == {"north", "south", "roof"}
    assert len(settled) == 5
    for interval in settled:
        for name in ("broadband", "fdb", "paei"):
            indicated = interval.indicated[name]
            assert indicated.delay == pytest.approx(interval.injected.delay, abs=5e-4)
            assert indicated.ratio == pytest.approx(interval.injected.ratio, rel=1e-2)
            assert f"{1e3 * indicated.delay + 0.0:.2f}".replace("-0.00", "0.00") in out
    heading = next(line for line in out.splitlines() if line.startswith("actuator"))
    assert heading.split()[-7:] == ["true", "broadband", "off", "FDB", "off", "PAEI", "off"]


@pytest.mark.parametrize("moment", ["loading kernels", "receiving:"])
def test_ctrl_c_ends_everything_and_closes_the_recording(folder, warm_kernels, moment):
    with _start(folder, "--headless", stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as demo:
        said = _until(demo.stderr, moment)
        os.killpg(demo.pid, signal.SIGINT)
        said += demo.stderr.read()
        assert demo.wait(PATIENCE) == 130
    assert "Traceback" not in said and "stopped" in said.splitlines()[-1]
    records = list((folder / "runs").glob("*.h5"))
    assert len(records) == (moment == "receiving:")
    for record in records:
        assert str(record.relative_to(folder)) in said
        with RunReader(record) as reader:
            assert reader.outcome == "clean"
            told = [int(count.replace(",", "")) for count in re.findall(r"receiving: ([\d,]+) samples", said)]
            assert reader.n_samples >= max(told) > 0


def test_killed_it_takes_its_processes_with_it_and_the_recording_is_closed(folder, warm_kernels):
    with _start(folder, "--headless", stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as demo:
        _until(demo.stderr, "receiving:")
        demo.kill()
    deadline = time.monotonic() + PATIENCE
    while _relatives(folder):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    (record,) = (folder / "runs").glob("*.h5")
    with RunReader(record) as reader:
        assert reader.outcome == "clean"


def test_a_service_that_dies_is_told_in_one_line(folder, warm_kernels):
    with _start(folder, "--headless", stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as demo:
        _until(demo.stderr, "listening on")
        for process in _relatives(folder):
            if b"\0monitor\0--connect" in Path(f"/proc/{process}/cmdline").read_bytes():
                os.kill(process, signal.SIGKILL)
        rest = demo.stderr.read()
        assert demo.wait(PATIENCE) == 1
    assert re.fullmatch(r"synchroscope demo: the service ended: [^\n]+\n", rest)


def test_the_dashboard_lives_on_a_terminal_and_leaves_it_as_it_was(folder, warm_kernels):
    ours, theirs = pty.openpty()
    try:
        words = ("--duration", "9", "--speed", "3")
        with _start(folder, *words, stdin=theirs, stdout=theirs, stderr=theirs) as demo:
            os.close(theirs)
            shown = _read_to_the_end(ours)
            assert demo.wait(PATIENCE) == 0, shown
    finally:
        os.close(ours)
    assert "Traceback" not in shown
    entered, left = shown.index("\x1b[?1049h"), shown.rindex("\x1b[?1049l")
    live, after = shown[entered:left], shown[left:]
    assert "receiving" in live and live.count("actuator") > 5
    assert "ended" in after and "Amplitude ratio" in after
    assert "\x1b[?25h" in shown[entered:], "the cursor must come back"


def _read_to_the_end(terminal: int) -> str:
    said = b""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if select.select([terminal], [], [], 1.0)[0]:
            try:
                piece = os.read(terminal, 1 << 16)
            except OSError:  # Linux's way to say that the other end was closed
                break
            if not piece:
                break
            said += piece
    return said.decode(errors="replace")
