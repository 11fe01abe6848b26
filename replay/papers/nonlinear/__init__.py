"""Model updating for nonlinear dynamics: the test beds of Hemez and Doebling beside the printed results."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

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


def run(arguments: argparse.Namespace, progress: Progress) -> Iterator[Block]:
    """Run the study of one test bed."""
    name, seed = arguments.name, arguments.seed

    def runs(default: int) -> int:
        return default if arguments.runs is None else int(arguments.runs)

    if name == "duffing":
        return duffing.study_blocks(duffing.identify_duffing(runs(duffing.RUNS), seed, progress))
    if name == "four-dof":
        return four_dof.study_blocks(four_dof.identify_four_masses(runs(four_dof.RUNS), seed, progress))
    if name == "features":
        number = runs(features.RUNS)
        return features.study_blocks(number, seed, features.compare_features(number, seed, progress))
    if name == "five-dof":
        return five_dof.study_blocks(five_dof.update_drawn_chains(runs(five_dof.RUNS), seed, progress))
    if name == "eight-dof":
        return eight_dof_blocks.study_blocks(eight_dof.update_eight_masses(runs(eight_dof.RUNS), seed, progress))
    return impact_blocks.study_blocks(impact.update_and_predict(runs(impact.RUNS), seed, progress))
