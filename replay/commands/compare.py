"""`synchroscope compare`: recorded runs beside a reference, with tolerances, as a table, JSON or a page."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monitor.commands.options import add_column_options, add_indicator_options
from monitor.commands.output import progress_bars
from monitor.system.safe_text import printable
from monitor.text.blocks import Block, Column, Data, Table, Text, Tone
from replay.commands import (
    column_selection,
    given_indicators,
    nothing_left_if_stopped,
    others_go_on,
    page_path,
    recording_part,
    show,
)
from replay.tables import report_console

if TYPE_CHECKING:
    from replay.comparison import AssessedRun, Quantity, RunComparison
    from replay.report import Written

_HEADINGS = ("quantity", "reference", "run", "difference", "p", "tolerance", "result")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "reference", type=Path, metavar="A", help="the reference, a recording of any format that is read"
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="B", help="recordings that are compared with it")
    lag = parser.add_mutually_exclusive_group()
    lag.add_argument(
        "--lag",
        type=float,
        action="append",
        metavar="S",
        help="B is S seconds later than A (default: estimated); once for all, or once for each B",
    )
    lag.add_argument("--no-align", action="store_true", help="compare from the first sample on, as --lag 0")
    lag.add_argument(
        "--align-by", choices=("command", "measured"), default="command", help="estimate the lag by these signals"
    )
    parser.add_argument(
        "--tolerance",
        action="append",
        default=[],
        metavar="KEY=VALUE[%]",
        help="largest difference of a quantity, in its unit or percent of A's; repeatable; exit code 1 if exceeded",
    )
    parser.add_argument("--start", type=float, metavar="S", help="compare from S seconds after A's start on")
    parser.add_argument("--stop", type=float, metavar="S", help="compare up to S seconds after A's start")
    parser.add_argument("-o", "--out", type=Path, metavar="OUT", help="write a page too, OUT.html")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing page")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("--config", type=Path, metavar="TOML", help="use the indicators' settings in this file")
    add_indicator_options(parser)
    add_column_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Compare, print, and return 1 if a tolerance is exceeded or cannot be checked."""
    from replay.assessment.run import record_settings
    from replay.comparison import assess_run, compare_runs, parse_tolerance
    from replay.formats import open_recording
    from replay.formats.table_recording import in_units_of

    tolerances = dict(map(parse_tolerance, arguments.tolerance))
    lags = _lags(arguments)
    selection, given = column_selection(arguments), given_indicators(arguments)
    recording = open_recording(arguments.reference, selection)
    recording_part(arguments.reference, recording, arguments)  # raises where A has no such part
    start = 0.0 if arguments.start is None else arguments.start
    stop = math.inf if arguments.stop is None else arguments.stop
    settings, notes = record_settings(recording, given)
    with _page(arguments) as write:
        with progress_bars() as progress:
            thin = "every" not in given
            reference = assess_run(arguments.reference, recording, settings, thin=thin, progress=progress)
            found, left_out = [], list[str]()
            for path, lag in zip(arguments.files, lags, strict=True):
                with others_go_on(arguments, left_out):
                    # the same window for all, for the same figures of the same motion
                    other = in_units_of(open_recording(path, selection), recording.stream)
                    run = assess_run(path, other, settings, thin=thin, progress=progress)
                    found.append(
                        compare_runs(
                            reference,
                            run,
                            lag=lag,
                            align_by=arguments.align_by,
                            start=start,
                            stop=stop,
                            tolerances=tolerances,
                        )
                    )
        if not found:
            raise ValueError(f"{arguments.reference}: none of the {len(arguments.files)} others could be compared")
        notes += [f"left out: {each}" for each in left_out]
        written = write(found, notes)
    failed = len(left_out)
    failed += sum(each.result in {"exceeded", "unknown"} for one in found for each in one.all_quantities())
    blocks = list(_blocks(reference, found, notes, failed if tolerances else None))
    show(blocks, report_console(120), as_json=arguments.json)
    if written is not None and not arguments.json:
        print(f"{printable(str(written.path))}: {written.size / 1e3:.0f} kB")
    return 2 if left_out else 1 if failed else 0


def _lags(arguments: argparse.Namespace) -> list[float | None]:
    """Return the lag of each run; None: to be estimated."""
    given = [0.0] if arguments.no_align else arguments.lag or [None]
    for lag in given:
        if lag is not None and not math.isfinite(lag):
            raise ValueError(f"--lag {lag}: must be a number of seconds")
    if len(given) not in (1, len(arguments.files)):
        raise ValueError(f"--lag: {len(given)} for {len(arguments.files)} runs; give one for all, or one for each")
    return given if len(given) > 1 else given * len(arguments.files)


