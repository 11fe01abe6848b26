"""The examples of the paper on reliability, with reference values."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from monitor.reliability.tolerance import TolerancePolicy
from monitor.text.blocks import Block
from replay import Progress
from replay.papers.reliability.blocks import study_blocks
from replay.papers.reliability.study import REPLICATES, run_study


def run(arguments: argparse.Namespace, progress: Progress) -> Iterator[Block]:
    """Run the study with the options."""
    study = run_study(
        arguments.name,
        n_realizations=arguments.realizations,
        n_replicates=REPLICATES if arguments.replicates is None else arguments.replicates,
        seed=arguments.seed,
        policy=None if arguments.policy is None else TolerancePolicy(arguments.policy),
        progress=progress,
    )
    return study_blocks(study)
