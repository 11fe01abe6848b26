"""`synchroscope assess`: delay and amplitude of the actuators in recorded runs, as tables or JSON."""

from __future__ import annotations

import argparse
import csv
import math
import signal
import sys
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from monitor.commands.options import add_column_options, add_indicator_options
from monitor.commands.output import compilation_progress, print_records, progress_bars
from monitor.commands.process import StopSignals
from monitor.system.safe_text import csv_cell, printable
from monitor.text.blocks import to_json
from replay.commands import (
    add_part_options,
    add_worker_options,
    check_replaced,
    column_selection,
    given_indicators,
    others_go_on,
    recording_part,
    workers_of,
)

if TYPE_CHECKING:
    from replay import Progress
    from replay.archive import ArchiveResult
    from replay.assessment import Assessment
    from replay.formats import Selection


# in --series without --every: an indicator changes over its window, not from sample to sample
_ROWS_PER_WINDOW = 100
_ROWS_WRITTEN = 10_000  # at a time
_MOST_PROBLEMS = 20  # lines; the table has all of them
_LINE_INTERVAL = 10.0  # s
_EXCLUDED = ("series", "json", "messages", "start", "stop", "remember")
_PICTURES = {".png", ".svg", ".pdf", ".jpg", ".jpeg"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE|DIR", help="recordings, of any format; folders: --out"
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="TABLE",
        help="assess all recordings of the folders into one table, .parquet or .csv, a row for each actuator, "
        "no worst_delay_at_s where the delay is constant; an interrupted table is continued by the same command",
    )
    parser.add_argument("--join", action="store_true", help="the files are parts of one run, in their order")
    parser.add_argument("--series", type=Path, metavar="FILE", help="write the values over time to this CSV file")
    parser.add_argument("--overwrite", action="store_true", help="let --series and --out replace an existing file")
    add_part_options(parser, "assess the record")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("--config", type=Path, metavar="TOML", help="use the indicators' settings in this file")
    add_indicator_options(parser)
    add_column_options(parser)
    add_worker_options(parser, "with --out: assess", "one a core")
    group = parser.add_argument_group("for programs")
    group.add_argument(
        "--messages", action="store_true", help="write signals, results and events to standard output, as messages"
    )
    group.add_argument("--auxiliary", action="store_true", help="with --messages: the file has no actuators")
    group.add_argument(
        "--result-bytes", type=float, metavar="N", help="with --messages: leave rows of results out beyond N bytes"
    )


def run(arguments: argparse.Namespace) -> int:
    """Assess every file and print the results."""
    if arguments.out is not None:
        return _run_archive(arguments, column_selection(arguments), given_indicators(arguments))
    folder = next((path for path in arguments.files if path.is_dir()), None)
    if folder is not None:
        raise ValueError(f"{folder} is a folder: --out TABLE.parquet assesses all of its recordings")
    if arguments.series and len(arguments.files) > 1 and not arguments.join:
        raise ValueError(f"--series takes one file, {len(arguments.files)} are given")
    if arguments.series and arguments.series.suffix.lower() in _PICTURES:
        raise ValueError(f"--series {arguments.series}: writes a CSV table; examples/plot_series.py draws it")
    if arguments.series and arguments.series.exists() and arguments.series.samefile(arguments.files[0]):
        raise ValueError(f"--series {arguments.series}: is the record itself; give another name")
    if arguments.series:
        check_replaced("--series", arguments.series, overwrite=arguments.overwrite)
    selection, given = column_selection(arguments, auxiliary=arguments.auxiliary), given_indicators(arguments)
    if arguments.auxiliary and not arguments.messages:
        raise ValueError("--auxiliary requires --messages: without actuators there is nothing to assess")
    if arguments.messages:
        return _write_messages(arguments, selection, given)
    records, failed = [], list[str]()
    runs = [tuple(arguments.files)] if arguments.join else [(path,) for path in arguments.files]
    for paths in runs:
        with others_go_on(arguments, failed):
            records += _assess(paths, arguments, selection, given)
    if arguments.json:
        print_records(records, several=len(runs) > 1)
    return 2 if failed else 0


def _assess(
    paths: tuple[Path, ...], arguments: argparse.Namespace, selection: Selection, given: dict[str, object]
) -> list[dict[str, Any]]:
    """Assess a run, of one file or several, and print the result; return it for JSON, if that is wanted."""
    from monitor.commands.output import compilation_announced
    from replay.assessment import assess
    from replay.assessment.run import record_settings
    from replay.commands.assess_blocks import assessment_blocks
    from replay.formats.joined import open_run
    from replay.tables import print_blocks, report_console

    path = Path(" + ".join(map(str, paths)))
    recording = recording_part(path, open_run(paths, selection), arguments)
    settings, settings_notes = record_settings(recording, given)
    announcement = nullcontext() if arguments.json else compilation_announced(f"assessing {printable(str(path))}")
    with announcement, progress_bars() as progress:
        assessment = assess(recording, settings, thin="every" not in given, progress=progress)
        notes = [*settings_notes, *assessment.notes]
        if arguments.series:
            every = 1 if "every" in given else _thinning(assessment)
            _write_series(assessment, arguments.series, every, progress)
            if every > 1:
                notes.append(
                    f"--series: every {every * assessment.settings.every}-th sample, {_ROWS_PER_WINDOW} rows a "
                    "window; --every 1 writes all"
                )
    blocks = list(assessment_blocks(path, assessment, notes, recording.notes))
    if arguments.json:
        return [to_json(blocks)]
    print_blocks(blocks, report_console(120))
    return []


