"""`synchroscope study`: the examples of papers, run and laid beside what the papers print."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

SUMMARY = "run a paper's examples and lay the results beside the paper's own"

# every study, and the options that are its own
_OPTIONS = {
    "tracking": ("case",),
    "beam": ("realizations", "replicates", "policy"),
    "sandia": ("realizations", "replicates", "policy"),
    "thermal": ("realizations", "resampled"),
    "delays": ("sigma", "runs", "priors"),
}

# what was found, as JSON and as tables, and what draws it
Found = tuple[Callable[[], dict[str, Any]], Callable[[], None], Callable[[Path], tuple[Path, ...]]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "name",
        choices=_OPTIONS,
        metavar="NAME",
        help="tracking: the tracking indicators; beam, sandia: the reliability of a model; thermal: a model from its "
        "material to a requirement; delays: parameter estimation where the model leaves something out",
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
    reliability = parser.add_argument_group("beam, sandia and thermal")
    reliability.add_argument(
        "--realizations", type=int, metavar="M", help="of the model (default 100000; sandia 10000, thermal 20000)"
    )
    reliability.add_argument("--replicates", type=int, metavar="N", help="of the experiment (default 3)")
    policies = ("literal", "floored", "peak")
    reliability.add_argument(
        "--policy", choices=policies, help="what the tolerance is a share of (default literal; sandia floored)"
    )
    reliability.add_argument("--resampled", type=int, metavar="N", help="data sets of thermal (default 500)")
    delays = parser.add_argument_group("delays")
    delays.add_argument(
        "--sigma", type=float, nargs="+", metavar="S", help="deviations of the noise (default 0.027 0.1 0.3)"
    )
    delays.add_argument("--runs", type=int, metavar="N", help="of each example (default 500), a multiple of five")
    delays.add_argument(
        "--priors", action="store_true", default=None, help="sample posteriors, too (needs emcee: the extra bayes)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run what was chosen; print tables, or JSON."""
    for option in sorted(set().union(*_OPTIONS.values()) - set(_OPTIONS[arguments.name])):
        if getattr(arguments, option) is not None:
            raise ValueError(f"--{option}: does not belong to the study {arguments.name}")
    if arguments.seed < 0:
        raise ValueError(f"--seed {arguments.seed}: must be zero or more")
    folder: Path | None = arguments.pictures
    with _writing(folder):
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
            # whether there may be pictures at all is known before the study, which takes its time
            TemporaryFile(dir=folder).close()
    as_json, show, draw = _STUDIES[arguments.name](arguments)
    # what was found is told before anything is drawn: a disk may be full
    if arguments.json:
        json.dump(as_json(), sys.stdout, indent=2)
        print(flush=True)
    else:
        show()
    if folder:
        with _writing(folder):
            drawn = draw(folder)
        print("\n".join(map(str, drawn)), file=sys.stderr)
    return 0


@contextmanager
def _writing(folder: Path | None) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise ValueError(f"--pictures {folder}: {problem.strerror or problem}") from problem


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


def _thermal(arguments: argparse.Namespace) -> Found:
    from monitor.commands.progress import bar
    from monitor.commands.study_thermal import print_study
    from monitor.commands.study_thermal_json import as_json
    from replay.studies.thermal import RESAMPLED, run_study

    with bar() as progress:
        study = run_study(
            n_realizations=arguments.realizations,
            n_resampled=RESAMPLED if arguments.resampled is None else arguments.resampled,
            seed=arguments.seed,
            progress=progress,
        )

    def draw(folder: Path) -> tuple[Path, ...]:
        from replay.studies.thermal_pictures import draw

        return draw(study, folder)

    return lambda: as_json(study), lambda: print_study(study), draw


def _delays(arguments: argparse.Namespace) -> Found:
    from monitor.commands.progress import bar
    from monitor.commands.study_delays import print_study
    from monitor.commands.study_delays_json import as_json
    from replay.studies.delays import RUNS, SIGMAS, run_study

    with bar() as progress:
        study = run_study(
            SIGMAS if arguments.sigma is None else arguments.sigma,
            n_runs=RUNS if arguments.runs is None else arguments.runs,
            seed=arguments.seed,
            priors=bool(arguments.priors),
            progress=progress,
        )

    def draw(folder: Path) -> tuple[Path, ...]:
        from replay.studies.delays_pictures import draw

        return draw(study, folder)

    return lambda: as_json(study), lambda: print_study(study), draw


_STUDIES: dict[str, Callable[[argparse.Namespace], Found]] = {
    "tracking": _tracking,
    "beam": _reliability,
    "sandia": _reliability,
    "thermal": _thermal,
    "delays": _delays,
}
