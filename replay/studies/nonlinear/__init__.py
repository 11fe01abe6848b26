"""Model updating for nonlinear dynamics: the test beds of Hemez and Doebling beside the printed results."""

from __future__ import annotations

import argparse
from importlib import import_module

from replay.studies import StudyResult


def run(arguments: argparse.Namespace) -> StudyResult:
    """Run the study of one test bed: a module of its name that has `run_study(runs, seed, progress)`."""
    from monitor.commands.output import progress_bars

    with progress_bars() as progress:
        # the progress bar is shown before slow imports
        progress("loading", 0, 1)
        study = import_module(f"replay.studies.nonlinear.{arguments.name.replace('-', '_')}")
        progress("loading", 1, 1)
        found: StudyResult = study.run_study(arguments.runs, arguments.seed, progress)
        return found
