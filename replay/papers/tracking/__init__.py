"""The cases of the paper on tracking indicators, and what every indicator finds in them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from monitor.text.blocks import Block
from replay import Progress
from replay.papers.tracking.blocks import study_blocks
from replay.papers.tracking.study import PARTS, run_study


def run(arguments: argparse.Namespace, progress: Progress) -> Iterator[Block]:
    """Run the study with the options."""
    return study_blocks(run_study(arguments.case or PARTS, arguments.seed, progress))
