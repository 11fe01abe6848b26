"""One function over many arguments, by processes of this machine or on a Dask cluster; lost workers are replaced."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

__all__ = ["Failure", "Outcome", "Workers", "WorkersLostError", "run_in_order", "run_tasks"]

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
