"""The thermal challenge, from the material to the requirement."""

from __future__ import annotations

import argparse
from pathlib import Path

from replay.studies import StudyResult


def run(arguments: argparse.Namespace) -> StudyResult:
    """Run the study with the options."""
    from monitor.commands.output import progress_bars
    from replay.studies.thermal.report import as_json, print_study

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

    def draw(folder: Path) -> tuple[Path, ...]:
        from replay.studies.thermal.pictures import draw

        return draw(study, folder)

    return StudyResult(lambda: as_json(study), lambda: print_study(study), draw)
