"""`synchroscope replay`: send a recorded run or a simulation as the stream that a rig would send."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.commands.options import add_column_options, add_insecure_option, positive
from monitor.commands.stopping import StopSignals

if TYPE_CHECKING:
    from replay.formats import Recording

SUMMARY = "send a recorded run, or a simulation, as the stream that a rig would send"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("source", metavar="FILE|MODEL", help="a run file, a text file, or a simulation's name")
    parser.add_argument("--bind", default=None, metavar="URL", help="publish here (default tcp://127.0.0.1:5555)")
    parser.add_argument("--connect", default=None, metavar="URL", help="publish to a monitor that binds this")
    parser.add_argument("--speed", type=_speed, default=1.0, metavar="X|max", help="times real time (default 1)")
    parser.add_argument("--start", type=float, default=0.0, metavar="S", help="begin S seconds after the start")
    parser.add_argument("--loop", action="store_true", help="begin again at the end, as a restarted rig would")
    parser.add_argument("--block", type=int, metavar="N", help="samples a message (default: 10 ms of them)")
    parser.add_argument("--live-time", action="store_true", help="date the samples now, not as recorded")
    parser.add_argument("--duration", type=float, metavar="S", help="length of a simulation; default its own")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of a simulation, and of the faults")
    parser.add_argument("--faults", default="", metavar="TEXT", help="for example drop=0.01,nan=0.001,restart=20")
    parser.add_argument("--no-wait", action="store_true", help="do not wait for a monitor before the first sample")
    parser.add_argument(
        "--auxiliary", action="store_true", help="a file without actuators: send its columns as they are"
    )
    add_insecure_option(parser)
    add_column_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Play until the end."""
    stop = StopSignals(signal.SIGINT)
    try:
        with stop.at_once():
            _play(arguments, stop)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return 0


def _play(arguments: argparse.Namespace, stop: StopSignals) -> None:
    from monitor.blocks import SignalBlock
    from monitor.transport.zeromq import SignalPublisher
    from replay.faults import FaultySource, parse_faults
    from replay.players import RecordingPlayer

    if arguments.bind and arguments.connect:
        raise ValueError("--bind and --connect are both given: leave one out")
    faults = parse_faults(arguments.faults)
    recording = _open(arguments)
    player = RecordingPlayer(
        recording,
        speed=arguments.speed,
        start=arguments.start,
        loop=arguments.loop,
        block_length=arguments.block,
        live_time=arguments.live_time,
    )
    source = FaultySource(player, faults, arguments.seed) if arguments.faults else player
    bind = "" if arguments.connect else arguments.bind or "tcp://127.0.0.1:5555"
    publisher = SignalPublisher(bind, connect=arguments.connect or "", reliable=True, insecure=arguments.insecure)
    linger = 0.0
    try:
        _say(f"{arguments.source}: {_summary(recording)}; publishing on {publisher.endpoint}")
        if not arguments.no_wait and not publisher.subscribed:
            _say("waiting for a monitor to connect ...")
            while not publisher.wait_for_subscriber(0.5):
                stop.check()
        sent = 0
        while not source.ended:
            stop.check()
            for item in source.receive(0.1):
                if isinstance(item, SignalBlock):
                    publisher.send(item)
                    sent += len(item)
            publisher.idle()
        _say(f"{sent} samples sent")
        linger = 30.0
    finally:
        source.close()
        # told to stop, it does not wait for those who lag
        publisher.close(linger)


def _open(arguments: argparse.Namespace) -> Recording:
    from replay.formats import Selection, open_recording
    from replay.simulations import names, simulation

    if arguments.source in names() and not Path(arguments.source).exists():
        return simulation(arguments.source, duration=arguments.duration, seed=arguments.seed)
    if not Path(arguments.source).exists():
        raise ValueError(f"{arguments.source}: no such file, and no simulation ({', '.join(names())})")
    selection = Selection(
        command=tuple(arguments.command),
        measured=tuple(arguments.measured),
        force=tuple(arguments.force),
        time=arguments.time,
        rate=arguments.rate,
        auxiliary=arguments.auxiliary,
    )
    recording = open_recording(arguments.source, selection)
    for note in recording.notes:
        _say(f"{arguments.source}: {note}")
    return recording


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


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