@contextmanager
def _page(arguments: argparse.Namespace) -> Iterator[Callable[[list[RunComparison], list[str]], Written | None]]:
    """Yield a function that writes the page, if one was wanted; nothing is left of it after an error or a signal."""
    if arguments.out is None:
        if arguments.overwrite:
            raise ValueError("--overwrite replaces a page: give its name with -o")
        yield lambda *_: None
        return
    from replay.export.target_files import TargetFiles
    from replay.report import write_comparison

    out = page_path(arguments.out, f"{arguments.reference.stem}-compared")
    for path in arguments.files:
        if out.exists() and path.exists() and out.samefile(path):
            raise ValueError(f"{out}: is one of the recordings; give another name")
    targets = TargetFiles(out, arguments.reference, overwrite=arguments.overwrite)
    with nothing_left_if_stopped("compare"), targets:
        temporary = targets.temporary()
        yield lambda found, notes: write_comparison(temporary, out, found, notes)


def _blocks(
    reference: AssessedRun, found: list[RunComparison], notes: list[str], failed: int | None
) -> Iterator[Block]:
    from replay.comparison import P_MEANING, chance_text

    yield Data(_record(reference, found, notes, failed))
    for one in found:
        yield Text(f"{printable(str(one.path))} compared with {printable(str(reference.path))}", Tone.HEADING)
        yield Text(printable(_alignment_words(one, reference.assessment.settings.window)))
        tables = [("the run", one.quantities), *((each.actuator, each.quantities) for each in one.actuators)]
        for title, quantities in tables:
            rows = [_row(each) for each in quantities]
            titles = [title if any(row[i] for row in rows) else None for i, title in enumerate(_HEADINGS)]
            columns = [Column(title, form="g" if i else "") for i, title in enumerate(titles)]
            yield Table(printable(title), columns, rows)
        if any(chance_text(each.probability) for each in one.all_quantities()):
            for line in (P_MEANING, *filter(None, (each.pairing for each in one.actuators))):
                yield Text(printable(line))
        for each in (*notes, *one.notes, *_remarks(reference), *_remarks(one.run)):
            yield Text(f"note: {printable(each)}", Tone.WARNING)
        checked = [each.result for each in one.all_quantities() if each.result]
        if checked:
            missed = len(checked) - checked.count("within")
            words = f"{missed} of {len(checked)} not within tolerance" if missed else "all within tolerance"
            yield Text(words, Tone.BAD if missed else Tone.STRONG)


def _remarks(run: AssessedRun) -> list[str]:
    """Return the notes and warnings on a recording, with the name of its file."""
    return [f"{run.path}: {each}" for each in run.remarks]


def _alignment_words(one: RunComparison, window: float) -> str:
    alignment = one.alignment
    amount = abs(alignment.lag)
    late = f"{amount:.6g} s {'later' if alignment.lag > 0.0 else 'earlier'}" if amount else "not shifted"
    how = f"by {alignment.signal}" if alignment.signal else "as given"
    known = "" if math.isnan(alignment.correlation) else f", correlation {alignment.correlation:.6f}"
    return f"{late}, {how}{known}; {alignment.overlap:.4g} s in common, window {window:.4g} s"


def _row(each: Quantity) -> list[str]:
    from monitor.text.numbers import plus_minus
    from replay.comparison import chance_text

    found = each.estimate
    numbers = (found.reference, found.reference_sd), (found.value, found.sd), (each.difference, found.difference_sd)
    cells = [plus_minus(*each, digits=2, most=9) for each in numbers]
    return [each.key, *cells, chance_text(each.probability), str(each.tolerance or ""), each.result]


def _record(
    reference: AssessedRun, found: list[RunComparison], notes: list[str], failed: int | None
) -> dict[str, Any]:
    """Return all comparisons; null where there is no value, and for ``ok`` without tolerances."""
    return {
        "reference": str(reference.path),
        "window_s": reference.assessment.settings.window,
        "ok": None if failed is None else not failed,
        "notes": [*notes, *_remarks(reference)],
        "runs": [
            {
                "file": str(one.path),
                "lag_s": one.alignment.lag,
                "correlation": one.alignment.correlation,
                "aligned_by": one.alignment.signal or None,
                "start_s": one.alignment.start,
                "stop_s": one.alignment.stop,
                "common_s": one.alignment.overlap,
                "notes": [*one.notes, *_remarks(one.run)],
                **{each.key: _quantity(each) for each in one.quantities},
                "actuators": [
                    {
                        "actuator": actuator.actuator,
                        "compared_with": actuator.other,
                        **{each.key: _quantity(each) for each in actuator.quantities},
                    }
                    for actuator in one.actuators
                ],
            }
            for one in found
        ],
    }


def _quantity(each: Quantity) -> dict[str, Any]:
    return {
        "reference": each.reference,
        "reference_sd": each.estimate.reference_sd,
        "value": each.value,
        "sd": each.estimate.sd,
        "difference": each.difference,
        "difference_sd": each.estimate.difference_sd,
        "paired": each.estimate.paired,
        "significance": each.significance,
        "probability": each.probability,
        "limit": None if each.tolerance is None else each.tolerance.limit(each.reference),
        "result": each.result or None,
    }
