"""`synchroscope validate`: reliability of a user's model, the probability that it agrees with measurements."""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.commands.options import add_limit_option, limits_given, positive
from replay.commands import show

if TYPE_CHECKING:
    from replay import Progress
    from replay.validation.records import MeasuredRecord
    from replay.validation.validation import Site


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--model",
        action="append",
        required=True,
        type=Path,
        metavar="FILE",
        help="an ensemble: .npz or .h5 with time (n_times,) and response (n_times, n_realizations); or a prediction: "
        "a table of time, response and standard_deviation; once for each site",
    )
    parser.add_argument(
        "--measured",
        action="append",
        required=True,
        nargs="+",
        type=Path,
        metavar="FILE",
        help="records of time and response in any format, or run files, one a replicate; once for each --model, in "
        "its order",
    )
    parser.add_argument(
        "--tolerance",
        required=True,
        metavar="8%|ABS|FILE",
        help="allowable error of the model: a percentage, a number in the response's unit, or a table over time",
    )
    policies = ("literal", "floored", "peak", "absolute")
    parser.add_argument(
        "--policy",
        choices=policies,
        help="reference of a relative tolerance: the measurement at that instant (literal; the default), the same "
        "but not less than its rms (floored), or its peak; absolute: a number in the response's unit",
    )
    parser.add_argument(
        "--align",
        nargs="?",
        choices=("common", "each"),
        const="common",
        default="no",
        help="shift the records in time to the maximum of their correlation with the model's mean: all of a site by "
        "their mean lag (common; the default of --align), or each by its own; by default the lag is only reported",
    )
    parser.add_argument(
        "--resample", action="store_true", help="interpolate records that have no samples at the model's instants"
    )
    parser.add_argument(
        "--joint",
        action="store_true",
        help="several sites: count the realizations that are within the tolerance at all sites, instead of "
        "multiplying the sites' reliabilities",
    )
    parser.add_argument(
        "--window",
        type=positive,
        metavar="S",
        help="length of the windowed reliability (default: a fifth of the time)",
    )
    parser.add_argument(
        "--sensor-deviation",
        type=float,
        default=0.0,
        metavar="A",
        help="a prediction: standard deviation of the sensor's noise, in the response's unit (default 0)",
    )
    parser.add_argument(
        "--errors",
        choices=("common", "independent"),
        default="common",
        help="a prediction: whether its error is one for the whole record (the default), or a new one every instant",
    )
    parser.add_argument("--time", metavar="NAME", help="time column of the records, by name or number")
    parser.add_argument("--response", metavar="NAME", help="response column of the records, by name or number")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument(
        "--picture", type=Path, metavar="FILE", help="write a picture to this file (.png, .svg, .pdf)"
    )
    add_limit_option(parser)


def run(arguments: argparse.Namespace) -> int:
    """Validate, print the result, and draw a picture if requested."""
    from monitor.commands.output import progress_bars
    from replay.commands.validate_report import validation_blocks, validation_drawing
    from replay.pictures import DPI
    from replay.tables import report_console
    from replay.validation.validation import read_tolerance, validate

    if arguments.picture:
        import matplotlib  # noqa: F401
    tolerance = read_tolerance(arguments.tolerance, arguments.policy)
    with progress_bars() as progress:
        found = validate(
            _sites(arguments, progress),
            tolerance,
            align=arguments.align,
            resample=arguments.resample,
            joint=arguments.joint,
            window=arguments.window,
            limits=limits_given(arguments),
            progress=progress,
        )
    if arguments.picture:
        try:
            validation_drawing(found).savefig(arguments.picture, dpi=DPI)
        except (OSError, ValueError) as problem:
            reason = getattr(problem, "strerror", None) or problem
            raise ValueError(f"--picture {arguments.picture}: {reason}") from problem
    for note in found.notes:
        print(note, file=sys.stderr)
    show(list(validation_blocks(found)), report_console(110, wrap=True), as_json=arguments.json)
    return 0


def _sites(arguments: argparse.Namespace, progress: Progress) -> list[Site]:
    from monitor.reliability.gaussian import ErrorCorrelation
    from replay.validation.records import is_run, read_model, read_record, read_run
    from replay.validation.validation import Site

    models, measured = arguments.model, arguments.measured
    if len(models) == 1:
        # --measured a --measured b means the same as --measured a b
        measured = [[path for group in measured for path in group]]
    if len(models) != len(measured):
        raise ValueError(f"{len(models)} --model and {len(measured)} --measured: give one --measured for each site")
    if arguments.joint and len(models) < 2:
        raise ValueError("--joint: needs several sites, each with --model and --measured")
    total = len(models) + sum(map(len, measured))
    done = itertools.count(1)

    def read(path: Path) -> MeasuredRecord:
        found = (
            read_run(path, arguments.response)
            if is_run(path)
            else read_record(path, arguments.time, arguments.response)
        )
        progress("files read", next(done), total)
        return found

    sites = []
    for path, records in zip(models, measured, strict=True):
        model = read_model(path, arguments.sensor_deviation, ErrorCorrelation(arguments.errors))
        progress("files read", next(done), total)
        sites.append(Site(model, tuple(map(read, records))))
    return sites
