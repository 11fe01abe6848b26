"""A hybrid loop that a delay makes unstable, and compensators that are to prevent it."""

from __future__ import annotations

import argparse
from pathlib import Path

from replay.studies import StudyResult


def run(arguments: argparse.Namespace) -> StudyResult:
    """Run the study with the options."""
    from monitor.commands.output import progress_bars

    with progress_bars() as progress:
        # the progress bar is shown before slow imports
        progress("loading", 0, 1)
        from replay.studies.loop.report import as_json, print_study
        from replay.studies.loop.study import DRAWS, run_study

        progress("loading", 1, 1)
        study = run_study(DRAWS if arguments.draws is None else arguments.draws, arguments.seed, progress)

    def draw(folder: Path) -> tuple[Path, ...]:
        from replay.studies.loop.pictures import draw

        return draw(study, folder)

    return StudyResult(lambda: as_json(study), lambda: print_study(study), draw)
