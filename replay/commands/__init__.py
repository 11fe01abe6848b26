"""The commands that read recordings, run simulations and studies, or play them as a rig would."""

from __future__ import annotations

import argparse
import math
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.commands.process import StopSignals
from monitor.system.safe_text import printable

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from rich.console import Console

    from monitor.text.blocks import Block
    from replay.formats import Recording, Selection
    from replay.workers import Workers


def column_selection(arguments: argparse.Namespace, *, auxiliary: bool = False) -> Selection:
    """Return the columns that were chosen by options.

    Raises
    ------
    RecordingError : the choice contradicts itself.
    """
    from replay.formats import Selection

    return Selection(
        command=tuple(arguments.command),
        measured=tuple(arguments.measured),
        force=tuple(arguments.force),
        time=arguments.time,
        rate=arguments.rate,
        auxiliary=auxiliary,
        dataset=arguments.dataset,
        resample=arguments.resample,
        remember=arguments.remember,
    )


@contextmanager
def others_go_on(arguments: argparse.Namespace, failed: list[str]) -> Iterator[None]:
    """Print and collect the problem of one of several files, so that others are read; raise that of a single one."""
    try:
        yield
    except (ValueError, OSError, MemoryError) as problem:
        if len(arguments.files) == 1:
            raise
        failed.append(printable(str(problem)) or "out of memory")
        print(f"synchroscope {arguments.subcommand}: {failed[-1]}", file=sys.stderr)


def given_indicators(arguments: argparse.Namespace) -> dict[str, object]:
    """Return the settings of the indicators in the options, or else in the settings file."""
    from monitor.commands.options import given_settings
    from monitor.config import load_settings

    configured: dict[str, object] = {}
    if arguments.config is not None:
        configured = load_settings(arguments.config, {}).indicators.model_dump(exclude_unset=True)
    return {**configured, **given_settings(arguments).get("indicators", {})}


def recording_part(path: Path, recording: Recording, arguments: argparse.Namespace) -> Recording:
    """Return the part between ``--start`` and ``--stop``, or the whole.

    Raises
    ------
    ValueError : the recording has no such part.
    """
    from replay.formats.parts import RecordingPart

    if arguments.start is None and arguments.stop is None:
        return recording
    start = 0.0 if arguments.start is None else arguments.start
    try:
        return RecordingPart(recording, start, math.inf if arguments.stop is None else arguments.stop)
    except ValueError as problem:
        raise ValueError(f"{path}: {problem}") from problem


@contextmanager
def nothing_left_if_stopped(command: str) -> Iterator[None]:
    """Let SIGTERM remove unfinished files, as Ctrl-C does, and say that nothing was written."""
    try:
        with StopSignals(signal.SIGTERM) as stop, stop.interrupting():
            yield
    except KeyboardInterrupt:
        print(f"synchroscope {command}: interrupted; nothing was written", file=sys.stderr)
        raise


def show(blocks: Iterable[Block], console: Console, *, as_json: bool) -> None:
    """Print what blocks tell people, or what they tell programs."""
    from monitor.commands.output import print_json
    from monitor.text.blocks import to_json
    from replay.tables import print_blocks

    if as_json:
        print_json(to_json(blocks))
    else:
        print_blocks(blocks, console)


def add_part_options(parser: argparse.ArgumentParser, doing: str) -> None:
    """Add ``--start`` and ``--stop`` of `recording_part`; `doing` is what is done with the part."""
    parser.add_argument("--start", type=float, metavar="S", help=f"{doing} from S seconds after its start")
    parser.add_argument("--stop", type=float, metavar="S", help=f"{doing} up to S seconds after its start")


_PAGES = {".html", ".htm"}


def check_replaced(option: str, path: Path, *, overwrite: bool) -> None:
    """Raise ValueError where a file exists that may not be replaced, or is a device or a pipe."""
    if path.exists() and not path.is_file():
        what = "a directory" if path.is_dir() else "no regular file"
        raise ValueError(f"{option} {path}: is {what}: give the name of a file")
    if path.exists() and not overwrite:
        raise ValueError(f"{option} {path}: exists; give another name or --overwrite")


def page_path(out: Path, stem: str) -> Path:
    """Return the file of a page; in a folder it has the stem of a recording.

    Raises
    ------
    ValueError : the ending is not that of a page.
    """
    if out.is_dir():
        out /= f"{stem}.html"
    if out.suffix.lower() == ".pdf":
        raise ValueError(f"{out}: the report is a page; write {out.with_suffix('.html')} and print it to PDF")
    if out.suffix.lower() not in _PAGES:
        raise ValueError(f"{out}: the report is a page; give it the ending .html")
    return out


def add_worker_options(parser: argparse.ArgumentParser, what: str, default: str) -> None:
    """Add the options of `workers_of`; `what` is what is done by several of them, `default` what is done without."""
    group = parser.add_argument_group("workers")
    group.add_argument(
        "--workers", type=int, metavar="N", help=f"{what} by N processes of this machine (default: {default})"
    )
    group.add_argument("--scheduler", metavar="URL", help=f"{what} on a Dask cluster, such as tls://host:8786")
    for name, text in (
        ("ca", "certificate of the authority of the cluster"),
        ("cert", "certificate of this client"),
        ("key", "key of this client"),
    ):
        group.add_argument(f"--tls-{name}", type=Path, metavar="PEM", help=f"{text} (default: Dask's configuration)")


def workers_of(arguments: argparse.Namespace) -> AbstractContextManager[Workers]:
    """Return the workers that were chosen by options, to be started by ``with``.

    Raises
    ------
    ValueError : the options contradict each other.
    ModuleNotFoundError : Dask is not installed.
    """
    files = {name: getattr(arguments, f"tls_{name}") for name in ("ca", "cert", "key")}
    if arguments.scheduler is None:
        if any(files.values()):
            raise ValueError("--tls-ca, --tls-cert and --tls-key need --scheduler tls://HOST:PORT")
        from replay.workers import ProcessWorkers

        return ProcessWorkers(arguments.workers)
    if arguments.workers is not None:
        raise ValueError("--workers are processes of this machine: leave it out with --scheduler")
    if any(files.values()) and not (all(files.values()) and arguments.scheduler.startswith("tls://")):
        raise ValueError("--tls-ca, --tls-cert and --tls-key: give all three, and --scheduler tls://HOST:PORT")
    from replay.workers import ClusterWorkers

    return ClusterWorkers(arguments.scheduler, **files)
