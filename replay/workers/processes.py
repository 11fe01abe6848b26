"""Processes of this machine as workers."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")
R = TypeVar("R")

# each process uses one core: linear algebra with threads of its own would only compete with the others
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def n_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class ProcessWorkers:
    """Fresh processes (spawn) that end with this one; as a context manager it stops them.

    Each is a pool of its own: a pool of several ends all of their tasks when one process dies.

    Parameters
    ----------
    number : of processes; default: one for each core.

    Raises
    ------
    ValueError : the number is below one.
    """

    attempts = 3
    lost: tuple[type[Exception], ...] = (BrokenProcessPool,)

    def __init__(self, number: int | None = None) -> None:
        if number is not None and number < 1:
            raise ValueError(f"--workers {number}: must be one or more")
        self.n_pending = number or n_cores()
        self._pools: list[ProcessPoolExecutor] = []
        self._tasks: list[Future[Any]] = []
        self._others: set[multiprocessing.process.BaseProcess] = set()

    def __enter__(self) -> Self:
        self._others = set(multiprocessing.active_children())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        processes = set(multiprocessing.active_children()) - self._others
        if error is not None:
            # a long record is not waited for
            for process in processes:
                process.terminate()
        for pool in self._pools:
            pool.shutdown(wait=True, cancel_futures=True)
        for process in processes:
            process.join()

    def submit(self, function: Callable[[T], R], argument: T) -> Future[R]:
        """Start a task on a process that is free, a new one if it has died."""
        free = next((i for i, task in enumerate(self._tasks) if task.done()), len(self._tasks))
        if free == len(self._pools):
            self._pools.append(_new_pool())
        try:
            with _one_thread():
                task = self._pools[free].submit(function, argument)
        except BrokenProcessPool:
            self._pools[free].shutdown(wait=True)
            self._pools[free] = _new_pool()
            with _one_thread():
                task = self._pools[free].submit(function, argument)
        self._tasks[free : free + 1] = [task]
        return task


def _new_pool() -> ProcessPoolExecutor:
    """Return a pool of one process, which is started with the first task."""
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), initializer=_prepare)


@contextmanager
def _one_thread() -> Iterator[None]:
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _prepare() -> None:
    """Leave Ctrl-C to the parent, and end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
