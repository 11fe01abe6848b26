"""`synchroscope runs`: the run files of a folder as a table, filtered and sorted."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from monitor.commands.output import progress_bars
from monitor.system.safe_text import printable
from monitor.text.numbers import DASH, clock_text
from replay.tables import report_console

if TYPE_CHECKING:
    from monitor.messages.recordings import RunRow
    from replay.runs.index import Listing

_WIDTH = 100
_GAP = "  "
_FILE, _NOTES = 23, 5
_WIDTHS = {"start": 16, "duration": 8, "outcome": 10, "worst ms": 8, "actuator": 10, "alarms": 6}
_LEAST_NEEDED = "actuator", "duration", "start", "outcome"
_NUMBERS = {"duration", "worst ms", "alarms"}
_NOT_JUDGED = "⊘"
_CUT = "…"
_LINE_INTERVAL = 2.0  # s, for logs and the window


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder of run files, with the folders below it")
    parser.add_argument(
        "--sort", default="start", metavar="KEY", help="key of --json; worst_delay_ms by its distance from zero"
    )
    parser.add_argument("--reverse", action="store_true", help="largest or newest first")
    parser.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="CONDITION",
        help="only runs with, for example, 'worst_delay_ms>30', 'outcome!=clean' or 'note_texts~pump'; repeatable, "
        "all must hold",
    )
    parser.add_argument("--since", metavar="ISO", help="only runs that start at or after this date or time")
    parser.add_argument("--until", metavar="ISO", help="only runs that start before this time, or by this day's end")
    parser.add_argument(
        "--json",
        action="store_true",
        help="print all values as one line of JSON; no worst_delay_at_s where the delay is constant",
    )
    parser.add_argument("--rebuild", action="store_true", help="read all files again")


def run(arguments: argparse.Namespace) -> int:
    """Bring the index up to date and print the selected rows."""
    from replay.runs.index import check_key, instant, list_runs, ordered, read_filter, selected

    filters = [read_filter(text) for text in arguments.where]
    check_key(arguments.sort)
    since = None if arguments.since is None else instant(arguments.since)
    until = None if arguments.until is None else instant(arguments.until, end=True)
    with progress_bars(_LINE_INTERVAL) as progress:
        listing = list_runs(arguments.folder, rebuild=arguments.rebuild, progress=progress)
    rows = ordered(selected(listing.rows, filters, since, until), arguments.sort, reverse=arguments.reverse)
    if arguments.json:
        found = {
            "folder": str(arguments.folder),
            "index": None if listing.index is None else str(listing.index),
            "found": len(listing.rows),
            "foreign": listing.foreign,
            "runs": [row.values() for row in rows],
        }
        # in one line, as the window reads the answers of commands
        print(json.dumps(found))
        return 0
    _print(arguments.folder, listing, rows)
    _print_unknown(rows, arguments.sort)
    if not listing.rows:
        _print_others(arguments.folder)
    return 0


def _print_unknown(rows: Sequence[RunRow], key: str) -> None:
    """Print how many of the rows have no value of the key by which they are sorted."""
    number = sum(getattr(row, key) is None for row in rows)
    if number:
        print(f"{number} {'run has' if number == 1 else 'runs have'} no {key}: at the end")


def _print_others(folder: Path) -> None:
    """Print what assesses the recordings of a folder without runs."""
    from replay.archive.files import find_files

    number = sum(file.problem is None for file in find_files([folder], folder / "runs.parquet"))
    if number:
        recordings = "recording" if number == 1 else "recordings"
        print(f"{number} other {recordings}: synchroscope assess {shlex.quote(printable(str(folder)))} --out TABLE")


def _print(folder: Path, listing: Listing, rows: Sequence[RunRow]) -> None:
    console = report_console(_WIDTH)
    widths = {"file": _FILE, **_WIDTHS, "notes": _NOTES}
    left_out = [key for key in _LEAST_NEEDED if _spare(widths, console) < 0 and widths.pop(key)]
    # what a wide terminal has more is shared by names and notes
    spare = max(0, _spare(widths, console))
    widths["file"] += min(spare // 2, max([0, *(cell_len(printable(row.file)) - _FILE for row in rows)]))
    widths["notes"] += max(0, _spare(widths, console))
    cut: dict[str, int] = {}
    lines = [_line(row, widths, cut) for row in rows]
    if rows:
        heading = (_sized(key, width, right=key in _NUMBERS) for key, width in widths.items())
        _put(console, _GAP.join(heading).rstrip(), "bold")
    for line, row in zip(lines, rows, strict=True):
        _put(console, line, "red" if row.problem else "")
        if row.problem and row.outcome is not None:
            _put(console, f"  {row.problem}", "red")
    unread = sum(bool(row.problem) for row in rows)
    total = f"{len(listing.rows)} {'run' if len(listing.rows) == 1 else 'runs'}"
    parts = [f"{len(rows)} of {total}" if len(rows) < len(listing.rows) else total]
    parts += [f"{unread} damaged"] if unread else []
    parts += [f"HDF5 files of other programs left out: {listing.foreign}"] if listing.foreign else []
    parts += [] if listing.index else ["the index could not be saved, the files will be read again"]
    _put(console, f"{printable(str(folder))}: {'; '.join(parts)}")
    if unjudged := sum(bool(row.not_judged_s) for row in rows):
        what = "run has alarms that were" if unjudged == 1 else "runs have alarms that were"
        _put(
            console, f"{_NOT_JUDGED}: {unjudged} {what} not judged for a while; --json has not_judged_s and the names"
        )
    if left_out:
        _put(console, f"no room for: {', '.join(left_out)}; --json has all")
    if cut:
        shortened = ", ".join(f"{key} of {number}" for key, number in cut.items())
        _put(console, f"shortened: {shortened}; --json has them whole")


def _spare(widths: dict[str, int], console: Console) -> int:
    return console.width - sum(widths.values()) - len(_GAP) * (len(widths) - 1)


def _put(console: Console, line: str, style: str = "") -> None:
    console.print(Text(line, style), crop=False, overflow="ignore", no_wrap=True)


def _line(row: RunRow, widths: dict[str, int], cut: dict[str, int]) -> str:
    """Return the line of a row, and count in `cut` the cells that are shortened."""
    notes = "" if not row.notes else f"{row.notes}: {printable(row.note_texts or '')}"
    if widths["notes"] <= 2 * _NOTES:
        notes = str(row.notes or "")
    alarms = DASH if row.alarms is None else f"{row.alarms or ''}"
    alarms += f" {_NOT_JUDGED}" if row.not_judged_s else ""
    cells = {
        "start": DASH if row.start is None else _local(row.start),
        "duration": DASH if row.duration_s is None else clock_text(row.duration_s),
        "outcome": printable(row.outcome or DASH),
        "worst ms": DASH if row.worst_delay_ms is None else f"{row.worst_delay_ms:.1f}",
        "actuator": printable(row.worst_actuator or ""),
        "alarms": alarms,
        "notes": notes,
    }
    file = _ended(printable(row.file), widths["file"], cut)
    if row.problem and row.outcome is None:
        room = sum(widths.values()) - widths["file"] + len(_GAP) * (len(widths) - 2)
        return f"{file}{_GAP}{_begun('problem', row.problem, room, cut)}".rstrip()
    sized = (
        _sized(_begun(key, text, widths[key], cut), widths[key], right=key in _NUMBERS)
        for key, text in cells.items()
        if key in widths
    )
    return _GAP.join((file, *sized)).rstrip()


def _begun(key: str, text: str, width: int, cut: dict[str, int]) -> str:
    """Return the beginning of a text that is too long."""
    if cell_len(text) <= width:
        return text
    cut[key] = cut.get(key, 0) + 1
    return set_cell_size(text, width - 1).rstrip() + _CUT


def _ended(text: str, width: int, cut: dict[str, int]) -> str:
    """Return the end of a path that is too long, where names differ, as wide as the column."""
    if cell_len(text) > width:
        cut["file"] = cut.get("file", 0) + 1
        while cell_len(text) > width - 1:
            text = text[1:]
        text = _CUT + text
    return set_cell_size(text, width)


def _sized(text: str, width: int, *, right: bool) -> str:
    return " " * (width - cell_len(text)) + text if right else set_cell_size(text, width)


def _local(start: str) -> str:
    """Return a start in local time, to the minute; as it is where it is no date."""
    try:
        return datetime.fromisoformat(start).astimezone().strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return printable(start)
