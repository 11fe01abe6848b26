"""One function over many arguments, by processes of this machine or on a Dask cluster; lost workers are replaced."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

if TYPE_CHECKING:
    from distributed import Client

T = TypeVar("T")
R = TypeVar("R")


class WorkersLostError(OSError):
    """The workers cannot be reached, or are no longer there; one line."""


class Workers(Protocol):
    """Where tasks run; a context manager that starts and stops them."""

    @property
    def n_pending(self) -> int:
        """Number of tasks that are submitted at a time: it bounds the memory."""

    @property
    def attempts(self) -> int:
        """How often a task is submitted whose worker dies; once where the workers try it again themselves."""

    @property
    def lost(self) -> tuple[type[Exception], ...]:
        """Exceptions of a task whose worker died."""

    def submit(self, function: Callable[[T], R], argument: T) -> Future[R]:
        """Start a task; at most `n_pending` are not done."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a task has no result: one line; ``lost`` where its worker died."""

    text: str
    lost: bool = False


@dataclass(frozen=True, slots=True)
class Outcome(Generic[R]):
    """The result of task ``number``, or why there is none."""

    number: int
    result: R | Failure


def run_tasks(
    workers: Workers, function: Callable[[T], R], arguments: Sequence[T], *, ahead: bool = True
) -> Iterator[Outcome[R]]:
    """Yield the outcome of each task as it ends; a task whose worker died is tried again.

    Parameters
    ----------
    workers : started.
    function : importable and without state: it may run anywhere, and more than once.
    arguments : one for each task.
    ahead : start tasks however far they are before the oldest that has not ended.

    Raises
    ------
    WorkersLostError : there are no workers any more.
    """
    waiting = deque(range(len(arguments)))
    attempts: Counter[int] = Counter()
    running: dict[Future[R], int] = {}
    try:
        while waiting or running:
            while waiting and len(running) < workers.n_pending:
                if not ahead and running and waiting[0] - min(running.values()) >= workers.n_pending:
                    break
                number = waiting.popleft()
                running[workers.submit(function, arguments[number])] = number
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in sorted(done, key=running.__getitem__):
                number = running.pop(future)
                result = _result(future, workers)
                attempts[number] += 1
                if isinstance(result, Failure) and result.lost and attempts[number] < workers.attempts:
                    waiting.appendleft(number)
                else:
                    yield Outcome(number, result)
    finally:
        for future in running:
            future.cancel()


def run_in_order(workers: Workers, function: Callable[[T], R], arguments: Sequence[T]) -> Iterator[R]:
    """Yield the results in the order of the arguments.

    Raises
    ------
    WorkersLostError : a task failed, or there are no workers any more.
    """
    early: dict[int, R] = {}
    following = 0
    for outcome in run_tasks(workers, function, arguments, ahead=False):
        if isinstance(outcome.result, Failure):
            raise WorkersLostError(f"part {outcome.number + 1} of {len(arguments)} failed: {outcome.result.text}")
        early[outcome.number] = outcome.result
        while following in early:
            yield early.pop(following)
            following += 1


def _result(future: Future[R], workers: Workers) -> R | Failure:
    try:
        return future.result()
    except workers.lost:
        return Failure("its workers died: is the file too large for their memory?", True)
    except CancelledError as problem:
        raise WorkersLostError("the cluster has gone: start it again; what is finished is kept") from problem
    except Exception as problem:  # noqa: BLE001 whatever a task raises, the others go on
        return Failure(_line(problem))


def _line(problem: BaseException) -> str:
    """Return an error as one line; of one that is no message to a user, with its type."""
    text = " ".join(str(problem).split()) or type(problem).__name__
    user_error = isinstance(problem, ValueError | OSError)
    if user_error or str(problem) == "":
        return text
    if isinstance(problem, ModuleNotFoundError):
        return f"the worker lacks the package {problem.name}"
    return f"unexpected {type(problem).__name__}: {text}"


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
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), initializer=_prepare_process)


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


def _prepare_process() -> None:
    """Leave Ctrl-C to the parent, and end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


# s to reach the scheduler, and for its first worker
_CONNECT = 15.0
# tasks submitted for each thread of the cluster: a worker need not wait for the next one
_PENDING = 2


class ClusterWorkers:
    """The workers of a scheduler; as a context manager it connects and disconnects.

    Dask itself tries a task again on another worker when one dies, three times by default
    (``distributed.scheduler.allowed-failures``).

    Parameters
    ----------
    scheduler : its address, such as ``tls://host:8786``.
    ca, cert, key : PEM files for TLS; without them those of Dask's configuration (``distributed.comm.tls``).

    Raises
    ------
    ModuleNotFoundError : Dask is not installed.
    """

    attempts = 1

    def __init__(
        self, scheduler: str, *, ca: Path | None = None, cert: Path | None = None, key: Path | None = None
    ) -> None:
        from distributed import KilledWorker

        self.lost: tuple[type[Exception], ...] = (KilledWorker,)
        self._scheduler, self._files = scheduler, {"ca": ca, "cert": cert, "key": key}
        self._client: Client | None = None
        self._executor: Executor | None = None

    @property
    def n_pending(self) -> int:
        """Two tasks for each thread of the cluster as it is now."""
        assert self._client is not None
        return max(2, _PENDING * sum(map(int, self._client.nthreads().values())))

    def __enter__(self) -> Self:
        from distributed import Client

        missing = [str(path) for path in self._files.values() if path is not None and not path.is_file()]
        if missing:
            raise ValueError(f"{missing[0]}: no such file; --tls-ca, --tls-cert and --tls-key name PEM files")
        try:
            self._client = Client(self._scheduler, security=self._security(), timeout=_CONNECT, set_as_default=False)
        except (OSError, ValueError, TypeError, RuntimeError) as problem:
            why = " ".join(str(problem).split()) or type(problem).__name__
            raise WorkersLostError(f"--scheduler {self._scheduler}: cannot be reached ({why})") from problem
        try:
            # they may have been started just now
            self._client.wait_for_workers(1, timeout=_CONNECT)
        except TimeoutError as problem:
            self._client.close()
            raise WorkersLostError(
                f"--scheduler {self._scheduler}: has no workers after {_CONNECT:g} s: start some, dask worker "
                f"{self._scheduler}"
            ) from problem
        self._executor = self._client.get_executor(pure=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._client is not None:
            self._client.close()

    def submit(self, function: Callable[[T], R], argument: T) -> Future[R]:
        """Start a task on some worker."""
        assert self._executor is not None
        return self._executor.submit(function, argument)

    def _security(self) -> Any:
        from distributed.security import Security

        if not any(self._files.values()):
            # what Dask's configuration has
            return None if not self._scheduler.startswith("tls://") else Security(require_encryption=True)
        ca, cert, key = (None if path is None else str(path) for path in self._files.values())
        return Security(tls_ca_file=ca, tls_client_cert=cert, tls_client_key=key, require_encryption=True)
