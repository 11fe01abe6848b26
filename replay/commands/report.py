"""`synchroscope report`: a recording and its assessment as one page of HTML."""

from __future__ import annotations

import argparse
from pathlib import Path

from monitor.commands.options import add_column_options, add_indicator_options
from monitor.commands.output import progress_bars
from monitor.system.safe_text import printable
from replay.commands import (
    add_part_options,
    column_selection,
    given_indicators,
    nothing_left_if_stopped,
    page_path,
    recording_part,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a recording, of any format that is read")
    parser.add_argument("--join", action="store_true", help="the files are parts of one run, in their order")
    parser.add_argument("-o", "--out", type=Path, metavar="OUT", help="the page (default: FILE.html, beside FILE)")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing page")
    add_part_options(parser, "report the record")
    parser.add_argument("--config", type=Path, metavar="TOML", help="use the indicators' settings in this file")
    add_indicator_options(parser)
    add_column_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the page, with a progress bar, and print its sentences in front."""
    from replay.formats.joined import open_run
    from replay.report import write_report

    files = arguments.files
    if len(files) > 1 and not arguments.join:
        raise ValueError(f"{len(files)} files: --join reports them as parts of one run; else report one at a time")
    out = page_path(arguments.out or files[0].with_suffix(".html"), files[0].stem)
    given = given_indicators(arguments)
    recording = recording_part(files[0], open_run(files, column_selection(arguments)), arguments)
    title = " + ".join(path.name for path in files)
    with nothing_left_if_stopped("report"), progress_bars() as progress:
        done = write_report(
            files[0], recording, out, given, title=title, overwrite=arguments.overwrite, progress=progress
        )
    for sentence in done.lead:
        print(printable(sentence))
    print(f"{printable(str(done.path))}: {done.size / 1e3:.0f} kB")
    return 0
