"""The cases of the paper on tracking indicators, and what every indicator finds in them."""

from __future__ import annotations

import argparse

from replay.studies import StudyResult, study_result


def run(arguments: argparse.Namespace) -> StudyResult:
    """Run the study with the options."""
    from monitor.commands.output import progress_bars

    with progress_bars() as progress:
        from replay.studies.tracking.study import PARTS, run_study

        study = run_study(arguments.case or PARTS, arguments.seed, progress)

    return study_result(study, "tracking.report", "tracking.pictures")
