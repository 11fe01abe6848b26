"""A hybrid loop that a delay makes unstable, and compensators that are to prevent it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from monitor.text.blocks import Block
from replay import Progress
from replay.formats.ground_motion import GroundMotion, read_ground_motion
from replay.papers.loop.blocks import study_blocks
from replay.papers.loop.study import DRAWS, run_study


def run(arguments: argparse.Namespace, progress: Progress) -> Iterator[Block]:
    """Run the study with the options."""
    motion = _ground_motion(arguments)
    n_draws = DRAWS if arguments.draws is None else arguments.draws
    return study_blocks(run_study(n_draws, arguments.seed, motion, progress))


def _ground_motion(arguments: argparse.Namespace) -> GroundMotion | None:
    if arguments.motion is None:
        if arguments.motion_unit is not None or arguments.motion_column is not None:
            raise ValueError("--motion-unit and --motion-column: are of a file, give it with --motion FILE")
        return None
    return read_ground_motion(arguments.motion, unit=arguments.motion_unit, column=arguments.motion_column)
