"""`synchroscope simulate`: an ensemble of a model's realizations into a file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

SUMMARY = "simulate an ensemble of a model's realizations into a file"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("model", metavar="MODEL", help="beam or sandia, of the paper on model reliability")
    parser.add_argument("--realizations", type=int, default=10_000, metavar="M", help="how many (default 10000)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the random numbers (default 1)")
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="FILE",
        help="HDF5 file; one that was broken off, FILE.part, is gone on with by the same command",
    )


def run(arguments: argparse.Namespace) -> int:
    """Simulate, with a progress bar."""
    from monitor.commands.progress import bar
    from replay.ensembles import simulate_ensemble
    from replay.models import ensemble_model

    model = ensemble_model(arguments.model)
    with bar() as progress:
        simulate_ensemble(model, arguments.realizations, arguments.seed, arguments.out, progress)
    print(
        f"{arguments.realizations} realizations of {model.quantity} [{model.unit}], {len(model.time)} instants, "
        f"in {arguments.out}",
        file=sys.stderr,
    )
    return 0
