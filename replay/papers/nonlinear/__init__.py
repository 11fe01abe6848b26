"""Model updating for nonlinear dynamics: the test beds of Hemez and Doebling beside the printed results."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

from monitor.text.blocks import Block
from replay import Progress
from replay.papers.nonlinear import (
    duffing,
    eight_dof,
    eight_dof_blocks,
    features,
    five_dof,
    four_dof,
    impact,
    impact_blocks,
)

# of each test bed: the number of runs, what is found in them, and how it is shown
_STUDIES: dict[str, tuple[int, Callable[[int, int, Progress], Any], Callable[[Any], Iterator[Block]]]] = {
    "duffing": (duffing.RUNS, duffing.identify_duffing, duffing.study_blocks),
    "four-dof": (four_dof.RUNS, four_dof.identify_four_masses, four_dof.study_blocks),
    "features": (features.RUNS, features.compare_features, features.study_blocks),
    "five-dof": (five_dof.RUNS, five_dof.update_drawn_chains, five_dof.study_blocks),
    "eight-dof": (eight_dof.RUNS, eight_dof.update_eight_masses, eight_dof_blocks.study_blocks),
    "impact": (impact.RUNS, impact.update_and_predict, impact_blocks.study_blocks),
}


def run(arguments: argparse.Namespace, progress: Progress) -> Iterator[Block]:
    """Run the study of one test bed."""
    default, study, blocks = _STUDIES[arguments.name]
    return blocks(study(default if arguments.runs is None else arguments.runs, arguments.seed, progress))
