"""The loader of a recording beside processes that fail, and the position of a play head through gaps and restarts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest

from gui.model.history import History
from gui.model.loaded_recording import LoadedRecording
from gui.model.receiver import ReceivedMessages
from gui.sources.processes.player import RunPosition
from gui.sources.processes.recording import RunLoader
from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from monitor.messages.recordings import SIGNALS_COMPLETE, RunHeader
from monitor.system.worker_process import pack_message
from monitor.wire.native import Encoder

HEADER = pack_message([b"run", msgspec.json.encode(RunHeader(100, 1.0))])


def load(script, *, cancel=False):
    """Load what a process with this script sends."""

    def start(_words, **options):
        return subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, **options)

    loader = RunLoader(Path("/data/run.h5"), (), 64 << 20, start)
    if cancel:
        loader.cancel()
    loader._thread.join()
    assert loader.done
    return loader


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (
            "import sys; print('synchroscope assess: no numbers in it', file=sys.stderr); sys.exit(2)",
            "no numbers in it",
        ),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "ended by signal 9"),
        ("import sys; sys.exit(3)", "ended with exit code 3"),
        ("", "has sent nothing"),
        ("print('no message at all')", "has sent nothing"),
        (f"import sys; sys.stdout.buffer.write({HEADER!r}); sys.exit(1)", "ended with exit code 1"),
        (f"import sys; sys.stdout.buffer.write({HEADER!r} + {pack_message([b'x', b'y'])!r})", "4 frames"),
        (f"import sys; sys.stdout.buffer.write({pack_message([b'run', b'nothing'])!r})", "JSON"),
    ],
)
def test_a_process_that_fails_is_one_line(script, said):
    loader = load(script)
    assert loader.history is None
    assert said in loader.failed
    assert "\n" not in loader.failed
    assert loader.failure.startswith("run.h5: ")


def test_what_is_cancelled_has_no_history_and_no_process():
    loader = load("import sys; sys.stdin.read()", cancel=True)
    assert loader.history is None
    assert loader._process is None or loader._process.poll() is not None


STREAM = Stream("rig", 1, 100.0, (Channel("x", Role.AUXILIARY, "m"),))


def block(epoch, index, n):
    stream = Stream("rig", epoch, 100.0, STREAM.channels)
    return SignalBlock(stream, index, index / 100.0, np.arange(index, index + n, dtype=float)[:, None])


def test_blocks_are_stored_as_they_are_sent():
    encoder = Encoder()
    sent = HEADER + b"".join(pack_message(encoder.encode(block(1, i, 50))) for i in (0, 50))
    sent += pack_message([SIGNALS_COMPLETE])
    loader = load(f"import sys; sys.stdout.buffer.write({sent!r})")
    assert not loader.failed
    assert loader.history.recording == LoadedRecording("run.h5", "/data/run.h5", RunHeader(100, 1.0))
    x, samples = loader.history.signals.samples(0.0, 1.0)
    assert np.array_equal(samples[:, 0], np.arange(100.0))
    assert x == pytest.approx(np.arange(100) / 100.0)


def test_a_position_counts_gaps_and_not_the_pause_of_a_restart():
    history = History(64 << 20, recording=LoadedRecording("r", "", RunHeader(300, 4.0, n_breaks=1)))
    # one second, a gap of one second, another second; then a restart
    history.update(ReceivedMessages(signals=(block(1, 0, 100), block(1, 200, 100), block(2, 0, 100))))
    where = RunPosition(history)
    assert where.duration == pytest.approx(4.0)
    for seconds, x in ((0.0, 0.0), (0.5, 0.5), (2.5, 2.5), (2.99, 2.99), (3.0, 4.0), (3.5, 4.5), (9.0, 5.0)):
        assert where.x(seconds) == pytest.approx(x, abs=0.0101)
    for x, seconds in ((0.0, 0.0), (2.5, 2.5), (4.5, 3.5), (3.5, 3.0)):
        assert where.seconds(x) == pytest.approx(seconds, abs=0.0101)
