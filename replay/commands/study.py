"""`synchroscope study`: the examples of papers beside the published results, and the closed loop."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile

from monitor.commands.output import progress_bars
from monitor.system.files import atomic_write
from monitor.system.safe_text import printable
from monitor.text.blocks import Block
from replay.commands import page_path, show
from replay.pictures import save_figures
from replay.tables import report_console

# of every study its module and its own options
_STUDIES = {
    "tracking": ("tracking.blocks", ("case",)),
    "beam": ("reliability.study", ("realizations", "replicates", "policy")),
    "sandia": ("reliability.study", ("realizations", "replicates", "policy")),
    "thermal": ("thermal.blocks", ("realizations", "resampled")),
    "delays": ("delays.blocks", ("sigma", "runs", "priors")),
    "loop": ("loop.blocks", ("draws", "motion", "motion_unit", "motion_column")),
    "four-dof": ("nonlinear", ("runs",)),
    "five-dof": ("nonlinear", ("runs",)),
    "features": ("nonlinear", ("runs",)),
    "duffing": ("nonlinear", ("runs",)),
    "eight-dof": ("nonlinear", ("runs",)),
    "impact": ("nonlinear", ("runs",)),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "name",
        choices=_STUDIES,
        metavar="NAME",
        help="tracking: the tracking indicators; beam, sandia: the reliability of a model; thermal: a model from its "
        "material to a requirement; delays: parameter estimation where the model leaves something out; loop: a loop "
        "that a delay makes unstable, and compensators on the benchmark building; duffing: the force that a model of "
        "Duffing's oscillator is missing; four-dof: a damaged spring and an unknown force in a chain of four masses; "
        "five-dof: which damage is found in chains drawn at random; "
        "eight-dof: which metric finds a damaged spring where friction and impact act; impact: a pad updated by the "
        "distribution of repeated impact tests; features: which numbers of a record show the damage of each test bed",
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the random numbers (default 1)")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("--pictures", type=Path, metavar="DIR", help="write pictures into this folder")
    parser.add_argument("-o", "--out", type=Path, metavar="OUT", help="write tables and pictures as a page, OUT.html")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing page")
    tracking = parser.add_argument_group("tracking")
    tracking.add_argument(
        "--case",
        action="append",
        metavar="CASE",
        help="i to vii, v-uniform, noise (PAEI in noise) or plant (the benchmark plant); repeatable; by default all",
    )
    reliability = parser.add_argument_group("beam, sandia and thermal")
    reliability.add_argument(
        "--realizations", type=int, metavar="M", help="of the model (default 100000; sandia 10000, thermal 20000)"
    )
    reliability.add_argument("--replicates", type=int, metavar="N", help="of the experiment (default 3)")
    policies = ("literal", "floored", "peak")
    reliability.add_argument(
        "--policy", choices=policies, help="reference of the relative tolerance (default literal; sandia floored)"
    )
    reliability.add_argument("--resampled", type=int, metavar="N", help="bootstrap sets of thermal (default 500)")
    delays = parser.add_argument_group("delays")
    delays.add_argument(
        "--sigma",
        type=float,
        nargs="+",
        metavar="S",
        help="standard deviations of the noise, each from 1e-9 to 1 (default 0.027 0.1 0.3 0.5477)",
    )
    delays.add_argument(
        "--priors", action="store_true", default=None, help="also sample posteriors (needs emcee: the extra bayes)"
    )
    tests = parser.add_argument_group("delays, features, duffing, four-dof, five-dof, eight-dof and impact")
    tests.add_argument(
        "--runs",
        type=int,
        metavar="N",
        help="number of runs: delays 500, a multiple of five, 10 to 20000; duffing 100; features, four-dof, five-dof "
        "and eight-dof 20; impact 500",
    )
    loop = parser.add_argument_group("loop")
    loop.add_argument(
        "--draws", type=int, metavar="N", help="of the uncertain plant and the ground motion (default 5)"
    )
    loop.add_argument(
        "--motion",
        type=Path,
        metavar="FILE",
        help="ground motion in place of drawn ones: AT2 of PEER, COSMOS, CSMIP, K-NET, or a table of any format",
    )
    loop.add_argument("--motion-unit", metavar="UNIT", help="of a file that gives none: g, m/s2, cm/s2, gal or mm/s2")
    loop.add_argument(
        "--motion-column", metavar="COLUMN", help="of a file with several: its header, channel or number"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run a study; print tables or JSON."""
    module, own = _STUDIES[arguments.name]
    for option in sorted({option for _, options in _STUDIES.values() for option in options} - set(own)):
        if getattr(arguments, option) is not None:
            raise ValueError(f"--{option.replace('_', '-')}: is not an option of the study {arguments.name}")
    if arguments.seed < 0:
        raise ValueError(f"--seed {arguments.seed}: must be zero or more")
    folder: Path | None = arguments.pictures
    page = None if arguments.out is None else page_path(arguments.out, f"study-{arguments.name}")
    if page and not page.parent.is_dir():
        raise ValueError(f"{page}: cannot be written (No such file or directory)")
    if page and page.exists() and not arguments.overwrite:
        raise ValueError(f"{page} exists: give another name with -o OUT, or --overwrite")
    if folder or page:
        # raises before the study if it is not installed
        import matplotlib  # noqa: F401
    if page:
        from replay.report.page import render_blocks
    with _writing(folder):
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
            # raises before a long study if the folder is not writable
            TemporaryFile(dir=folder).close()
    with progress_bars() as progress:
        # the progress bar is shown before slow imports
        progress("loading", 0, 1)
        study = import_module(f"replay.papers.{module}")
        progress("loading", 1, 1)
        found: list[Block] = list(study.run(arguments, progress))
    # results first: the disk may be full
    show(found, report_console(wrap=True), as_json=arguments.json)
    if folder:
        with _writing(folder):
            drawn = save_figures(found, folder)
        print("\n".join(map(str, drawn)), file=sys.stderr)
    if page:
        given = {name: str(value) for name in ("seed", *own) if (value := getattr(arguments, name)) is not None}
        with atomic_write(page) as file:
            file.write(render_blocks(arguments.name, given, found).encode())
        print(f"{printable(str(page))}: {page.stat().st_size / 1e3:.0f} kB", file=sys.stderr)
    return 0


@contextmanager
def _writing(folder: Path | None) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise ValueError(f"--pictures {folder}: {problem.strerror or problem}") from problem
