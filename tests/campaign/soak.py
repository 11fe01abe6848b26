"""A service with fifty subscribers, one of them stalled, for as long as a test: whether its memory stays flat.

python -m tests.campaign.soak [--minutes 40]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from time import monotonic, sleep

import numpy as np

from monitor.recording import RunReader
from tests.campaign.bench import Bench, memory, publishing_process
from tests.campaign.programs import STALLED, SUBSCRIBERS
from tests.campaign.tally import Tally
from tests.e2e.running import ANY_PORT

SUBSCRIBED = 50
MOST_GROWTH = 0.02
_SETTLED = 10  # minutes after which memory must stay
_FEWEST = 5
_ENDS = 3  # minutes at either end that are compared
_SETTINGS = """[indicators]
window = 2.0
"""


def growth(readings: np.ndarray, settled: int) -> tuple[float, float]:
    """Return by how much readings, one a minute, grow after `settled` of them: as a share, and MB an hour."""
    after = readings[settled:]
    ends = max(1, min(_ENDS, len(after) // 3))
    share = float(np.median(after[-ends:]) / np.median(after[:ends])) - 1.0
    slope = 60.0 * float(np.polyfit(np.arange(len(after)), after, 1)[0])
    return share, slope


def soak(bench: Bench, minutes: int) -> None:
    """Record a simulated rig for so long, and read the memory of the service and of its publishing process."""
    kept = bench.folder / "run.h5"
    service = bench.service("--bind", ANY_PORT, "--record", kept, settings=_SETTINGS)
    listening, results = service.listening, service.results
    bench.python(SUBSCRIBERS, results, SUBSCRIBED - 1).until("subscribed")
    stalled = bench.python(STALLED, results)
    rig = bench.start("replay", "hybrid", "--connect", listening, "--duration", 60 * minutes)
    rig.until("samples, ")
    stalled.until("stalled")
    began, readings = monotonic(), []
    print("minute  service MB  publishing MB", flush=True)
    for minute in range(1, minutes):
        while monotonic() < began + 60 * minute:
            bench.check(service.process.poll() is None, f"the service ended: {service.err}")
            if service.process.poll() is not None:
                return
            sleep(1.0)
        readings.append((memory(service.process.pid), memory(publishing_process(service))))
        print(f"{minute:6d}  {readings[-1][0]:10.1f}  {readings[-1][1]:13.1f}", flush=True)
    rig.wait()
    service.stop()
    settled = min(_SETTLED, len(readings) // 4)
    for name, column in zip(("service", "publishing process"), np.array(readings).T, strict=True):
        share, slope = growth(column, settled)
        print(f"{name}: {column[settled]:.1f} MB after {settled + 1} minutes, then {100 * share:+.2f} %", end=", ")
        print(f"{slope:+.2f} MB an hour; most {column.max():.1f} MB")
        bench.check(share <= MOST_GROWTH, f"the memory of the {name} grew by {100 * share:.1f} %")
    with RunReader(kept) as run:
        sent = int(rig.until(r"(\d+) samples sent"))
        bench.tally.kept = run.n_samples
        bench.check((run.outcome, run.n_samples) == ("clean", sent), f"{run.outcome}, {run.n_samples} of {sent}")
        print(f"{run.n_samples} of {sent} samples recorded, {run.outcome}")


def main() -> int:
    """Soak, and return 1 where anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=int, default=40)
    arguments = parser.parse_args()
    if arguments.minutes < _FEWEST:
        parser.error(f"at least {_FEWEST} minutes are needed to see a trend")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench("soak", 0, Path(folder))
        try:
            soak(bench, arguments.minutes)
        finally:
            bench.close()
    found: Tally = bench.tally
    for fault in found.faults:
        print(f"FAULT {fault}")
    return 0 if found.clean else 1


if __name__ == "__main__":
    sys.exit(main())
