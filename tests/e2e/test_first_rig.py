"""The page for a first rig, as its reader would follow it: its sender, the service, an alarm, the report."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from monitor import connect

PAGE = Path(__file__).parents[2] / "docs" / "first-rig.md"


@contextmanager
def _sending(folder: Path, url: str, lag: float) -> Iterator[None]:
    """Run the sender of the page, late by `lag` s."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert " 0.012, 120\n" in code and '"tcp://127.0.0.1:5555"' in code
    path = folder / "sender.py"
    path.write_text(code.replace(" 0.012,", f" {lag},").replace("tcp://127.0.0.1:5555", url), encoding="utf-8")
    sender = subprocess.Popen([sys.executable, str(path)], stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        sender.terminate()
        sender.wait()


def test_the_sender_of_the_page_is_seen_tripped_recorded_and_reported(start, free_url, tmp_path) -> None:
    runs = tmp_path / "runs"
    words = ("--connect", free_url, "--publish", "tcp://127.0.0.1:*", "--record", f"{runs}/")
    service = start("monitor", *words, "--alarm", "delay=0.02:0.03")
    with connect(service.results, timeout=60.0) as connection, _sending(tmp_path, free_url, 0.012):
        delay = next(value for row in connection if math.isfinite(value := row["actuator"]["broadband_delay"]))
    assert abs(delay - 0.012) < 1e-6
    with _sending(tmp_path, free_url, 0.035):
        service.until("alarm: actuator.delay.trip unacknowledged: .* is above 0.03 s")
    assert "the rig has restarted" in service.err
    service.stop()
    (run,) = runs.glob("*.h5")
    found = start("assess", run).wait().out
    assert "the publisher restarted 1 time" in found
    assert "undershoots by 5.0 %" in found
    start("report", run).wait()
    assert "actuator.delay.trip" in run.with_suffix(".html").read_text(encoding="utf-8")
