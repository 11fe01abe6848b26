"""A bar that tells how far something is."""

from __future__ import annotations

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
