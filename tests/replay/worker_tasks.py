"""Tasks that workers of a test import, and workers that are threads of the test."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def doubled(number: int) -> int:
    return 2 * number


def marked(task: tuple[str, int]) -> int:
    """Double a number; the worker dies at 3, once, and at every attempt at 5."""
    folder, number = task
    attempt = len(list(Path(folder).glob(f"{number}-*")))
    Path(folder, f"{number}-{attempt}").touch()
    if (number == 3 and attempt == 0) or number == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 7:
        raise TypeError("seven")
    return 2 * number


def threads(_: int) -> tuple[str | None, int]:
    return os.environ.get("OPENBLAS_NUM_THREADS"), os.getppid()


class ThreadWorkers(ThreadPoolExecutor):
    attempts = 1
    lost: tuple[type[Exception], ...] = (InterruptedError,)
    n_pending = 3

    def __init__(self) -> None:
        super().__init__(3)
