"""`synchroscope demo`: a simulated hybrid test over real sockets, shown live, with its true values at the end."""

from __future__ import annotations

import argparse
import json
import math
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.commands.options import duration
from monitor.commands.process import ChildCommand, ChildCommandError, StopSignals
from monitor.messages.ready import Endpoints

if TYPE_CHECKING:
    from rich.console import Console

    from gui.sources.processes.catalogue import Catalogue
    from gui.terminal.dashboard import Dashboard
    from monitor.messages.requests import NoteRequest


_MIN_DURATION = 9.0  # s, so that windows fit between the changes
_MAX_SPEED = 20.0  # times real time; beyond, the recorder would drop samples
_WINDOW = 2.0
_RAMP = 2.0  # s until the simulated load has its full amplitude
_POLL_INTERVAL = 0.05  # s
_FINISH_TIMEOUT = 60.0  # s for the service to process what was sent
# a closed terminal and SIGTERM end the test as Ctrl-C does
_END_SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--terminal", action="store_true", help="show the terminal dashboard instead of the window")
    parser.add_argument(
        "--headless", action="store_true", help="no live display: print lines, and the table at the end"
    )
    parser.add_argument("--duration", type=duration, default=45.0, metavar="S", help="s, or 2min (default 45 s)")
    parser.add_argument("--record", type=Path, metavar="PATH", help="run file (default runs/demo-TIME.h5)")
    parser.add_argument(
        "--speed", type=float, default=1.0, metavar="X", help=f"times real time, at most {_MAX_SPEED:g} (default 1)"
    )


def run(
    arguments: argparse.Namespace,
    offers: Callable[[], Catalogue],
    print_truth: Callable[[Path, float, Console], None],
    injections: Callable[[float], Sequence[NoteRequest]],
) -> int:
    """Run the test; return 0, or 1 if one of its processes failed.

    Parameters
    ----------
    offers : returns the simulations and file formats of the window.
    print_truth : compares injected and indicated values of a run, after the ramp [s] of its load.
    injections : returns a note for each fault injected in a test of that duration [s].
    """
    from gui.window.launch import NoDisplayError, no_display_reason

    if not _MIN_DURATION <= arguments.duration < math.inf:
        raise ValueError(f"--duration {arguments.duration:g}: give {_MIN_DURATION:g} s or more")
    if not 0.0 < arguments.speed <= _MAX_SPEED:
        raise ValueError(f"--speed {arguments.speed:g}: give a positive number, at most {_MAX_SPEED:g}")
    # to the ms: two that are started together have a file each
    now = datetime.now()
    record = arguments.record or Path("runs") / f"demo-{now:%Y%m%d-%H%M%S}-{now.microsecond // 1000:03}.h5"
    if record.exists():
        raise ValueError(f"--record {record}: already exists, give another name")
    record.parent.mkdir(parents=True, exist_ok=True)
    if not (arguments.headless or arguments.terminal or no_display_reason()):
        try:
            return _open_window(arguments, record, offers, print_truth)
        except NoDisplayError as problem:
            _print_error(f"no window: {problem}")
    try:
        with StopSignals(*_END_SIGNALS) as stop, stop.interrupting():
            _run_in_terminal(arguments, record, injections(arguments.duration))
    except ChildCommandError as problem:
        _print_error(f"synchroscope demo: {problem}")
        return 1
    except KeyboardInterrupt:
        _print_error(f"stopped; the recording is in {record}" if record.exists() else "stopped")
        raise
    _report(record, _ramp(arguments), print_truth)
    return 0


