"""`synchroscope assess`: delay and amplitude of the actuators in recorded runs, as tables or JSON."""

from __future__ import annotations

import argparse
import csv
import math
import sys
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from monitor.catalogue import CODE_UNIT
from monitor.commands.options import add_column_options, add_indicator_options
from monitor.commands.output import print_records, with_units
from monitor.messages.headline import HEADLINE
from monitor.system.safe_text import csv_cell, printable
from replay.commands import add_worker_options, column_selection, given_indicators, others_go_on, recording_part

if TYPE_CHECKING:
    from monitor.messages.blocks import Column, Samples
    from monitor.messages.transfer import TransferBlock
    from replay import Progress
    from replay.assessment import Assessment, HeadlineEstimate, PairAssessment
    from replay.assessment.change_points import Segmentation
    from replay.formats import Selection


# in --series without --every: an indicator changes over its window, not from sample to sample
_ROWS_PER_WINDOW = 100
_ROWS_WRITTEN = 10_000  # at a time
_PICTURES = {".png", ".svg", ".pdf", ".jpg", ".jpeg"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE|DIR",
        help="recordings, of any format; folders: --out",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="TABLE",
        help="assess all recordings of the folders into one table, .parquet or .csv, a row for each actuator, "
        "no worst_delay_at_s where the delay is constant; an interrupted table is continued by the same command",
    )
    parser.add_argument("--series", type=Path, metavar="FILE", help="write the values over time to this CSV file")
    parser.add_argument("--overwrite", action="store_true", help="let --series and --out replace an existing file")
    parser.add_argument("--start", type=float, metavar="S", help="assess the record from S seconds after its start")
    parser.add_argument("--stop", type=float, metavar="S", help="assess the record up to S seconds after its start")
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
        from replay.commands.assess_archive import run_archive

        return run_archive(arguments, column_selection(arguments), given_indicators(arguments))
    folder = next((path for path in arguments.files if path.is_dir()), None)
    if folder is not None:
        raise ValueError(f"{folder} is a folder: --out TABLE.parquet assesses all of its recordings")
    if arguments.series and len(arguments.files) > 1:
        raise ValueError(f"--series takes one file, {len(arguments.files)} are given")
    if arguments.series and arguments.series.suffix.lower() in _PICTURES:
        raise ValueError(f"--series {arguments.series}: writes a CSV table; examples/plot_series.py draws it")
    if arguments.series and arguments.series.exists() and arguments.series.samefile(arguments.files[0]):
        raise ValueError(f"--series {arguments.series}: is the record itself; give another name")
    if arguments.series and arguments.series.exists() and not arguments.overwrite:
        raise ValueError(f"--series {arguments.series}: exists; give another name or --overwrite")
    selection, given = column_selection(arguments, auxiliary=arguments.auxiliary), given_indicators(arguments)
    if arguments.auxiliary and not arguments.messages:
        raise ValueError("--auxiliary requires --messages: without actuators there is nothing to assess")
    if arguments.messages:
        return _write_messages(arguments, selection, given)
    records, failed = [], list[str]()
    for path in arguments.files:
        with others_go_on(arguments, failed):
            records += _assess(path, arguments, selection, given)
    if arguments.json:
        print_records(records, several=len(arguments.files) > 1)
    return 2 if failed else 0


def _assess(
    path: Path, arguments: argparse.Namespace, selection: Selection, given: dict[str, object]
) -> list[dict[str, Any]]:
    """Assess a file and print the result; return it for JSON, if that is wanted."""
    from monitor.commands.output import compilation_announced, progress_bars
    from replay.assessment import assess
    from replay.assessment.run import record_settings
    from replay.commands.assess_table import assessment_blocks
    from replay.formats import open_recording
    from replay.tables import print_blocks, report_console

    recording = recording_part(path, open_recording(path, selection), arguments)
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
    if arguments.json:
        return [as_json(path, assessment, notes)]
    print_blocks(assessment_blocks(path, assessment, notes, recording.notes), report_console(120))
    return []


def _write_messages(arguments: argparse.Namespace, selection: Selection, given: dict[str, object]) -> int:
    """Write one recording as messages to standard output."""
    from replay.assessment.messages import write_messages
    from replay.formats import open_recording

    if len(arguments.files) > 1 or arguments.json or arguments.series is not None:
        raise ValueError("--messages takes one file, and neither --json nor --series")
    (path,) = arguments.files
    recording = recording_part(path, open_recording(path, selection), arguments)
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


