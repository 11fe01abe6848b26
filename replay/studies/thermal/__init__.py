"""The thermal challenge, from the material to the requirement."""

from __future__ import annotations

import argparse

from replay.studies import StudyResult, study_result


def run(arguments: argparse.Namespace) -> StudyResult:
    """Run the study with the options."""
    from monitor.commands.output import progress_bars

    with progress_bars() as progress:
        # imports of a second are done while the progress bar is shown
        progress("limit of the application", 0, 2)
        from replay.studies.thermal.study import RESAMPLED, run_study

        study = run_study(
            n_realizations=arguments.realizations,
            n_resampled=RESAMPLED if arguments.resampled is None else arguments.resampled,
            seed=arguments.seed,
            progress=progress,
        )

    return study_result(study, "thermal.report", "thermal.pictures")
