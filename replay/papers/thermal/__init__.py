"""The thermal challenge, from the material to the requirement."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from monitor.text.blocks import Block
from replay import Progress
from replay.papers.thermal.blocks import study_blocks
from replay.papers.thermal.study import RESAMPLED, run_study


def run(arguments: argparse.Namespace, progress: Progress) -> Iterator[Block]:
    """Run the study with the options."""
    study = run_study(
        n_realizations=arguments.realizations,
        n_resampled=RESAMPLED if arguments.resampled is None else arguments.resampled,
        seed=arguments.seed,
        progress=progress,
    )
    return study_blocks(study)
