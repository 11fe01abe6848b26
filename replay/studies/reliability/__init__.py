"""The examples of the paper on reliability, with reference values."""

from __future__ import annotations

import argparse
from pathlib import Path

from replay.studies import StudyResult


def run(arguments: argparse.Namespace) -> StudyResult:
    """Run the study with the options."""
    from monitor.commands.output import progress_bars
    from monitor.reliability.tolerance import TolerancePolicy
    from replay.studies.reliability.report import as_json, print_study
    from replay.studies.reliability.study import REPLICATES, run_study

    with progress_bars() as progress:
        study = run_study(
            arguments.name,
            n_realizations=arguments.realizations,
            n_replicates=REPLICATES if arguments.replicates is None else arguments.replicates,
            seed=arguments.seed,
            policy=None if arguments.policy is None else TolerancePolicy(arguments.policy),
            progress=progress,
        )

    def draw(folder: Path) -> tuple[Path, ...]:
        from replay.studies.reliability.pictures import draw

        return draw(study, folder)

    return StudyResult(lambda: as_json(study), lambda: print_study(study), draw)
