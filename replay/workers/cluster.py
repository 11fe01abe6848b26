"""Workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from replay.workers import WorkersLostError

if TYPE_CHECKING:
    from distributed import Client

T = TypeVar("T")
R = TypeVar("R")

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