def _open_window(
    arguments: argparse.Namespace,
    record: Path,
    offers: Callable[[], Catalogue],
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
            # the window was closed too early
            _print_error(f"The run is in {record}; injected and indicated values cannot be compared: {problem}")
    return code


def _ramp(arguments: argparse.Namespace) -> float:
    return min(_RAMP, float(arguments.duration) / 6.0)


def _run_in_terminal(arguments: argparse.Namespace, record: Path, notes: Sequence[NoteRequest]) -> None:
    """Run the test to its end."""
    from rich.console import Console

    live = not arguments.headless and sys.stdout.isatty()
    console = Console() if live else Console(stderr=True)
    with stage(arguments.duration, record, console, arguments.speed, notes) as (dashboard, finished):
        dashboard.run(finished, live=live)


@contextmanager
def stage(
    duration: float, record: Path, console: Console, speed: float = 1.0, notes: Sequence[NoteRequest] = ()
) -> Iterator[tuple[Dashboard, Callable[[], bool]]]:
    """Run a service and a publisher of the simulated test, each in a process of its own.

    Parameters
    ----------
    duration : of the test, s.
    record : the run file.
    console : of the dashboard.
    speed : relative to real time.
    notes : added to the run when their samples have arrived, in order.

    Yields
    ------
    The dashboard of the service, and a function that returns whether the test has ended.

    Raises
    ------
    ChildCommandError : one of the two processes failed.
    """
    from gui.model.receiver import ServiceSubscription
    from gui.terminal.dashboard import Dashboard

    signals, results = _free_endpoints(2)
    monitor_arguments = ["monitor", "--connect", signals, "--publish", results, "--record", str(record), "--once"]
    monitor_arguments += ["--ready-json"]
    monitor_arguments += ["--window", f"{min(_WINDOW, duration / _MIN_DURATION):g}"]
    replay_arguments = ["replay", "hybrid", "--bind", signals, "--duration", f"{duration:g}", "--speed", f"{speed:g}"]
    with ChildCommand("service", *monitor_arguments) as service:
        link = ServiceSubscription.connect(results)
        try:
            dashboard = Dashboard(link, console)
            _await_ready(service, dashboard)
            with ChildCommand("publisher", *replay_arguments) as publisher:
                finished = _finished(service, publisher)
                with _sending(notes, dashboard, results) as send_due:
                    yield dashboard, lambda: send_due() or finished()
            for line in service.new_lines():
                _print_error(line)
        finally:
            link.close()


@contextmanager
def _sending(notes: Sequence[NoteRequest], dashboard: Dashboard, results: str) -> Iterator[Callable[[], None]]:
    """Yield a function that sends the notes whose samples the service at `results` has received."""
    from monitor.transport.zeromq.requests import RequestClient, requests_url

    waiting = deque(notes)
    client: RequestClient | None = None

    def send_due() -> None:
        nonlocal client
        health = dashboard.health
        if not waiting or health is None:
            return
        client = client or RequestClient(requests_url(health.requests, results))
        while waiting and (waiting[0].index or 0) < health.counts.received:
            client.send(waiting.popleft())

    try:
        yield send_due
    finally:
        if client is not None:
            client.close()


def _await_ready(service: ChildCommand, dashboard: Dashboard) -> None:
    """Wait until the service listens and, as a simulated test can, until all of its measures are compiled."""
    listening = False
    while not listening or dashboard.health is None or dashboard.health.compilation.measures:
        ended = service.ended
        for line in service.new_lines():
            if found := _endpoints(line):
                listening = True
                line = f"listening on {', '.join(found.signals)}; results on {found.results}"
            _print_error(line)
        if ended:
            raise ChildCommandError("the service ended before it was ready")
        dashboard.update(_POLL_INTERVAL)


def _endpoints(line: str) -> Endpoints | None:
    if not line.startswith("{"):
        return None
    try:
        return Endpoints.from_message(json.loads(line))
    except ValueError:
        return None


def _finished(service: ChildCommand, publisher: ChildCommand) -> Callable[[], bool]:
    deadline = math.inf

    def finished() -> bool:
        nonlocal deadline
        if service.ended:
            return True
        if publisher.ended and deadline == math.inf:
            deadline = time.monotonic() + _FINISH_TIMEOUT
        if time.monotonic() > deadline:
            raise ChildCommandError(f"the service did not finish within {_FINISH_TIMEOUT:g} s of the last sample")
        return False

    return finished


def _report(record: Path, ramp: float, print_truth: Callable[[Path, float, Console], None]) -> None:
    from rich.console import Console

    console = Console()
    print_truth(record, ramp, console)
    for line in (
        f"The run is in {record}. To see it again:",
        f"  synchroscope assess {record}",
        f"  synchroscope replay {record}   (with synchroscope monitor in another terminal)",
    ):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _free_endpoints(number: int) -> list[str]:
    """Return endpoints of loopback ports that are free now."""
    servers = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [server.getsockname()[1] for server in servers]
    for server in servers:
        server.close()
    return [f"tcp://127.0.0.1:{port}" for port in ports]


def _print_error(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
