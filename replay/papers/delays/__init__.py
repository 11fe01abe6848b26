"""Parameter estimation where a model leaves something out: the examples of the paper, over many runs."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from monitor.text.blocks import Block
from replay import Progress
from replay.papers.delays.blocks import study_blocks
from replay.papers.delays.study import RUNS, SIGMAS, run_study


def run(arguments: argparse.Namespace, progress: Progress) -> Iterator[Block]:
    """Run the study with the options."""
    study = run_study(
        SIGMAS if arguments.sigma is None else arguments.sigma,
        n_runs=RUNS if arguments.runs is None else arguments.runs,
        seed=arguments.seed,
        priors=bool(arguments.priors),
        progress=progress,
    )
    return study_blocks(study)
