"""`synchroscope replay`: publish a recorded run or a simulation as a rig would."""

from __future__ import annotations

import argparse
import signal
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.commands.options import add_column_options, add_insecure_option, add_ready_option, duration, positive
from monitor.commands.output import announced
from monitor.commands.process import StopSignals, exit_on_stdin_eof
from monitor.commands.security import open_guard
from monitor.messages.ready import Endpoints
from monitor.system.default_endpoints import SIGNALS
from replay.commands import column_selection

if TYPE_CHECKING:
    from monitor.transport.zeromq.requests import ZmqRequestServer
    from monitor.transport.zeromq.signals import SignalPublisher
    from replay.formats import Recording, Selection
    from replay.playback.controlled_source import ControlledSource

_LINGER = 30.0  # s, for a monitor that lags
_QUEUE, _SHORT_QUEUE = 5.0, 0.1  # s


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("source", metavar="FILE|MODEL", help="a recording, or a simulation's name")
    parser.add_argument("parts", nargs="*", metavar="FILE", help="with --join: further parts of the run")
    parser.add_argument("--join", action="store_true", help="the files are parts of one run, in their order")
    parser.add_argument("--bind", default=None, metavar="URL", help=f"publish here (default: {SIGNALS})")
    parser.add_argument("--connect", default=None, metavar="URL", help="publish to a monitor that binds this")
    parser.add_argument("--speed", type=_speed, default=1.0, metavar="X|max", help="times real time (default 1)")
    parser.add_argument(
        "--start", type=float, default=0.0, metavar="S", help="start S seconds after the beginning of the record"
    )
    parser.add_argument("--loop", action="store_true", help="restart at the end, as a restarted rig would")
    parser.add_argument("--block", type=int, metavar="N", help="samples per message (default: those of 10 ms)")
    parser.add_argument(
        "--live-time", action="store_true", help="use the current time as time stamps, not the recorded times"
    )
    parser.add_argument(
        "--duration", type=duration, metavar="S", help="of a simulation: s, or 2min (default: its own)"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of a simulation, and of the faults")
    parser.add_argument(
        "--compensate",
        metavar="NAME",
        help="of the simulation hybrid: a compensator in its loop, fixed, ats, recursive, fdb, paei or broadband",
    )
    parser.add_argument("--faults", default="", metavar="TEXT", help="for example drop=0.01,nan=0.001,restart=20")
    parser.add_argument("--no-wait", action="store_true", help="do not wait for a monitor before the first sample")
    parser.add_argument(
        "--auxiliary",
        action="store_true",
        help="the file has no actuators: publish all columns as auxiliary channels",
    )
    parser.add_argument(
        "--keys",
        metavar="DIR",
        help="with --bind: accept only clients listed in this key folder; with --connect: the folder "
        "that the service provided",
    )
    add_insecure_option(parser)
    add_column_options(parser)
    group = parser.add_argument_group("for programs")
    group.add_argument("--control", action="store_true", help="accept requests such as pause, seek and speed")
    group.add_argument(
        "--requests", metavar="URL", help="with --control: endpoint of the requests (default: a free local port)"
    )
    group.add_argument("--paused", action="store_true", help="with --control: start paused")
    add_ready_option(group)
    group.add_argument("--until-closed", action="store_true", help="stop when standard input is closed")
    group.add_argument("--describe", action="store_true", help="print a description of the source as JSON, and exit")
    group.add_argument(
        "--overview",
        type=int,
        default=1000,
        metavar="N",
        help="with --describe: columns of the overview (default 1000; 0: none)",
    )
    group.add_argument("--whole", action="store_true", help="with --describe: read all rows, also of a long file")


def run(arguments: argparse.Namespace) -> int:
    """Play until the end, or until a signal stops it."""
    if arguments.parts and not arguments.join:
        raise ValueError(f"{1 + len(arguments.parts)} files: --join plays them as parts of one run")
    for name in ("paused", "requests"):
        if getattr(arguments, name) and not arguments.control:
            raise ValueError(f"--{name}: needs --control")
    if arguments.describe:
        return _describe(arguments)
    stop = StopSignals(signal.SIGINT, *([signal.SIGTERM] if arguments.control else []))
    if arguments.until_closed:
        exit_on_stdin_eof(signal.SIGINT)
    try:
        with ExitStack() as stack:
            with stop.interrupting():
                source, publisher, requests, ready = _set_up(arguments, stack, stop)
                if requests is None:
                    _log(ready)
                    _send_all(source, publisher, arguments.no_wait, stop)
            if requests is not None:
                from replay.playback.controlled_source import play_controlled

                # not before: a signal to a program that has printed this must not interrupt it
                _log(ready)
                play_controlled(source, publisher, requests, arguments.no_wait, stop)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return 0


def _set_up(
    arguments: argparse.Namespace, stack: ExitStack, stop: StopSignals
) -> tuple[ControlledSource, SignalPublisher, ZmqRequestServer | None, str]:
    """Return what plays, and the line to print when it is ready."""
    from monitor.transport.zeromq.key_files import keys_of
    from monitor.transport.zeromq.requests import ZmqRequestServer
    from monitor.transport.zeromq.signals import SignalPublisher
    from replay.faults import parse_faults
    from replay.playback.controlled_source import REQUEST_RATE, ControlledSource
    from replay.playback.description import open_described
    from replay.playback.players import RecordingPlayer

    if arguments.bind and arguments.connect:
        raise ValueError("--bind and --connect are both given: leave one out")
    parse_faults(arguments.faults)  # raises before a long simulation
    simulated = _simulation(arguments)
    if simulated is None:
        description, recording = open_described(arguments.source, _selection(arguments), parts=arguments.parts)
        if recording is None:
            raise ValueError(f"{arguments.source}: {description.problem}")
    else:
        recording = simulated
    for note in recording.notes:
        _log(f"{arguments.source}: {note}")
    # a simulation computes its first samples here
    with announced(_computing(arguments.source) if simulated else "", _log):
        player = RecordingPlayer(
            recording,
            speed=arguments.speed,
            start=arguments.start,
            loop=arguments.loop,
            block_length=arguments.block,
            live_time=arguments.live_time,
        )
    if arguments.paused:
        player.pause()
    source = ControlledSource(player, arguments.faults, arguments.seed)
    stack.callback(source.close)
    # a half-opened socket would keep its context, and the program, from ending
    with stop.deferred():
        guard = stack.enter_context(open_guard("" if arguments.connect else arguments.keys or "", log=_log))
        publisher = SignalPublisher(
            "" if arguments.connect else arguments.bind or SIGNALS,
            connect=arguments.connect or "",
            reliable=True,
            # a seek cannot withdraw queued messages
            queue_seconds=_SHORT_QUEUE if arguments.control else _QUEUE,
            insecure=arguments.insecure,
            security=keys_of(arguments.keys or "") if arguments.connect else guard.keys,
            context=guard.context,
        )
        # stopped by a signal, it does not wait for slow subscribers
        stack.callback(publisher.close, 0.0)
        requests = None
        if arguments.control:
            requests = ZmqRequestServer(
                arguments.requests or "tcp://127.0.0.1:*",
                insecure=arguments.insecure,
                security=guard.keys,
                context=guard.context,
                rate=REQUEST_RATE,
            )
            stack.callback(requests.close)
    if arguments.ready_json:
        accepting = "" if requests is None else requests.endpoint
        return source, publisher, requests, Endpoints((publisher.endpoint,), requests=accepting).json
    control = "" if requests is None else f"; requests at {requests.endpoint}"
    ready = f"{arguments.source}: {_summary(recording)}; publishing on {publisher.endpoint}{control}"
    return source, publisher, requests, ready


def _send_all(source: ControlledSource, publisher: SignalPublisher, at_once: bool, stop: StopSignals) -> None:
    from monitor.messages.blocks import SignalBlock

    if not at_once and not publisher.subscribed:
        _log("waiting for a monitor to connect ...")
        while not publisher.wait_for_subscriber(0.5):
            stop.check()
            if publisher.rejection:
                raise ValueError(f"{publisher.endpoint}: {publisher.rejection}")
    sent = 0
    while not source.ended:
        stop.check()
        for item in source.receive(0.1):
            if isinstance(item, SignalBlock):
                publisher.send(item)
                sent += len(item)
        publisher.heartbeat_if_idle()
    _log(f"{sent} samples sent")
    publisher.close(_LINGER)


def _describe(arguments: argparse.Namespace) -> int:
    import msgspec

    from replay.playback.description import describe_recording, open_described

    if arguments.overview < 0:
        raise ValueError(f"--overview {arguments.overview}: give a number of columns, or 0")
    recording = _simulation(arguments)
    if recording is None:
        wanted = _selection(arguments), arguments.overview, arguments.parts
        description, _ = open_described(arguments.source, *wanted, coarse=not arguments.whole)
    else:
        with announced(_computing(arguments.source), _log):
            description = describe_recording(recording, "simulation", arguments.overview)
    # NaN becomes null
    print(msgspec.json.encode(description).decode())
    return 0


def _simulation(arguments: argparse.Namespace) -> Recording | None:
    """Return the simulation of that name; None where the source is a file."""
    from replay.simulations import names, simulation

    if arguments.source in names() and not Path(arguments.source).exists():
        with announced(_computing(arguments.source), _log):
            return simulation(
                arguments.source, duration=arguments.duration, seed=arguments.seed, compensation=arguments.compensate
            )
    if arguments.compensate is not None:
        raise ValueError(
            f"--compensate: {arguments.source} is not a simulation, and only the loop of one can have it"
        )
    if not Path(arguments.source).exists():
        raise ValueError(f"{arguments.source}: no such file or simulation ({', '.join(names())})")
    return None


def _computing(source: str) -> str:
    return f"{source}: computing the first samples; kernels are compiled once, which takes a minute or two"


def _selection(arguments: argparse.Namespace) -> Selection:
    return column_selection(arguments, auxiliary=arguments.auxiliary)


def _summary(recording: Recording) -> str:
    stream = recording.stream
    actuators = ", ".join(pair.actuator for pair in stream.pairs) or "no actuators"
    seconds = recording.n_samples / stream.sample_rate
    return f"{recording.n_samples} samples, {seconds:.4g} s at {stream.sample_rate:g} Hz, {actuators}"


def _speed(text: str) -> float:
    try:
        return float("inf") if text == "max" else positive(text)
    except argparse.ArgumentTypeError as problem:
        raise argparse.ArgumentTypeError(f"{problem} or max") from None


def _log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
