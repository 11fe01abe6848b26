"""Trials in processes of their own, several at once, some under load and some alone."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from tests.campaign.bench import Trial, attempt, busy
from tests.campaign.tally import Tally


def carry_out(trial: Trial, seed: int) -> Tally:
    """Carry out a trial in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="campaign-", ignore_cleanup_errors=True) as folder:
        return attempt(trial, seed, Path(folder))


def results(trials: Iterable[Trial], seed: int, at_once: int) -> Iterator[tuple[Trial, Tally]]:
    """Yield what each trial found, as they end: first those beside others, then those under load and alone."""
    waiting = sorted(trials, key=lambda trial: (trial.load, trial.alone))
    while waiting:
        first = waiting[0]
        group = [trial for trial in waiting if (trial.load, trial.alone) == (first.load, first.alone)]
        waiting = waiting[len(group) :]
        load = busy(first.load)
        try:
            yield from _together(group, seed, 1 if first.alone else at_once)
        finally:
            for process in load:
                process.kill()
                process.wait()


def _together(group: list[Trial], seed: int, at_once: int) -> Iterator[tuple[Trial, Tally]]:
    # processes, so that a crash of HDF5 or ZeroMQ in one of them is seen and ends no other
    while group:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(at_once, mp_context=context, initializer=_end_with_all) as pool:
            futures: dict[Future[Tally], Trial] = {pool.submit(carry_out, trial, seed): trial for trial in group}
            broken = []
            try:
                for future in as_completed(futures):
                    try:
                        yield futures[future], future.result()
                    except BrokenProcessPool:
                        broken.append(futures[future])
            except BaseException:
                for process in multiprocessing.active_children():
                    process.terminate()
                raise
        group = [trial for trial in group if trial in broken]
        if group and at_once == 1:
            yield group[0], Tally(tried=1, aborts=1, faults=[f"{group[0].name}: the trial itself crashed"])
            group = group[1:]
        # which of them it was is seen once they run one after the other
        at_once = 1


def _end_with_all() -> None:
    # where the campaign is ended, a trial ends the processes that it has started
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
