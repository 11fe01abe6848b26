"""Parameter estimation where a model leaves something out: the examples of the paper, over many runs."""

from __future__ import annotations

import argparse

from replay.studies import StudyResult, study_result


def run(arguments: argparse.Namespace) -> StudyResult:
    """Run the study with the options."""
    from monitor.commands.output import progress_bars

    with progress_bars() as progress:
        # the progress bar is shown before slow imports
        progress("loading", 0, 1)
        from replay.studies.delays.study import RUNS, SIGMAS, run_study

        progress("loading", 1, 1)
        study = run_study(
            SIGMAS if arguments.sigma is None else arguments.sigma,
            n_runs=RUNS if arguments.runs is None else arguments.runs,
            seed=arguments.seed,
            priors=bool(arguments.priors),
            progress=progress,
        )

    return study_result(study, "delays.report", "delays.pictures", "delays.as_json")
