"""`synchroscope recover`: rewrite a run file that was not closed properly, or is damaged."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from monitor.commands.output import progress_bars
from monitor.commands.process import StopSignals
from monitor.system.safe_text import printable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("file", type=Path, metavar="FILE", help="the run file; it is not changed")
    parser.add_argument(
        "-o", "--out", type=Path, metavar="OUT", help="the new file (default: FILE with .recovered.h5)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Recover a file and print what was recovered; return 0, or 2 if nothing could be read."""
    from monitor.recording.layout import CLEAN, LOSSY, RECOVERED, RunFileError
    from monitor.recording.recovery import recover

    try:
        # SIGTERM removes the unfinished file, as Ctrl-C does
        with StopSignals(signal.SIGTERM) as stop, stop.interrupting(), progress_bars() as progress:
            done = recover(arguments.file, arguments.out, progress)
    except RunFileError as problem:
        print(f"synchroscope recover: {printable(str(problem))}", file=sys.stderr)
        return 2
    if done.outcome_found in (CLEAN, LOSSY, RECOVERED) and not done.trimmed:
        print(f"{printable(str(arguments.file))} was closed properly ({done.outcome_found})", file=sys.stderr)
    print(
        f"{printable(str(done.path))}: {done.samples} samples, {done.results} result rows and {done.events} events "
        f"recovered; {done.trimmed} incomplete samples left out; the outcome was {done.outcome_found!r}"
    )
    for warning in done.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    return 0
