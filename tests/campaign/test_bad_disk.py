"""A disk that changes its mind while a run is recorded: neither the process nor the account of its samples breaks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.campaign.bad_disk import compiled, obey
from tests.needs import needs

pytestmark = [needs("gcc"), pytest.mark.skipif(sys.platform != "linux", reason="it is made for Linux")]

RECORDING = """
import os, sys, time
from pathlib import Path
import numpy as np
from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from monitor.recording import RunWriter
from monitor.recording import run_files
from tests.campaign.bad_disk import obey
run_files._SHORTEST = 0.01
word = Path(os.environ["BAD_DISK"])
of = Stream("rig", 1, 1000.0, tuple(Channel(str(k), Role.AUXILIARY) for k in range(16)))
writer = RunWriter(sys.argv[1], {}, flush_interval=0.01)
sent = 0
def feed(done):
    global sent
    while not done():
        writer.signals(SignalBlock(of, sent, sent / 1000, np.full((500, 16), 1.0)))
        sent += 500
        time.sleep(0.002)
for trouble in ("eio", "enospc", "erofs", "eio"):
    obey(word, "ok")
    before = writer.recorded
    feed(lambda: writer.recorded > before and not writer.failed)
    obey(word, trouble)
    feed(lambda: writer.failed)
writer.close()
print(writer.recorded + writer.unrecorded == sent, writer.breaks, writer.outcome)
"""


def test_a_disk_that_refuses_in_the_middle_of_a_write_ends_no_process(tmp_path: Path) -> None:
    library, word = compiled(tmp_path), tmp_path / "word"
    obey(word, "ok")
    runs = tmp_path / "runs"
    runs.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", RECORDING, runs / "run.h5"],
        env={**os.environ, "LD_PRELOAD": str(library), "BAD_DISK": str(word)},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "True 4 truncated\n"
    assert not list(runs.glob(".*.part"))
