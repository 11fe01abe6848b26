"""`synchroscope study`: the examples of papers, run and laid beside what the papers print."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

SUMMARY = "run a paper's examples and lay the results beside the paper's own"

_NAMES = ("tracking", "beam", "sandia")
_TRACKING_ONLY = ("case",)
_RELIABILITY_ONLY = ("realizations", "replicates", "policy")

# what was found, as JSON and as tables, and what draws it
Found = tuple[Callable[[], dict[str, Any]], Callable[[], None], Callable[[Path], tuple[Path, ...]]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "name",
        choices=_NAMES,
        metavar="NAME",
        help="tracking: the tracking indicators; beam, sandia: the reliability of a model",
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the random numbers (default 1)")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("--pictures", type=Path, metavar="DIR", help="draw everything into this folder")
    tracking = parser.add_argument_group("tracking")
    tracking.add_argument(
        "--case",
        action="append",
        metavar="CASE",
        help="i to vii, noise (PAEI in noise) or plant (the benchmark plant); repeatable; by default all",
    )
    reliability = parser.add_argument_group("beam and sandia")
    reliability.add_argument(
        "--realizations", type=int, metavar="M", help="of the model (default 100000; sandia 10000)"
    )
    reliability.add_argument("--replicates", type=int, metavar="N", help="of the experiment (default 3)")
    policies = ("literal", "floored", "peak")
    reliability.add_argument(
        "--policy", choices=policies, help="what the tolerance is a share of (default literal; sandia floored)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run what was chosen; print tables, or JSON."""
    others = _RELIABILITY_ONLY if arguments.name == "tracking" else _TRACKING_ONLY
    for option in others:
        if getattr(arguments, option) is not None:
            raise ValueError(f"--{option}: does not belong to the study {arguments.name}")
    if arguments.seed < 0:
        raise ValueError(f"--seed {arguments.seed}: must be zero or more")
    as_json, show, draw = _tracking(arguments) if arguments.name == "tracking" else _reliability(arguments)
    if arguments.pictures:
        try:
            arguments.pictures.mkdir(parents=True, exist_ok=True)
            drawn = draw(arguments.pictures)
        except OSError as problem:
            raise ValueError(f"--pictures {arguments.pictures}: {problem.strerror or problem}") from problem
        print("\n".join(map(str, drawn)), file=sys.stderr)
    if arguments.json:
        json.dump(as_json(), sys.stdout, indent=2)
        print()
    else:
        show()
    return 0


def _tracking(arguments: argparse.Namespace) -> Found:
    from monitor.commands.study_json import as_json
    from monitor.commands.study_tables import print_study
    from replay.studies.tracking import PARTS, run_study

    study = run_study(arguments.case or PARTS, arguments.seed)

    def draw(folder: Path) -> tuple[Path, ...]:
        from replay.studies.tracking_pictures import draw

        return draw(study, folder)

    return lambda: as_json(study), lambda: print_study(study), draw


def _reliability(arguments: argparse.Namespace) -> Found:
    from monitor.commands.progress import bar
    from monitor.commands.study_reliability import as_json, print_study
    from monitor.reliability.tolerance import Policy
    from replay.studies.reliability import REPLICATES, run_study

    with bar() as progress:
        study = run_study(
            arguments.name,
            n_realizations=arguments.realizations,
            n_replicates=REPLICATES if arguments.replicates is None else arguments.replicates,
            seed=arguments.seed,
            policy=None if arguments.policy is None else Policy(arguments.policy),
            progress=progress,
        )

    def draw(folder: Path) -> tuple[Path, ...]:
        from replay.studies.reliability_pictures import draw

        return draw(study, folder)

    return lambda: as_json(study), lambda: print_study(study), draw
