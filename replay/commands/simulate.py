"""`synchroscope simulate`: write an ensemble of a model's realizations, or synthetic experiments, to files."""

from __future__ import annotations

import argparse
import signal
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.commands.process import StopSignals, exit_immediately
from replay.commands import add_worker_options, check_replaced, workers_of

if TYPE_CHECKING:
    from sim.ensembles import Experiment

_INTERRUPTED = 130  # exit code


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    models = "beam, duffing, eight-dof, four-dof, impact, sandia or thermal"
    parser.add_argument("model", metavar="MODEL", help=models)
    parser.add_argument("--realizations", type=int, default=10_000, metavar="M", help="how many (default 10000)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the random numbers (default 1)")
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="FILE|DIR",
        help="HDF5 file; an interrupted simulation, FILE.part, is continued by the same command",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an existing file")
    add_worker_options(parser, "simulate", "threads")
    experiments = parser.add_argument_group("experiments instead of realizations")
    experiments.add_argument("--experiments", type=int, metavar="N", help="write N measured records, CSV, into DIR")
    experiments.add_argument(
        "--bad",
        action="store_true",
        help="experiments with a discrepancy that the model does not have, or on a damaged specimen",
    )


def run(arguments: argparse.Namespace) -> int:
    """Simulate, with a progress bar."""
    from monitor.commands.output import compilation_announced, progress_bars
    from replay.simulations.models import ensemble_model, simulate_ensemble

    model = ensemble_model(arguments.model)
    if arguments.experiments is not None:
        return _experiments(model, arguments)
    if arguments.bad:
        raise ValueError("--bad: needs --experiments N")
    check_replaced("--out", arguments.out, overwrite=arguments.overwrite)
    chosen = arguments.workers is not None or arguments.scheduler is not None
    with (
        # SIGTERM ends the workers and closes the file, as Ctrl-C does
        StopSignals(signal.SIGTERM) as stop,
        stop.interrupting(),
        compilation_announced(f"simulating {arguments.model}"),
        progress_bars() as progress,
        workers_of(arguments) if chosen else nullcontext() as workers,
    ):
        progress("realizations", 0, arguments.realizations)
        try:
            simulate_ensemble(model, arguments.realizations, arguments.seed, arguments.out, progress, workers)
        except KeyboardInterrupt:
            if chosen:
                raise
            # the file is closed, and continued by the same call; threads that compile would be waited for
            exit_immediately(_INTERRUPTED)
    print(
        f"{arguments.realizations} realizations of {model.quantity} [{model.unit}], {len(model.time)} instants, "
        f"in {arguments.out}",
        file=sys.stderr,
    )
    return 0


def _experiments(model: Experiment, arguments: argparse.Namespace) -> int:
    import numpy as np

    from monitor.commands.output import compilation_announced, progress_bars
    from sim.ensembles import replicates

    written = []
    try:
        with compilation_announced(f"simulating {model.name}"), progress_bars() as progress:
            progress("experiments", 0, arguments.experiments)
            measured = replicates(model, arguments.experiments, arguments.seed, bad=arguments.bad)
            arguments.out.mkdir(parents=True, exist_ok=True)
            paths = [arguments.out / f"r{number}.csv" for number in range(1, arguments.experiments + 1)]
            for path in paths:
                check_replaced("--out", path, overwrite=arguments.overwrite)
            for number, (path, column) in enumerate(zip(paths, measured.T, strict=True), 1):
                table = np.column_stack([model.time, column])
                np.savetxt(
                    path, table, delimiter=",", header=f"time [s],response [{model.unit}]", comments="", fmt="%.12g"
                )
                written.append(path)
                progress("experiments", number, arguments.experiments)
        print("\n".join(map(str, written)), file=sys.stderr)
    except OSError as problem:
        raise ValueError(f"--out {arguments.out}: {problem.strerror or problem}") from problem
    return 0
