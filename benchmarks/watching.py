"""The window beside a service by wall clock: frames a second, and whether its memory stays what it was.

`python -m benchmarks.watching ENDPOINT SECONDS` is the window; it prints frames a second and its memory as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, process_time, sleep
from typing import TYPE_CHECKING

from benchmarks.figures import COUNT, MB, MS, Figure
from benchmarks.timing import resident_memory

if TYPE_CHECKING:
    from benchmarks.lanes import ServiceLane

SUMMARY = "64 pairs at 1 kHz in the window beside a service, ten minutes by wall clock"
N_PAIRS, RATE, WINDOW, FRAMES, SIZE = 64, 1000.0, 2.0, 15, (1600, 1000)
_BLOCK = 0.01  # s of one message of the rig
_WARM = 60.0  # s, after which the memory is that of the beginning


def run(quick: bool) -> Iterator[Figure]:
    """Yield frames a second, and the memory of the window after the first minute and at the end."""
    from benchmarks.lanes import ServiceLane

    seconds = 20.0 if quick else 600.0 + _WARM
    with ServiceLane(N_PAIRS, RATE, WINDOW) as lane:
        following = lane.start()
        over = threading.Event()
        rig = threading.Thread(target=_send, args=(lane, following, over))
        rig.start()
        words = [sys.executable, "-m", "benchmarks.watching", lane.results, str(seconds)]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        over.set()
        rig.join()
    found = json.loads(done.stdout)
    case = f"{N_PAIRS} pairs"
    most = None if quick else 1.05e3 / FRAMES
    yield Figure("watching", f"{case}: from one frame to the next", 1e3 * found["frame"], MS, most=most)
    yield Figure("watching", f"{case}: processor time from one frame to the next", 1e3 * found["own"], MS)
    yield Figure("watching", f"{case}: samples that the window dropped", found["dropped"], COUNT, most=0.0)
    first, last = found["first"], found["last"]
    yield Figure(
        "watching", f"{case}: memory of the window", last, MB, None, "after a minute", first, last / first,
        most=None if quick else 350.0, most_ratio=1.05,
    )  # fmt: skip


def _send(lane: ServiceLane, following: int, over: threading.Event) -> None:
    """Send samples as they are due."""
    begin, index, block = monotonic(), following, round(_BLOCK * RATE)
    while not over.is_set():
        due = begin + _BLOCK * (index - following) / block
        sleep(max(0.0, due - monotonic()))
        lane.send_block(index, block)
        index += block


def watch(endpoint: str, seconds: float, folder: Path) -> dict[str, float]:
    """Show what a service publishes; return seconds a frame, and the memory early and at the end, MB."""
    # here: the memory of the window is not that of what computes
    from PySide6.QtCore import QSettings
    from PySide6.QtWidgets import QApplication

    from gui.sources.processes.catalogue import Catalogue
    from gui.window.application import Program
    from gui.window.launch import LaunchOptions

    application = QApplication(["synchroscope"])
    store = QSettings(str(folder / "window.ini"), QSettings.Format.IniFormat)
    program = Program(Catalogue(), store, LaunchOptions(connect=endpoint, layout="Operator"))
    program.start()
    program.window.resize(*SIZE)
    program.window.start(FRAMES)
    ticks: list[float] = []
    program.window.ticked.connect(lambda: ticks.append(monotonic()))
    begin, first = monotonic(), 0.0
    warm = min(_WARM, seconds / 2.0)
    while (passed := monotonic() - begin) < seconds:
        application.processEvents()
        sleep(0.001)
        if passed > warm and not first:
            first, n_early, then, busy = resident_memory(), len(ticks), monotonic(), process_time()
    n_frames = max(1, len(ticks) - n_early)
    frame, own = (monotonic() - then) / n_frames, (process_time() - busy) / n_frames
    found = {
        "frame": frame,
        "own": own,
        "first": first,
        "last": resident_memory(),
        "dropped": program.connection.dropped,
    }
    program.window.close_now()
    program.finish()
    return found


if __name__ == "__main__":
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    with TemporaryDirectory(prefix="synchroscope-benchmark-") as place:
        print(json.dumps(watch(sys.argv[1], float(sys.argv[2]), Path(place))))
