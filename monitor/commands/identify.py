"""`synchroscope identify`: fit gain, delay and lag of the actuators to recorded runs."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from monitor.commands.options import add_column_options, positive

SUMMARY = "fit gain, delay and lag of the actuators to recorded runs, with what the fit does not know"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="run files or text files")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    group = parser.add_argument_group("fit")
    group.add_argument(
        "--max-delay", type=positive, default=0.1, metavar="S", help="largest delay that is sought (default 0.1)"
    )
    group.add_argument("--lag", action="store_true", help="fit a first-order lag, too")
    group.add_argument(
        "--drift",
        type=int,
        default=1,
        metavar="N",
        help="terms of a polynomial in time for what the actuator leaves (default 1, an offset; 0: none)",
    )
    add_column_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Fit every actuator of every file and print what was found."""
    from monitor.commands.identify_json import as_json
    from monitor.commands.identify_table import print_fits
    from monitor.commands.progress import bar
    from replay.formats import Selection, open_recording
    from replay.identification import identify

    selection = Selection(
        command=tuple(arguments.command),
        measured=tuple(arguments.measured),
        force=tuple(arguments.force),
        time=arguments.time,
        rate=arguments.rate,
    )
    found = []
    for path in arguments.files:
        recording = open_recording(path, selection)
        with bar() as progress:
            fits = identify(
                recording,
                max_delay=arguments.max_delay,
                with_lag=arguments.lag,
                n_drift=arguments.drift,
                progress=progress,
            )
        if arguments.json:
            found.append(as_json(path, recording.stream, fits, recording.notes))
        else:
            print_fits(path, recording.stream, fits, recording.notes)
    if arguments.json:
        json.dump(found[0] if len(found) == 1 else {"records": found}, sys.stdout, indent=2)
        print()
    return 0
