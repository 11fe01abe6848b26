"""`synchroscope assess DIR --out TABLE`: all recordings of folders in one table."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from monitor.commands.output import compilation_progress, progress_bars
from monitor.commands.process import StopSignals
from monitor.system.safe_text import printable
from replay.commands import workers_of

if TYPE_CHECKING:
    from replay import Progress
    from replay.archive import ArchiveResult
    from replay.formats import Selection

_MOST_PROBLEMS = 20  # lines; the table has all of them
_LINE_INTERVAL = 10.0  # s
_EXCLUDED = ("series", "json", "messages", "start", "stop", "remember")


def run_archive(arguments: argparse.Namespace, selection: Selection, given: dict[str, object]) -> int:
    """Assess the folders; the exit code is 2 where a file has no result.

    Raises
    ------
    ValueError : options that do not go together, no recordings, or a table that cannot be written.
    """
    for name in _EXCLUDED:
        if getattr(arguments, name) not in (None, False):
            raise ValueError(f"--out is a table of many runs: leave --{name} out, or --out")
    from monitor.config import load_settings
    from monitor.engine.monitor import warm_up
    from replay.archive import Archive, assess_archive
    from replay.archive.finished import has_finished_rows
    from replay.archive.table import check_ending

    table = arguments.out
    check_ending(table)
    if table.exists() and not (arguments.overwrite or has_finished_rows(table)):
        raise ValueError(f"--out {table}: exists; give another name or --overwrite")
    archive = Archive(tuple(arguments.files), table, given, selection)
    done = [0, 0]
    try:
        # SIGTERM ends the workers, as Ctrl-C does
        with StopSignals(signal.SIGTERM) as stop, stop.interrupting():
            if arguments.scheduler is None:
                # once, not by every process at the same time
                with compilation_progress() as compiled:
                    warm_up(load_settings(None, {"indicators": given}).indicators.measures, progress=compiled)
            with _progress(done) as progress, workers_of(arguments) as workers:
                result = assess_archive(archive, workers, progress)
    except KeyboardInterrupt:
        print(
            f"interrupted: {done[0]} of {done[1]} files are done; the same command goes on from there, with the rows "
            f"in {table}.rows",
            file=sys.stderr,
        )
        return 130
    _report(result, arguments)
    return 2 if result.problems else 0


def _report(result: ArchiveResult, arguments: argparse.Namespace) -> None:
    for name, text in result.problems[:_MOST_PROBLEMS]:
        print(printable(f"{name}: {text}"), file=sys.stderr)
    left = len(result.problems) - _MOST_PROBLEMS
    if left > 0:
        print(f"and {left} more: see the column problem of {arguments.out}", file=sys.stderr)
    unchanged = f", {result.unchanged} of them unchanged since the last time" if result.unchanged else ""
    problems = f"; {len(result.problems)} without a result: exit code 2" if result.problems else ""
    print(f"{result.files} recordings{unchanged}, {result.rows} rows in {arguments.out}{problems}", file=sys.stderr)


@contextmanager
def _progress(newest: list[int]) -> Iterator[Progress]:
    """Yield a callback that shows a bar on a terminal, otherwise a line every 10 s; `newest` gets done and total."""
    last, show_line = time.monotonic(), not sys.stderr.isatty()
    with progress_bars() as bars:
        show: Callable[[str, int, int], None] = bars

        def update(task: str, done: int, total: int) -> None:
            nonlocal last
            newest[:] = done, total
            show(task, done, total)
            if show_line and time.monotonic() - last >= _LINE_INTERVAL:
                last = time.monotonic()
                print(f"{done} of {total} {task}", file=sys.stderr, flush=True)

        yield update
