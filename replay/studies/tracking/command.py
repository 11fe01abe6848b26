"""The study of the tracking indicators on the cases of their paper."""

from __future__ import annotations

import argparse
from pathlib import Path

from replay.studies.result import Found


def run(arguments: argparse.Namespace) -> Found:
    """Run it as the options say."""
    from replay.studies.tracking.as_json import as_json
    from replay.studies.tracking.report import print_study
    from replay.studies.tracking.study import PARTS, run_study

    study = run_study(arguments.case or PARTS, arguments.seed)

    def draw(folder: Path) -> tuple[Path, ...]:
        from replay.studies.tracking.pictures import draw

        return draw(study, folder)

    return Found(lambda: as_json(study), lambda: print_study(study), draw)
