"""The cases of the paper on tracking indicators, and what every indicator finds in them."""

from __future__ import annotations

import argparse
from pathlib import Path

from replay.studies import StudyResult


def run(arguments: argparse.Namespace) -> StudyResult:
    """Run the study with the options."""
    from monitor.commands.output import progress_bars

    with progress_bars() as progress:
        from replay.studies.tracking.report import as_json, print_study
        from replay.studies.tracking.study import PARTS, run_study

        study = run_study(arguments.case or PARTS, arguments.seed, progress)

    def draw(folder: Path) -> tuple[Path, ...]:
        from replay.studies.tracking.pictures import draw

        return draw(study, folder)

    return StudyResult(lambda: as_json(study), lambda: print_study(study), draw)
