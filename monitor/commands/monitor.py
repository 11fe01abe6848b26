"""`synchroscope monitor`: the service."""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.commands.alarm_options import add_alarm_option, with_alarms
from monitor.commands.broker import add_broker_option, broker_overrides, open_broker
from monitor.commands.options import (
    add_indicator_options,
    add_insecure_option,
    add_reliability_options,
    indicator_overrides,
    positive,
    reliability_overrides,
)
from monitor.commands.security import Guard, allow_descriptors, guarded
from monitor.commands.stopping import StopSignals
from monitor.commands.until_closed import stop_when_closed

if TYPE_CHECKING:
    from monitor.config import ResultSettings, Settings
    from monitor.health import Recording
    from monitor.recording import RunWriter
    from monitor.recording.disk_space import DiskSpace
    from monitor.transport.zeromq import RequestInlet

SUMMARY = "take a rig's stream, compute the indicators live, publish and record them"
DEFAULT_SIGNALS = "tcp://127.0.0.1:5555"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("config", nargs="?", type=Path, help="settings in TOML; options here go before them")
    parser.add_argument(
        "--connect",
        action="append",
        metavar="URL",
        help=f"a rig's publisher (default {DEFAULT_SIGNALS}); repeatable",
    )
    parser.add_argument("--bind", action="append", metavar="URL", help="where rigs connect to; repeatable")
    parser.add_argument("--rig", metavar="NAME", help="follow this rig only (default: the first that speaks)")
    parser.add_argument("--rate", type=float, metavar="HZ", help="sample rate of plain senders that do not say it")
    parser.add_argument("--publish", metavar="URL", help="where results go (default tcp://127.0.0.1:5556)")
    parser.add_argument(
        "--requests", metavar="URL", help="where notes and the like are taken (default: a free port; none: nowhere)"
    )
    parser.add_argument("--record", metavar="PATH", help="keep the run in this file, or in this folder")
    parser.add_argument("--duration", type=positive, metavar="S", help="stop after so many seconds")
    parser.add_argument("--once", action="store_true", help="stop after the stream's last block")
    parser.add_argument("--until-closed", action="store_true", help="stop when standard input is closed")
    parser.add_argument("--quiet", action="store_true", help="say nothing but errors")
    parser.add_argument("--keys", metavar="DIR", help="let in only whom this folder of `synchroscope keys` lists")
    parser.add_argument("--rig-key", metavar="FILE", help="public key of the rigs of --connect, where they have one")
    add_insecure_option(parser)
    add_indicator_options(parser)
    add_reliability_options(parser)
    add_alarm_option(parser)
    add_broker_option(parser)


