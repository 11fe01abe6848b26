"""A day in some minutes: whether the window's memory and pace stay what they were after an hour.

`python -m benchmarks.endurance HOUR DAY` prints both at the end of HOUR and of DAY, s of the rig, as JSON.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

# first, as it says on which screen Qt draws
from benchmarks import window_stage as stage  # isort: skip

import numpy as np

from benchmarks.figures import MB, MS, Figure
from benchmarks.timing import resident_memory
from gui.model.receiver import ReceivedMessages
from gui.window.window import MainWindow
from monitor.messages.blocks import Event, EventKind, ResultBlock, SignalBlock

SUMMARY = "a day of 8 pairs at 1 kHz in a window with every panel, drawn once a minute, against after an hour"
HOUR, DAY = 3600, 86_400
AGAINST = "after an hour"
_STEP = 10  # s that come at once
_EVERY = 40  # samples a row of results
_MINUTE = 60
_SEEN_WHOLE = 10  # minutes from one look at the whole run to the next


def run(quick: bool) -> Iterator[Figure]:
    """Yield memory and time a frame at the end of the day, in a process of its own, beside those after an hour."""
    words = ("180", "720") if quick else (str(HOUR), str(DAY))
    done = subprocess.run([sys.executable, "-m", "benchmarks.endurance", *words], stdout=subprocess.PIPE, check=True)
    (early, first), (late, last) = json.loads(done.stdout)
    yield Figure("endurance", "memory after a day", late, MB, None, AGAINST, early, late / early, most_ratio=1.05)
    yield Figure("endurance", "a frame in its last hour", last, MS, None, "in its first", first, last / first)


def live(hour: int, day: int, folder: Path) -> Iterator[tuple[float, float]]:
    """Yield memory [MB] and the median time [ms] of the frames of the last `hour`, after one and at the end."""
    stage.application()
    window = stage.open_window("Replay", folder)
    frames: list[float] = []
    for number, arrivals in enumerate(_day(day, 3 * hour), start=1):
        now = number * _STEP
        window.connection.pending = arrivals
        if now % _MINUTE:
            window.connection.poll()
            continue
        if now // _MINUTE % _SEEN_WHOLE == 0:
            window.view.show_all()
            _draw(window)
            window.view.set_span(stage.SPAN)
        frames.append(_draw(window))
        if now in (hour, day):
            gc.collect()
            yield resident_memory(), median(frames[-hour // _MINUTE :])
    stage.close(window)


def _draw(window: MainWindow) -> float:
    start = perf_counter()
    window.tick()
    stage.settle()
    return 1e3 * (perf_counter() - start)


def _day(day: int, run_length: int) -> Iterator[ReceivedMessages]:
    """Give the same seconds again and again, with a gap every minute and a restart after every run."""
    (first,) = stage.sent(_STEP, 0)
    samples = np.concatenate([block.samples for block in first.signals])
    values = np.concatenate([block.values for block in first.results])[-len(samples) :: _EVERY]
    signals, results, transfer = first.signals[0].stream, first.results[0].stream, first.transfer
    assert transfer is not None
    results, began = replace(results, every=_EVERY), 0
    for now in range(0, day, _STEP):
        lost, events = 0, []
        if now and now % run_length == 0:
            began = now
            signals, results = (replace(each, epoch=signals.epoch + 1) for each in (signals, results))
            transfer = replace(transfer, stream=replace(transfer.stream, epoch=signals.epoch))
            events.append(Event(EventKind.RESTART, float(now), 0))
        elif now % _MINUTE == 0:
            lost = len(samples) // 10
            events.append(Event(EventKind.GAP, float(now), int((now - began) * stage.RATE), lost))
        index, time = int((now - began) * stage.RATE) + lost, now + lost / stage.RATE
        yield ReceivedMessages(
            stage.health(now * int(stage.RATE)),
            tuple(events),
            (ResultBlock(results, index, time, values[lost // _EVERY :]),),
            replace(transfer, index=index, time=time),
            (SignalBlock(signals, index, time, samples[lost:]),),
        )


if __name__ == "__main__":
    with TemporaryDirectory(prefix="synchroscope-benchmark-") as place:
        print(json.dumps(list(live(int(sys.argv[1]), int(sys.argv[2]), Path(place)))))