def as_json(path: Path, assessment: Assessment, notes: list[str]) -> dict[str, Any]:
    """Return the assessment of one record; times in ms, angles in rad, null where there is no value."""
    return {
        "file": str(path),
        "sample_rate": assessment.stream.sample_rate,
        "samples": assessment.samples,
        "duration_s": assessment.duration,
        "window_s": assessment.settings.window,
        "share": assessment.settings.share,
        "notes": notes,
        "warnings": [{"code": w.code, "actuator": w.actuator, "text": w.text} for w in assessment.warnings],
        "pairs": [_pair(found, assessment) for found in assessment.pairs],
    }


def _pair(found: PairAssessment, assessment: Assessment) -> dict[str, Any]:
    from replay.commands.assess_table import group_of

    channels = assessment.stream.channels
    pair: dict[str, Any] = {
        "actuator": found.pair.actuator,
        "command": channels[found.pair.command].name,
        "measured": channels[found.pair.measured].name,
        "headline": _headline(found.headline),
    }
    for column in assessment.series.columns:
        if column.actuator != found.pair.actuator or column.name.startswith("fei_") or column.unit == CODE_UNIT:
            continue
        group = group_of(column.name)
        # within its group the index of HSEM has no name of its own
        name = "normalized" if column.name == group else column.name.removeprefix(f"{group}_")
        key, factor = _key(name, column)
        value: object = (
            factor * found.totals[column.name]
            if column.name in found.totals
            else {name: factor * value for name, value in asdict(found.spreads[column.name]).items()}
        )
        (pair.setdefault(group, {}) if group else pair)[key] = value
    for group, how in found.contradicts.items():
        pair[group]["contradicts"] = how.fraction
    pair["fei"], pair["fei_tapered"] = with_units(found.whole.fei), with_units(found.whole.fei_tapered)
    pair["criteria"] = with_units(found.whole.criteria)
    pair["transfer"] = _transfer(assessment.transfer, found.pair.actuator)
    pair["valid_fraction"] = found.valid_fraction
    pair["missing"] = {
        measure: {reason.name.lower(): share for reason, share in presence.missing.items()}
        for measure, presence in found.presence.items()
    }
    summary = assessment.compensators.get(found.pair.actuator)
    units = {name: (f"{name}_fraction", 1.0) for name in ("adapting", "limited")}
    units |= {"delay": ("delay_ms", 1e3), "delay_range": ("delay_range_ms", 1e3), "bridged": ("bridged_samples", 1.0)}
    pair["compensator"] = None if summary is None else with_units(summary, units)
    return pair


def _headline(headline: HeadlineEstimate | None) -> dict[str, Any] | None:
    if headline is None:
        return None
    found = {"indicator": HEADLINE, **with_units(headline)}
    segmentations = {name: found.pop(f"{name}_segments") for name in ("delay", "ratio")}
    seconds = {"start": ("start_s", 1.0), "stop": ("stop_s", 1.0)}
    for name, factor, unit in (("delay", 1e3, "_ms"), ("ratio", 1.0, "")):
        departure = found[f"{name}_departure"]
        units = seconds | {"value": (f"{name}{unit}", factor), "sd": (f"{name}_sd{unit}", factor)}
        found[f"{name}_departure"] = None if departure is None else with_units(departure, units)
    return (
        found
        | _segmentation("delay", segmentations["delay"], 1e3, "_ms")
        | _segmentation("ratio", segmentations["ratio"], 1.0, "")
    )


def _segmentation(name: str, segmentation: Segmentation, factor: float, unit: str) -> dict[str, Any]:
    """Return the changes of a value, steps and drifts; times in s after the record's first sample."""
    seconds = {field: (f"{field}_s", 1.0) for field in ("time", "time_uncertainty", "start", "stop")}
    renamed = {"before": "from", "before_sd": "from_sd", "after": "to", "after_sd": "to_sd"}
    renamed |= {"first": "from", "last": "to", "sd": "sd"}
    units = seconds | {field: (f"{key}{unit}", factor) for field, key in renamed.items()}
    return {
        f"{name}_changes": [with_units(step, units) for step in segmentation.steps],
        f"{name}_drifts": [with_units(segment, units) for segment in segmentation.drifts],
    }


def _key(name: str, column: Column) -> tuple[str, float]:
    if name.startswith("delay"):
        return f"{name}_ms", 1e3
    suffix = {"s": "_s", "rad": "_rad", "Hz": "_hz"}.get(column.unit, "")
    return name + suffix, 1.0


def _transfer(transfer: TransferBlock | None, actuator: str) -> dict[str, Samples] | None:
    if transfer is None:
        return None
    known = np.isfinite(transfer.curve(actuator, "coherence"))
    curves = {"frequency_hz": transfer.frequency[known]}
    for column in transfer.stream.columns:
        if column.actuator == actuator:
            key, factor = _key(column.name, column)
            curves[key] = factor * transfer.curve(actuator, column.name)[known]
    return curves
