"""`synchroscope export`: a run or another recording as a file of another program."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from monitor.commands.options import add_column_options
from monitor.commands.output import progress_bars
from monitor.system.safe_text import printable
from replay.commands import column_selection, nothing_left_if_stopped

_FORMATS = ("csv", "parquet", "mat", "mcap", "hdf5-1.8")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("file", type=Path, metavar="FILE", help="run file or other recording; it is not changed")
    parser.add_argument(
        "--to",
        required=True,
        choices=_FORMATS,
        metavar="FORMAT",
        help="csv; parquet (pandas, Polars, DuckDB); mat (MATLAB, Octave); mcap (Foxglove, PlotJuggler); hdf5-1.8: a "
        "run file for MATLAB before R2021b and Octave, compressed",
    )
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        metavar="OUT",
        help="the new file (default: FILE with the format's ending); with csv and parquet, results and events are "
        "in OUT-results and OUT-events",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace existing files")
    add_column_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Export, with a progress bar, and print what was written."""
    from replay.export import export

    wanted = arguments.file, arguments.to, arguments.out, column_selection(arguments)
    with nothing_left_if_stopped("export"), progress_bars() as progress:
        done = export(*wanted, overwrite=arguments.overwrite, progress=progress)
    for note in done.notes:
        print(f"note: {printable(note)}", file=sys.stderr)
    results = f", {done.results} result rows" if done.results else ""
    events = f", {done.events} events" if done.events else ""
    print(f"{', '.join(printable(str(path)) for path in done.paths)}: {done.samples} samples{results}{events}")
    return 0