def _write_messages(arguments: argparse.Namespace, selection: Selection, given: dict[str, object]) -> int:
    """Write one recording as messages to standard output."""
    from monitor.messages.recordings import RunProgress
    from monitor.system.worker_process import pack_message
    from replay.formats.joined import open_run
    from replay.formats.reading import PROGRESS

    def tell(task: str, done: int, total: int) -> None:
        sys.stdout.buffer.write(pack_message((b"progress", msgspec.json.encode(RunProgress(task, done, total)))))
        sys.stdout.buffer.flush()

    if (len(arguments.files) > 1 and not arguments.join) or arguments.json or arguments.series is not None:
        raise ValueError("--messages takes one file, or parts with --join, and neither --json nor --series")
    PROGRESS.set(tell)
    # what computes takes long to import
    Thread(target=import_module, args=("replay.assessment.messages",)).start()
    recording = recording_part(arguments.files[0], open_run(arguments.files, selection), arguments)
    from replay.assessment.messages import write_messages

    write_messages(recording, given, sys.stdout.buffer, arguments.result_bytes or math.inf)
    return 0


def _thinning(assessment: Assessment) -> int:
    """Return the decimation of the results that leaves `_ROWS_PER_WINDOW`."""
    settings = assessment.settings
    rows = settings.window * assessment.stream.sample_rate / settings.every
    return max(1, round(rows / _ROWS_PER_WINDOW))


def _write_series(assessment: Assessment, path: Path, every: int, progress: Progress) -> None:
    """Write a column for each result, in SI with its unit in the heading; every `every`-th row of the results."""
    series, several = assessment.series, len(assessment.pairs) > 1
    names = [f"{c.actuator}_{c.name}" if several else c.name for c in series.columns]
    headings = [f"{name} [{c.unit or 1}]" for name, c in zip(names, series.columns, strict=True)]
    table = np.column_stack([series.time[::every], series.values[::every]])
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["t [s]", *map(csv_cell, headings)])
            for first in range(0, len(table), _ROWS_WRITTEN):
                progress("rows written", first, len(table))
                rows = table[first : first + _ROWS_WRITTEN].tolist()
                writer.writerows([["" if math.isnan(x) else f"{x:.10g}" for x in row] for row in rows])
    except OSError as problem:
        raise ValueError(f"{path}: cannot be written ({problem.strerror or problem})") from problem


def _run_archive(arguments: argparse.Namespace, selection: Selection, given: dict[str, object]) -> int:
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
    from replay.archive.table import check_ending, has_finished_rows

    table = arguments.out
    check_ending(table)
    check_replaced("--out", table, overwrite=arguments.overwrite or has_finished_rows(table))
    archive = Archive(tuple(arguments.files), table, given, selection)
    done = [0, 0]
    try:
        # SIGTERM ends the workers, as Ctrl-C does
        with StopSignals(signal.SIGTERM) as stop, stop.interrupting():
            if arguments.scheduler is None:
                # once, not by every process at the same time
                with compilation_progress() as compiled:
                    warm_up(load_settings(None, {"indicators": given}).indicators.measures, progress=compiled)
            line = "{done} of {total} {label}"
            with progress_bars(_LINE_INTERVAL, line) as show, workers_of(arguments) as workers:

                def progress(label: str, finished: int, total: int) -> None:
                    done[:] = finished, total
                    show(label, finished, total)

                result = assess_archive(archive, workers, progress)
    except KeyboardInterrupt:
        print(
            f"interrupted: {done[0]} of {done[1]} files are done; the same command goes on from there, with the rows "
            f"in {table}.rows",
            file=sys.stderr,
        )
        return 130
    _report_archive(result, arguments)
    return 2 if result.problems else 0


def _report_archive(result: ArchiveResult, arguments: argparse.Namespace) -> None:
    for name, text in result.problems[:_MOST_PROBLEMS]:
        print(printable(f"{name}: {text}"), file=sys.stderr)
    left = len(result.problems) - _MOST_PROBLEMS
    if left > 0:
        print(f"and {left} more: see the column problem of {arguments.out}", file=sys.stderr)
    unchanged = f", {result.unchanged} of them unchanged since the last time" if result.unchanged else ""
    problems = f"; {len(result.problems)} without a result: exit code 2" if result.problems else ""
    print(f"{result.files} recordings{unchanged}, {result.rows} rows in {arguments.out}{problems}", file=sys.stderr)