def run(arguments: argparse.Namespace) -> int:
    """Serve until told to stop."""
    # told to stop while things are still being set up, it stops all the same
    stop = StopSignals()
    if arguments.until_closed:
        stop_when_closed()
    settings = _settings(arguments)

    from monitor.commands.alarm_keeping import kept_alarms
    from monitor.commands.announcer import Announcer
    from monitor.engine import Monitor, warm_up
    from monitor.ensembles.plan_files import open_plan
    from monitor.health import Recording
    from monitor.recording.disk_space import DiskSpace
    from monitor.service import Service
    from monitor.transport.zeromq import ZmqResultSink, ZmqSource

    say = (lambda _text: None) if arguments.quiet else _say
    stream = settings.stream
    if settings.reliability.channel:
        say(f"reading the ensemble {', '.join(settings.reliability.ensemble)} ...")
    try:
        with stop.at_once():
            plan = open_plan(settings.reliability)
    except KeyboardInterrupt:
        return 0
    allow_descriptors()
    with ExitStack() as stack:
        guard = stack.enter_context(guarded(settings.security.keys, settings.security.rig_key, say))
        source = ZmqSource(
            stream.connect,
            stream.bind,
            rig=stream.rig,
            sample_rate=stream.sample_rate,
            stale_after=stream.stale_after,
            insecure=arguments.insecure,
            listening=False,
            security=guard.keys,
            context=guard.context,
        )
        stack.callback(source.close)
        publish = settings.results
        results = ZmqResultSink(
            publish.publish,
            signals=publish.signals,
            insecure=arguments.insecure,
            security=guard.keys,
            context=guard.context,
        )
        stack.callback(results.close)
        inlet = _inlet(publish, arguments.insecure, guard)
        if inlet is not None:
            stack.callback(inlet.close)
        # closed after the recording, whose outcome it tells
        recorder: RunWriter | None = None
        broker = open_broker(settings, lambda: recorder, say)
        stack.callback(broker.close)
        recorder = _recorder(settings) if settings.record.path else None
        if recorder is not None:
            stack.callback(recorder.close)
            disk = DiskSpace(recorder.path.parent)
            stack.callback(disk.close)
        say("loading kernels; the first time they are compiled, which takes a minute or two ...")
        warm_up(settings.indicators.measures, reliability=plan is not None)
        alarms, alarm_file = kept_alarms(settings, say)
        if alarm_file is not None:
            stack.callback(alarm_file.close)
        kept = [each for each in (recorder, alarm_file) if each is not None]
        # not before, or what a rig sends meanwhile would pile up until it is lost
        source.listen()
        service = Service(
            source,
            Monitor(settings.indicators, plan),
            [results, *kept, *broker.sinks, Announcer(say)],
            alarms=alarms,
            rig=stream.rig,
            stale_after=stream.stale_after,
            recording=Recording if recorder is None else lambda: _kept(recorder, disk),
            broker=broker.look,
            inlets=[*(each for each in (inlet, alarm_file) if each is not None), *broker.inlets],
        )
        takes = "" if inlet is None else f"; requests on {inlet.endpoint}"
        say(f"listening on {', '.join(source.endpoints)}; results on {results.endpoint}{takes}")
        deadline = float("inf") if arguments.duration is None else time.monotonic() + arguments.duration
        service.run(lambda: stop.told or time.monotonic() >= deadline, once=arguments.once)
    counts = service.counts
    say(
        f"{counts.received} samples received, {counts.lost} lost, {counts.duplicates} doubled, "
        f"{counts.reordered} late, {counts.rejected} messages refused, {counts.restarts} restarts"
    )
    if recorder is None:
        return 0
    if recorder.failed:
        print(
            f"synchroscope monitor: the recording {recorder.path} broke off: {recorder.failed}",
            file=sys.stderr,
        )
        return 1
    say(f"recorded {recorder.recorded} samples in {recorder.path}" if recorder.recorded else "nothing to record came")
    return 0


def _settings(arguments: argparse.Namespace) -> Settings:
    from monitor.config import load_settings

    # an empty endpoint takes the place of those in the file, and is none
    binds = None if arguments.bind is None else [url for url in arguments.bind if url]
    stream = {"connect": arguments.connect, "bind": binds, "rig": arguments.rig}
    stream |= {"sample_rate": arguments.rate}
    sections = {
        "stream": stream,
        "results": {"publish": arguments.publish, "requests": arguments.requests},
        "record": {"path": arguments.record},
        "security": {"keys": arguments.keys, "rig_key": arguments.rig_key},
        "indicators": indicator_overrides(arguments),
        "reliability": reliability_overrides(arguments),
        "mqtt": broker_overrides(arguments),
    }
    given = {name: {k: v for k, v in keys.items() if v is not None} for name, keys in sections.items()}
    settings = with_alarms(load_settings(arguments.config, given), arguments.alarm)
    if not settings.stream.connect and not settings.stream.bind:
        stream_settings = settings.stream.model_copy(update={"connect": (DEFAULT_SIGNALS,)})
        settings = settings.model_copy(update={"stream": stream_settings})
    return settings


def _recorder(settings: Settings) -> RunWriter:
    from monitor.recording import RunWriter

    path = Path(settings.record.path)
    if path.is_dir() or settings.record.path.endswith(("/", "\\")):
        path.mkdir(parents=True, exist_ok=True)
        path /= f"run-{datetime.now(UTC):%Y%m%d-%H%M%S}.h5"
    return RunWriter(path, settings.model_dump(mode="json"), settings.record.flush_interval)


def _inlet(results: ResultSettings, insecure: bool, guard: Guard) -> RequestInlet | None:
    from monitor.transport.zeromq import RequestInlet

    if results.requests in ("", "none"):
        return None
    return RequestInlet(results.requests, insecure=insecure, security=guard.keys, context=guard.context)


def _kept(recorder: RunWriter, disk: DiskSpace) -> Recording:
    from monitor.health import Recording

    # whoever reads it may run in another folder
    return Recording(str(recorder.path.absolute()), recorder.recorded, recorder.unrecorded, disk.free)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
