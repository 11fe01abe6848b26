"""`synchroscope demo`: a simulated hybrid test over real sockets, watched live, and its truth at the end."""

from __future__ import annotations

import argparse
import math
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.commands.process import ChildCommand, ChildCommandError, StopSignals

if TYPE_CHECKING:
    from rich.console import Console

    from gui.sources.processes.catalogue import Catalogue
    from gui.terminal.dashboard import Dashboard


_SHORTEST = 9.0  # s, or windows would not fit between the changes
_FASTEST = 20.0  # beyond, a recorder that looks twice a second would have to drop samples
_WINDOW = 2.0
_RAMP = 2.0  # s in which the simulated load grows to its size
_READY = "listening on"
_POLL = 0.05
_FINISHING = 60.0  # s for the service to work off what has been sent
# a closed terminal and SIGTERM end the test as Ctrl-C does
_END_SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--terminal", action="store_true", help="the dashboard of the terminal, though there is a display"
    )
    parser.add_argument("--headless", action="store_true", help="no live dashboard: lines, and the table at the end")
    parser.add_argument("--duration", type=float, default=45.0, metavar="S", help="of the test (default 45 s)")
    parser.add_argument("--record", type=Path, metavar="PATH", help="run file (default runs/demo-TIME.h5)")
    parser.add_argument(
        "--speed", type=float, default=1.0, metavar="X", help=f"times real time, to {_FASTEST:g} (default 1)"
    )


def run(
    arguments: argparse.Namespace,
    offers: Callable[[], Catalogue],
    print_truth: Callable[[Path, float, Console], None],
) -> int:
    """Run the test; return 0, or 1 when one of its processes died.

    Parameters
    ----------
    offers : what the window offers to replay.
    print_truth : shows what was injected in a run, whose load grew for so many s, beside what was indicated.
    """
    from gui.window.launch import NoDisplayError, no_display_reason

    if not _SHORTEST <= arguments.duration < math.inf:
        raise ValueError(f"--duration {arguments.duration:g}: give {_SHORTEST:g} s or more")
    if not 0.0 < arguments.speed <= _FASTEST:
        raise ValueError(f"--speed {arguments.speed:g}: give a positive number, at most {_FASTEST:g}")
    record = arguments.record or Path("runs") / f"demo-{datetime.now():%Y%m%d-%H%M%S}.h5"
    if record.exists():
        raise ValueError(f"--record {record}: is there already, give another name")
    record.parent.mkdir(parents=True, exist_ok=True)
    if not (arguments.headless or arguments.terminal or no_display_reason()):
        try:
            return _open_window(arguments, record, offers(), print_truth)
        except NoDisplayError as problem:
            _say(f"no window: {problem}")
    try:
        with StopSignals(*_END_SIGNALS) as stop, stop.interrupting():
            _watch(arguments, record)
    except ChildCommandError as problem:
        _say(f"synchroscope demo: {problem}")
        return 1
    except KeyboardInterrupt:
        _say(f"stopped; what was recorded is in {record}" if record.exists() else "stopped")
        raise
    _report(record, _ramp(arguments), print_truth)
    return 0


def _open_window(
    arguments: argparse.Namespace,
    record: Path,
    offers: Catalogue,
    print_truth: Callable[[Path, float, Console], None],
) -> int:
    from gui.commands.gui import open_window
    from gui.window.launch import LaunchOptions

    replay_options = ("--duration", f"{arguments.duration:g}", "--speed", f"{arguments.speed:g}")
    code = open_window(LaunchOptions(simulation="hybrid", replay_options=replay_options, record=str(record)), offers)
    if record.exists():
        try:
            _report(record, _ramp(arguments), print_truth)
        except (ValueError, OSError) as problem:
            # closed before there was anything to compare
            _say(f"The run is in {record}; what was injected cannot be compared: {problem}")
    return code


def _ramp(arguments: argparse.Namespace) -> float:
    return min(_RAMP, float(arguments.duration) / 6.0)


def _watch(arguments: argparse.Namespace, record: Path) -> None:
    """Run the test to its end."""
    from rich.console import Console

    live = not arguments.headless and sys.stdout.isatty()
    console = Console() if live else Console(stderr=True)
    with stage(arguments.duration, record, console, arguments.speed) as (dashboard, finished):
        dashboard.run(finished, live=live)


@contextmanager
def stage(
    duration: float, record: Path, console: Console, speed: float = 1.0
) -> Iterator[tuple[Dashboard, Callable[[], bool]]]:
    """Let a service and a publisher of the simulated test run, each in a process of its own.

    Parameters
    ----------
    duration : of the test, s.
    record : the run file.
    console : where the dashboard is shown.
    speed : times real time.

    Yields
    ------
    The dashboard that listens to the service, and the function that tells whether all is over.

    Raises
    ------
    ChildCommandError : one of the two processes ended too early.
    """
    from gui.model.receiver import ResultLink
    from gui.terminal.dashboard import Dashboard

    signals, results = _free_endpoints(2)
    serve = ["monitor", "--connect", signals, "--publish", results, "--record", str(record), "--once"]
    serve += ["--window", f"{_window(duration):g}"]
    play = ["replay", "hybrid", "--bind", signals, "--duration", f"{duration:g}", "--speed", f"{speed:g}"]
    with ChildCommand("service", *serve) as service:
        link = ResultLink.connect(results)
        try:
            _await_ready(service)
            with ChildCommand("publisher", *play) as publisher:
                yield Dashboard(link, console), _finished(service, publisher)
            for line in service.new_lines():
                _say(line)
        finally:
            link.close()


def _window(duration: float) -> float:
    return min(_WINDOW, duration / _SHORTEST)


def _await_ready(service: ChildCommand) -> None:
    while True:
        ended = service.ended
        for line in service.new_lines():
            _say(line)
            if line.startswith(_READY):
                return
        if ended:
            raise ChildCommandError("the service ended before it was ready")
        time.sleep(_POLL)


def _finished(service: ChildCommand, publisher: ChildCommand) -> Callable[[], bool]:
    deadline = math.inf

    def finished() -> bool:
        nonlocal deadline
        if service.ended:
            return True
        if publisher.ended and deadline == math.inf:
            deadline = time.monotonic() + _FINISHING
        if time.monotonic() > deadline:
            raise ChildCommandError(f"the service did not finish within {_FINISHING:g} s of the last sample")
        return False

    return finished


def _report(record: Path, ramp: float, print_truth: Callable[[Path, float, Console], None]) -> None:
    from rich.console import Console

    console = Console()
    print_truth(record, ramp, console)
    for line in (
        f"The run is in {record}. To look at it again:",
        f"  synchroscope assess {record}",
        f"  synchroscope replay {record}   (and beside it: synchroscope monitor)",
    ):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _free_endpoints(number: int) -> list[str]:
    """Return endpoints of loopback ports that are free at this moment."""
    taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [server.getsockname()[1] for server in taken]
    for server in taken:
        server.close()
    return [f"tcp://127.0.0.1:{port}" for port in ports]


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
