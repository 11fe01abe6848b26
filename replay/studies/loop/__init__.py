"""A hybrid loop that a delay makes unstable, and compensators that are to prevent it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from replay.studies import StudyResult, study_result

if TYPE_CHECKING:
    from replay.formats.ground_motion import GroundMotion


def run(arguments: argparse.Namespace) -> StudyResult:
    """Run the study with the options."""
    from monitor.commands.output import progress_bars

    with progress_bars() as progress:
        # the progress bar is shown before slow imports
        progress("loading", 0, 1)
        from replay.studies.loop.study import DRAWS, run_study

        progress("loading", 1, 1)
        motion = _ground_motion(arguments)
        study = run_study(DRAWS if arguments.draws is None else arguments.draws, arguments.seed, motion, progress)

    return study_result(study, "loop.report", "loop.pictures")


def _ground_motion(arguments: argparse.Namespace) -> GroundMotion | None:
    if arguments.motion is None:
        if arguments.motion_unit is not None or arguments.motion_column is not None:
            raise ValueError("--motion-unit and --motion-column: are of a file, give it with --motion FILE")
        return None
    from replay.formats.ground_motion import read_ground_motion

    return read_ground_motion(arguments.motion, unit=arguments.motion_unit, column=arguments.motion_column)
