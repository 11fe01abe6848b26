"""`synchroscope identify`: fit gain, delay and lag of the actuators to recorded runs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.commands.options import add_column_options, positive
from monitor.system.safe_text import printable
from replay.commands.column_selection import column_selection

if TYPE_CHECKING:
    from replay.formats import Recording, Selection
    from replay.identification.actuators import Identified


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="run files or text files")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    group = parser.add_argument_group("fit")
    group.add_argument(
        "--max-delay",
        type=positive,
        default=0.1,
        metavar="S",
        help="largest delay that is sought (default 0.1, 1 at most)",
    )
    group.add_argument(
        "--lag",
        action="store_true",
        help="fit a first-order lag, too, where the record shows one: needs a motion of several frequencies",
    )
    group.add_argument(
        "--drift",
        type=int,
        default=1,
        metavar="N",
        help="terms of a polynomial in time beside the actuator, 0 to 6 (default 1: an offset; 2: a drift, too)",
    )
    add_column_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Fit every actuator of every file and print what was found; return 2 if one of them could not be fitted."""
    from monitor.commands.json_values import print_records
    from replay.commands.identify_report import as_json, print_fits
    from replay.identification.actuators import check_settings

    selection = column_selection(arguments)
    check_settings(arguments.max_delay, arguments.drift)
    records, problems = [], []
    for path in arguments.files:
        recording, found = _identified(path, selection, arguments)
        # a script has them in the JSON as well, and sees by the code that there are some
        problems += [problem if str(path) in problem else f"{path}: {problem}" for problem in found.problems]
        if arguments.json:
            records.append(as_json(path, recording, found))
        elif recording and found.fits:
            print_fits(path, recording.stream, found.fits, recording.notes)
    if arguments.json:
        print_records(records)
    for problem in problems:
        print(f"synchroscope identify: {printable(problem)}", file=sys.stderr)
    return 2 if problems else 0


def _identified(
    path: Path, selection: Selection, arguments: argparse.Namespace
) -> tuple[Recording | None, Identified]:
    """Return a record, if it can be read, and what was found of it; what goes wrong is a problem of it alone."""
    from monitor.commands.progress import bar
    from replay.formats import open_recording
    from replay.identification.actuators import Identified, identify

    recording = None
    try:
        recording = open_recording(path, selection)
        with bar() as progress:
            return recording, identify(
                recording,
                max_delay=arguments.max_delay,
                with_lag=arguments.lag,
                n_drift=arguments.drift,
                progress=progress,
            )
    except (ValueError, OSError) as problem:
        return recording, Identified((), (str(problem),))
