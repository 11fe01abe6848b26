"""Progress on standard error: bars on a terminal, and lines where there is none."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def bar() -> Iterator[Callable[[str, int, int], None]]:
    """Show a bar on standard error for each thing that is told of: what, how much of it, how much there is.

    Where standard error is no terminal, nothing is shown.
    """
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TaskID, TimeRemainingColumn

    columns = *Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeRemainingColumn()
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as shown:
        tasks: dict[str, TaskID] = {}

        def progress(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = shown.add_task(what, total=total)
            shown.update(tasks[what], completed=done, total=total)

        yield progress


_LINE_INTERVAL = 5.0  # s


@contextmanager
def compilation_progress(say: Callable[[str], None]) -> Iterator[Callable[[int, int, str], None]]:
    """Show how far the compilation of kernels is: a bar on a terminal, else a line every five seconds.

    Yields a callback with how many are compiled, of how many, and the name of the newest. Kernels loaded from disk
    show nothing.

    Parameters
    ----------
    say : takes a line.
    """
    with bar() as show:
        newest = time.monotonic()

        def progress(done: int, total: int, name: str) -> None:
            nonlocal newest
            if not name:
                return
            show("compiling kernels", done, total)
            if time.monotonic() - newest >= _LINE_INTERVAL and not sys.stderr.isatty():
                newest = time.monotonic()
                say(f"compiling kernels: {done} of {total} ({name})")

        yield progress
