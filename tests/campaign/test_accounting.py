"""The campaign sees what it looks for: each fault is planted, and must be in its column and no other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from monitor.messages.blocks import Event, EventKind, Stream
from monitor.recording import RunWriter
from tests.campaign.account import Account, LastWords, balance, kept_in
from tests.campaign.bench import Bench, Trial, attempt
from tests.campaign.kills import judge_killed
from tests.campaign.numbered_rig import CHANNELS, numbered
from tests.campaign.running_trials import results
from tests.campaign.soak import MOST_GROWTH, growth
from tests.campaign.tally import ZEROS, Tally, table

STREAM = Stream("rig", 1, 1024.0, CHANNELS)


def recorded(folder: Path, *spans: tuple[int, int], announced: int = 0, value: float = 0.0) -> Path:
    """Write a run with these samples, and with a value that none of them had."""
    folder.mkdir()
    writer = RunWriter(folder / "run.h5", {}, flush_interval=0.01)
    for start, stop in spans:
        block = numbered(STREAM, start, stop - start)
        block.samples[0, 0] += value
        writer.signals(block)
    if announced:
        writer.event(Event(EventKind.GAP, 0.0, 0, announced))
    writer.close()
    return folder


def in_zeros(found: Tally) -> dict[str, int]:
    return {name: getattr(found, name) for name in ZEROS if getattr(found, name)}


def test_all_that_was_sent_is_kept_announced_or_not(tmp_path):
    kept = kept_in(recorded(tmp_path / "runs", (0, 1000), (1100, 2000)))
    assert (kept.samples, kept.wrong, kept.outcomes) == (1900, 0, ["clean"])
    assert balance(kept, [(1, 0, 2000)], 0) == Account(1900, 100, 0, 100)
    assert balance(kept, [(1, 0, 2000)], 60) == Account(1900, 100, 60, 40)
    assert balance(kept, [(1, 0, 2000), (2, 0, 5)], 1000) == Account(1900, 105, 105, 0)


def test_a_value_that_was_not_sent_is_seen(tmp_path):
    assert kept_in(recorded(tmp_path / "good", (0, 1000))).wrong == 0
    assert kept_in(recorded(tmp_path / "near", (1000, 2000), value=1e-9)).wrong == 1
    assert kept_in(recorded(tmp_path / "far", (0, 1000), value=1.0)).wrong == 1


@pytest.mark.parametrize(
    ("spans", "announced", "sent", "acknowledged", "expected"),
    [
        ([(0, 1000)], 0, 1000, 1000, {}),
        # half a second may be missing at the end, and no more
        ([(0, 1000)], 0, 1512, 1000, {}),
        ([(0, 1000)], 0, 1612, 1000, {"unannounced": 100}),
        # not what was acknowledged
        ([(0, 1000)], 0, 1200, 1100, {"unannounced": 100}),
        # and a hole only where an event tells of it
        ([(0, 500), (510, 1000)], 0, 1000, 990, {"unannounced": 10}),
        ([(0, 500), (510, 1000)], 10, 1000, 990, {}),
    ],
)
def test_a_loss_at_a_kill_that_nothing_announces_is_seen(tmp_path, spans, announced, sent, acknowledged, expected):
    bench = Bench("planted", 1, tmp_path)
    judge_killed(bench, kept_in(recorded(tmp_path / "runs", *spans, announced=announced)), sent, acknowledged, 1024.0)
    bench.close()
    assert in_zeros(bench.tally) == expected
    assert bool(bench.tally.faults) is bool(expected)


def test_a_run_that_was_never_closed_is_recovered_before_it_is_counted(tmp_path):
    text = "import sys; from tests.campaign.test_accounting import left_open; left_open(sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", text, tmp_path], cwd=Path(__file__).parents[2])
    assert done.returncode == -signal.SIGKILL
    kept = kept_in(tmp_path)
    assert (kept.samples, kept.outcomes) == (1000, ["open"])


def left_open(folder: str) -> None:
    """Record, and end as by a power cut."""
    writer = RunWriter(Path(folder) / "run.h5", {}, flush_interval=0.01)
    writer.signals(numbered(STREAM, 0, 1000))
    while writer.recorded < 1000:
        pass
    os.kill(os.getpid(), signal.SIGKILL)


def start(bench: Bench, text: str, *, kill: bool = False) -> None:
    running = bench.python(text)
    if kill:
        running.until("ready")
        bench.kill(running)
    running.wait(None)


def hang(bench: Bench) -> None:
    bench.until(lambda: False, "something that never comes", patience=0.05)


def crash(bench: Bench) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


READY = "import sys, time; print('ready', file=sys.stderr, flush=True); time.sleep(60)"


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (partial(start, text="pass"), {}),
        # a kill of the trial's own is no abort
        (partial(start, text=READY, kill=True), {}),
        (partial(start, text="import os; os.abort()"), {"aborts": 1}),
        (partial(start, text="import sys; sys.stderr.write('Assertion failed: !_io_error\\n')"), {"aborts": 1}),
        (partial(start, text="raise ValueError(1)"), {"tracebacks": 1}),
        (hang, {"hangs": 1}),
        (partial(Bench.wrong, text="an exit code"), {"wrong": 1}),
        (partial(Bench.check, condition=False, text="an outcome"), {"wrong": 1}),
    ],
)
def test_every_fault_is_counted_in_its_column(tmp_path, run: Callable[[Bench], None], expected: dict[str, int]):
    found = attempt(Trial("planted", run), 1, tmp_path)
    assert in_zeros(found) == expected
    assert found.clean is not bool(expected)
    assert [fault.startswith("planted: ") for fault in found.faults] == [True] * len(expected)


def test_a_trial_that_crashes_is_counted_and_the_others_are_carried_out():
    trials = [Trial("a", partial(start, text="pass")), Trial("b", crash), Trial("c", hang)]
    found = {trial.name: in_zeros(tally) for trial, tally in results(trials, 1, 2)}
    assert found == {"a": {}, "b": {"aborts": 1}, "c": {"hangs": 1}}


def test_chance_is_the_same_for_the_same_seed_and_trial(tmp_path):
    def throw(name: str, seed: int) -> float:
        bench = Bench(name, seed, tmp_path)
        bench.close()
        return bench.chance.random()

    assert throw("a", 1) == throw("a", 1)
    assert len({throw("a", 1), throw("b", 1), throw("a", 2)}) == 3


def test_the_table_adds_up():
    rows = {
        "kills": Tally(tried=2, kept=10, memory=100.0),
        "disks": Tally(tried=1, kept=5, unannounced=3, memory=50.0),
    }
    rows["disks"].faults.append("disks/x: 3 samples")
    text = table(rows)
    total = next(line for line in text.splitlines() if line.startswith("total"))
    assert total.split() == ["total", "3", "15", "0", "3", "0", "0", "0", "0", "100", "MB"]
    assert "FAULT disks/x: 3 samples" in text
    assert rows["kills"].clean and not rows["disks"].clean


def test_the_last_words_of_a_service_are_read_and_its_backlog_is_counted_once():
    said = "70 samples received, 30 lost, 1 duplicate, 2 late, 3 messages rejected, 0 restarts\n"
    words = LastWords.of(said + "synchroscope monitor: run.h5: 25 samples were not recorded\n")
    assert words == LastWords(70, 30, 1, 2, 3, 25)
    assert words.missing(backlog=0) == 55 and words.missing(backlog=20) == 35
    assert LastWords.of("Traceback") is None


def test_growth_is_told_from_noise():
    noise = np.random.default_rng(1).normal(0.0, 0.5, 40)
    flat, growing = 230.0 + noise, 230.0 + noise + 1.0 * np.arange(40)
    assert growth(flat, 10)[0] < MOST_GROWTH < growth(growing, 10)[0]
    assert growth(growing, 10)[1] == pytest.approx(60.0, abs=5.0)
