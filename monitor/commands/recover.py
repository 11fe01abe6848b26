"""synchroscope recover: make a readable run file of one that a killed service left behind."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from monitor.commands.process import StopSignals
from monitor.system.safe_text import printable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("file", type=Path, metavar="FILE", help="the run file; it is not changed")
    parser.add_argument(
        "-o", "--out", type=Path, metavar="OUT", help="the new file (default: FILE with .recovered.h5)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Recover, say what was kept; return 0, or 2 when nothing could be."""
    from monitor.recording.layout import CLEAN, LOSSY, RECOVERED, RunFileError
    from monitor.recording.recovery import recover

    # told to end, it takes its unfinished file away
    stop = StopSignals(signal.SIGTERM)
    try:
        with stop.at_once():
            done = recover(arguments.file, arguments.out)
    except RunFileError as problem:
        print(f"synchroscope recover: {printable(str(problem))}", file=sys.stderr)
        return 2
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if done.outcome_found in (CLEAN, LOSSY, RECOVERED) and not done.trimmed:
        print(f"{printable(str(arguments.file))} was closed properly ({done.outcome_found})", file=sys.stderr)
    print(
        f"{printable(str(done.path))}: kept {done.samples} samples, {done.results} result rows and {done.events} "
        f"events; trimmed {done.trimmed} samples; the outcome was {done.outcome_found!r}"
    )
    for doubt in done.doubts:
        print(f"warning: {doubt}", file=sys.stderr)
    return 0
