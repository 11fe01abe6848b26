"""`synchroscope assess`: what the indicators say of recorded runs."""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monitor.commands.options import add_column_options, add_indicator_options, indicator_overrides

if TYPE_CHECKING:
    from monitor.config import IndicatorSettings
    from replay.assessment import Assessment, PairAssessment, Series
    from replay.formats import Recording

SUMMARY = "say how late and how large the actuators were in recorded runs"

# key in the JSON: (column, factor)
_JSON = {
    "fdb": {
        "ratio": ("fdb_ratio", 1.0),
        "phase_rad": ("fdb_phase", 1.0),
        "delay_ms": ("fdb_delay", 1e3),
        "frequency_hz": ("fdb_frequency", 1.0),
    },
    "paei": {
        "ratio": ("paei_ratio", 1.0),
        "amplitude_error": ("paei_amplitude_error", 1.0),
        "phase_rad": ("paei_phase", 1.0),
        "delay_ms": ("paei_delay", 1e3),
    },
}
_JSON_FLAT = ("ti", "nrmse", "peak_error", "peak_error_relative")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="run files or text files")
    parser.add_argument("--series", type=Path, metavar="FILE", help="write all values over time to this CSV file")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    add_indicator_options(parser)
    add_column_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Assess every file and print what was found."""
    from replay.assessment import assess

    if arguments.series and len(arguments.files) > 1:
        raise ValueError(f"--series takes one file, {len(arguments.files)} are given")
    if arguments.series and arguments.series.exists() and arguments.series.samefile(arguments.files[0]):
        raise ValueError(f"--series {arguments.series}: is the record itself; give another name")
    found = []
    for path in arguments.files:
        recording = _open(path, arguments)
        settings, note = _settings(recording, arguments)
        assessment = assess(recording, settings, thin=arguments.series is None)
        notes = [*([note] if note else []), *assessment.notes]
        if arguments.series:
            _write_series(assessment.series, arguments.series, len(assessment.pairs) > 1)
        if arguments.json:
            found.append(_as_json(path, assessment, notes))
        else:
            _print_table(path, assessment, notes)
    if arguments.json:
        json.dump(found[0] if len(found) == 1 else {"records": found}, sys.stdout, indent=2)
        print()
    return 0


def _open(path: Path, arguments: argparse.Namespace) -> Recording:
    from replay.formats import Selection, open_recording

    selection = Selection(
        command=tuple(arguments.command),
        measured=tuple(arguments.measured),
        force=tuple(arguments.force),
        time=arguments.time,
        rate=arguments.rate,
    )
    return open_recording(path, selection)


def _settings(recording: Recording, arguments: argparse.Namespace) -> tuple[IndicatorSettings, str]:
    from monitor.config import load_settings
    from replay.window_choice import choose_window

    # a run file is assessed as it was watched, unless told otherwise
    recorded: dict[str, Any] = getattr(recording, "settings", {}).get("indicators", {})
    chosen: dict[str, object] = {**recorded, **indicator_overrides(arguments)}
    settings = load_settings(None, {"indicators": chosen}).indicators
    if "window" in chosen:
        return settings, ""
    window, note = choose_window(recording, settings.window)
    return settings.model_copy(update={"window": window}), note


def _as_json(path: Path, assessment: Assessment, notes: list[str]) -> dict[str, Any]:
    return {
        "file": str(path),
        "sample_rate": assessment.stream.sample_rate,
        "samples": assessment.samples,
        "duration_s": assessment.duration,
        "window_s": assessment.settings.window,
        "notes": notes,
        "pairs": [_pair_as_json(pair, assessment) for pair in assessment.pairs],
    }


def _pair_as_json(found: PairAssessment, assessment: Assessment) -> dict[str, Any]:
    channels = assessment.stream.channels
    pair: dict[str, Any] = {
        "actuator": found.pair.actuator,
        "command": channels[found.pair.command].name,
        "measured": channels[found.pair.measured].name,
    }
    for group, keys in _JSON.items():
        pair[group] = {key: _spread_as_json(found, column, factor) for key, (column, factor) in keys.items()}
    for column in _JSON_FLAT:
        pair[column] = _spread_as_json(found, column, 1.0)
    pair["valid_fraction"] = found.valid_fraction
    return pair


def _spread_as_json(found: PairAssessment, column: str, factor: float) -> dict[str, float | None]:
    spread = found.spreads[column]
    numbers = {name: getattr(spread, name) * factor for name in ("median", "mean", "p05", "p95")}
    return {name: number if math.isfinite(number) else None for name, number in numbers.items()}


def _write_series(series: Series, path: Path, several: bool) -> None:
    import pandas as pd

    names = [f"{c.actuator}_{c.name}" if several else c.name for c in series.columns]
    table = pd.DataFrame(series.values, columns=pd.Index(names))
    table.insert(0, "t", series.time)
    try:
        table.to_csv(path, index=False)
    except OSError as problem:
        raise ValueError(f"{path}: cannot be written ({problem.strerror or problem})") from problem


def _print_table(path: Path, assessment: Assessment, notes: list[str]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # in a pipe Rich takes 80 columns for granted, and cuts the numbers
    console = Console(soft_wrap=True, width=None if sys.stdout.isatty() else 110)
    # Text, because file names and headers may hold brackets, which would be taken for markup
    console.print(
        Text(str(path), "bold"),
        f" {assessment.samples} samples, {assessment.duration:.4g} s at "
        f"{assessment.stream.sample_rate:g} Hz, window {assessment.settings.window:.4g} s",
    )
    for found in assessment.pairs:
        channels = assessment.stream.channels
        title = f"{channels[found.pair.command].name} -> {channels[found.pair.measured].name}"
        table = Table(title=Text(f"{title}, valid {100 * found.valid_fraction:.0f} %"), title_justify="left")
        table.add_column("indicator", no_wrap=True)
        table.add_column("unit")
        for heading in ("median", "mean", "5 %", "95 %"):
            table.add_column(heading, justify="right")
        for column in assessment.series.columns[: len(found.spreads)]:
            name = column.name
            unit, factor = {"s": ("ms", 1e3), "rad": ("deg", 180.0 / math.pi)}.get(column.unit, (column.unit, 1.0))
            spread = found.spreads[name]
            numbers = (spread.median, spread.mean, spread.p05, spread.p95)
            table.add_row(name, Text(unit), *(f"{factor * n:.4g}" if math.isfinite(n) else "—" for n in numbers))
        console.print(table)
    for note in notes:
        console.print(Text(f"note: {note}"), style="yellow")
