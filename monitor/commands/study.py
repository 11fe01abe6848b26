"""`synchroscope study`: the examples of papers, run and laid beside what the papers print."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

SUMMARY = "run a paper's examples and lay the results beside the paper's own"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("name", choices=("tracking",), metavar="NAME", help="tracking: the tracking indicators")
    parser.add_argument(
        "--case",
        action="append",
        default=[],
        metavar="CASE",
        help="i to vii, noise (PAEI in noise) or plant (the benchmark plant); repeatable; by default all",
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of everything random")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("--pictures", type=Path, metavar="DIR", help="draw every case into this folder")


def run(arguments: argparse.Namespace) -> int:
    """Run the chosen cases; print tables, or JSON."""
    from monitor.commands.study_json import as_json
    from monitor.commands.study_tables import print_study
    from replay.studies.tracking import PARTS, run_study

    if arguments.seed < 0:
        raise ValueError(f"--seed {arguments.seed}: must be zero or more")
    study = run_study(arguments.case or PARTS, arguments.seed)
    if arguments.pictures:
        from replay.studies.tracking_pictures import draw

        try:
            arguments.pictures.mkdir(parents=True, exist_ok=True)
            drawn = draw(study, arguments.pictures)
        except OSError as problem:
            raise ValueError(f"--pictures {arguments.pictures}: {problem.strerror or problem}") from problem
        print("\n".join(map(str, drawn)), file=sys.stderr)
    if arguments.json:
        json.dump(as_json(study), sys.stdout, indent=2)
        print()
    else:
        print_study(study)
    return 0
