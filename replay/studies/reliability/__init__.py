"""The examples of the paper on reliability, with reference values."""

from __future__ import annotations

import argparse

from replay.studies import StudyResult, study_result


def run(arguments: argparse.Namespace) -> StudyResult:
    """Run the study with the options."""
    from monitor.commands.output import progress_bars
    from monitor.reliability.tolerance import TolerancePolicy
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

    return study_result(study, "reliability.report", "reliability.pictures")
