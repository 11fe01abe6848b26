"""Every benchmark, run with tiny sizes as its user would run it: figures that are numbers, and no claim on speed."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.latency import measure
from tests.needs import needs

ROOT = Path(__file__).parents[2]


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-m", "benchmarks", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)


@pytest.mark.slow
@pytest.mark.parametrize(
    "figures",
    # several in a process, which is slow to start
    [
        {
            "kernels": 26,
            "embedding": 18,
            "throughput": 15,
            "recording": 4,
            "runs": 3,
            "realizations": 3,
            "reliability": 12,
        },
        {
            "opening": 3,
            "frames": 10,
            "latency": 16,
            "overload": 5,
            "window_latency": 5,
            "endurance": 2,
            "delay_fits": 2,
            "missing_force": 2,
            "conduction": 1,
            "chains": 1,
            "updating": 2,
        },
        pytest.param({"broker": 6}, marks=needs("mosquitto")),
    ],
    ids=" ".join,
)
def test_every_figure_is_a_number(figures: dict[str, int], warm_kernels: None) -> None:
    done = _run(*figures, "--quick", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["machine"]["cores"] >= 1
    assert Counter(figure["benchmark"] for figure in said["figures"]) == figures
    for figure in said["figures"]:
        # only what is counted, such as stalls, can be nothing
        least = 0.0 if figure["unit"] == "" else sys.float_info.min
        numbers = [figure["value"]]
        if figure["against"]:
            numbers += [figure["other"]] + [figure["ratio"]] * (figure["ratio"] is not None)
        assert all(math.isfinite(number) and number >= least for number in numbers), figure


class JoinedAnswers:
    """Answers every fifth sample, ten samples after it at the latest, two answers in a message."""

    every = 5

    def __init__(self) -> None:
        self.sent = 0

    def send(self, index: int) -> None:
        self.sent += 1

    def receive(self, timeout: float) -> range | tuple[()]:
        answers, self.sent = (range(self.sent - 10, self.sent, 5), 0) if self.sent == 10 else ((), self.sent)
        return answers


def test_answers_that_come_together_are_answers() -> None:
    latencies = measure(JoinedAnswers(), 0, 10, rate=1e4)
    assert len(latencies) == 2
    assert max(latencies) < 1.0


def test_the_table_shows_what_is_aimed_at(warm_kernels: None) -> None:
    done = _run("throughput", "--quick")
    assert done.returncode == 0, done.stderr
    assert "of real time" in done.stdout
    assert "blocks of 64" in done.stdout


def test_an_unknown_name_is_a_mistake_in_one_line() -> None:
    done = _run("speed")
    assert done.returncode == 2
    assert "there is no benchmark 'speed': choose from truth, kernels, " in done.stderr
    assert "Traceback" not in done.stderr
