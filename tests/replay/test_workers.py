"""Tasks by processes: all get their result whatever dies, and a task that kills its worker takes none along."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import time
from concurrent.futures import CancelledError

import numpy as np
import pytest

from replay.commands import simulate
from replay.simulations.models import realizations
from replay.workers import Failure, ProcessWorkers, run_in_order, run_tasks
from sim.models.beam import StochasticBeam
from tests.replay.worker_tasks import ThreadWorkers, doubled, marked, threads


def test_a_worker_that_dies_is_replaced_and_its_task_is_tried_again(tmp_path) -> None:
    with ProcessWorkers(2) as workers:
        found = {o.number: o.result for o in run_tasks(workers, marked, [(str(tmp_path), n) for n in range(9)])}
        (own,) = run_in_order(workers, threads, [0])
    assert {n: result for n, result in found.items() if n not in (5, 7)} == {n: 2 * n for n in (0, 1, 2, 3, 4, 6, 8)}
    assert isinstance(found[5], Failure)
    assert found[5].lost
    assert "its workers died" in found[5].text
    assert found[7] == Failure("unexpected TypeError: seven")
    assert len(list(tmp_path.glob("5-*"))) == 3
    assert own == ("1", os.getpid())
    assert not multiprocessing.active_children()


def test_processes_end_when_the_work_is_interrupted() -> None:
    with pytest.raises(KeyboardInterrupt), ProcessWorkers(1) as workers:
        for _ in run_tasks(workers, doubled, range(100)):
            raise KeyboardInterrupt
    assert not multiprocessing.active_children()


def test_sigterm_ends_the_workers_of_a_simulation(tmp_path, monkeypatch) -> None:
    """A process that died of it would leave its semaphores to the resource tracker, which warns of them."""

    def terminated(*arguments: object) -> None:
        for _ in run_tasks(arguments[-1], doubled, range(10_000)):
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr("replay.simulations.models.simulate_ensemble", terminated)
    parser = argparse.ArgumentParser()
    simulate.add_arguments(parser)
    with pytest.raises(KeyboardInterrupt):
        simulate.run(parser.parse_args(["beam", "--out", str(tmp_path / "e.h5"), "--workers", "1"]))
    assert not multiprocessing.active_children()


def test_results_are_in_order_and_only_so_many_wait() -> None:
    taken, ahead = [], []
    order = np.random.default_rng(1).uniform(0.0, 0.004, 60)

    def doubled_late(number: int) -> int:
        ahead.append(number - len(taken))
        time.sleep(order[number])
        return 2 * number

    with ThreadWorkers() as workers:
        for result in run_in_order(workers, doubled_late, range(60)):
            taken += [result]
    assert taken == [2 * n for n in range(60)]
    assert max(ahead) <= 2 * workers.n_pending


def test_a_failed_part_names_itself() -> None:
    def fail(number: int) -> int:
        raise ValueError(f"no {number}")

    with ThreadWorkers() as workers, pytest.raises(OSError, match=r"part \d of 2 failed: no"):
        list(run_in_order(workers, fail, range(2)))


def test_a_cluster_that_has_gone_is_one_line() -> None:
    def cancelled(number: int) -> int:
        raise CancelledError

    with ThreadWorkers() as workers, pytest.raises(OSError, match="the cluster has gone"):
        list(run_tasks(workers, cancelled, range(2)))


@pytest.mark.parametrize("number", [0, -1])
def test_there_is_at_least_one_worker(number: int) -> None:
    with pytest.raises(ValueError, match="--workers"):
        ProcessWorkers(number)


def test_an_ensemble_has_the_same_bits_by_processes_as_by_threads() -> None:
    model = StochasticBeam(horizon=0.1)
    with ProcessWorkers(2) as workers:
        found = np.hstack(list(realizations(model, 2500, 4, 100, workers)))
    assert found.shape[1] == 2400
    assert found.tobytes() == np.hstack(list(realizations(model, 2500, 4, 100))).tobytes()
