"""`synchroscope monitor`: the service."""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
import traceback
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.commands.outlets import open_broker, open_viewers
from monitor.commands.process import (
    StopSignals,
    allow_descriptors,
    exit_on_stdin_eof,
    leave_at_once,
    must_have_memory,
)
from monitor.commands.progress import compilation_progress
from monitor.commands.security import Guard, open_guard, unencrypted_rigs
from monitor.commands.service_alarms import names_folder
from monitor.commands.service_manager import open_service_manager
from monitor.commands.service_settings import add_service_options, service_settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from monitor.config import ResultSettings, Settings
    from monitor.messages.health import Recording
    from monitor.recording import Recorder
    from monitor.recording.disk_space import DiskSpace
    from monitor.transport.zeromq.request_server import ZmqRequestServer
    from monitor.wire.native import Encoder

_CLOSE_TIMEOUT = 6.5  # s after the stop for the recording, or at least one: a broker that is away has two more
_POLL_INTERVAL = 0.1  # s
_SILENCE = 1.0  # s of waiting without a word


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_service_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Serve until told to stop, or look whether that could be done."""
    if arguments.json and not arguments.check:
        raise ValueError("--json goes with --check")
    must_have_memory()
    allow_descriptors()
    if arguments.check:
        from monitor.commands.check import check

        return check(
            lambda: service_settings(arguments),
            insecure=arguments.insecure,
            duration=arguments.duration,
            as_json=arguments.json,
        )
    # told to stop while things are still being set up, it stops all the same
    stop = StopSignals()
    if arguments.until_closed:
        exit_on_stdin_eof()
    settings = service_settings(arguments)

    from monitor.commands.checks.values import check_published
    from monitor.commands.console_sink import ConsoleSink
    from monitor.commands.service_alarms import kept_alarms
    from monitor.engine.monitor import MOST_ROWS, Monitor, warm_up
    from monitor.ensembles.plan_files import open_plan
    from monitor.messages.health import Recording
    from monitor.recording.disk_space import DiskSpace
    from monitor.service.service import Service
    from monitor.transport.base import FaultReporter
    from monitor.transport.zeromq.results import ResultPublisher
    from monitor.transport.zeromq.signals import SignalSubscriber
    from monitor.wire.native import Encoder

    say = (lambda _text: None) if arguments.quiet else _say
    stream = settings.stream
    if settings.reliability.channel:
        say(f"reading the ensemble {', '.join(settings.reliability.ensemble)} ...")
    try:
        with stop.at_once():
            plan = open_plan(settings.reliability)
    except KeyboardInterrupt:
        return 0
    check_published(settings, plan)
    recorder: Recorder | None = None
    with ExitStack() as stack:
        stack.push(lambda _, problem, __: _exit_if_disk_hangs(problem, recorder))
        guard = stack.enter_context(open_guard(settings.security.keys, settings.security.rig_key, say))
        if plain := unencrypted_rigs(settings):
            say(plain)
        source = SignalSubscriber(
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
        encoder = Encoder()
        results = ResultPublisher(
            publish.publish,
            signals=publish.signals,
            insecure=arguments.insecure,
            security=guard.keys,
            own_process=True,
            clients=guard.clients,
            encoder=encoder,
        )
        stack.callback(results.close)
        requests = _request_server(publish, arguments.insecure, guard)
        if requests is not None:
            stack.callback(requests.close)
        viewers = stack.enter_context(open_viewers(settings.viewers, arguments.insecure, say))
        # closed after the recording, whose outcome it tells
        broker = open_broker(settings, lambda: recorder, say)
        stack.callback(broker.close)
        recorder = _recorder(settings, encoder) if settings.record.path else None
        if recorder is not None:
            stack.push(lambda kind, *_: _close(recorder, stop, say, broke_off=kind is not None))
            disk = DiskSpace(recorder.path.parent)
            stack.callback(disk.close)
        say("loading kernels; where this is the first time they are compiled, for a minute or two ...")
        filtered = settings.indicators.bandpass is not None
        with compilation_progress(say) as progress:
            warm_up(settings.indicators.measures, bandpass=filtered, reliability=plan is not None, progress=progress)
        alarms, alarm_file = kept_alarms(settings)
        if alarm_file is not None:
            stack.callback(alarm_file.close)
        kept = [each for each in (recorder, alarm_file) if each is not None]
        manager = open_service_manager(os.environ)
        if manager is not None:
            stack.callback(manager.close)
        told = [] if manager is None else [manager]
        reporters: list[FaultReporter] = [
            results,
            *(each for each in viewers if isinstance(each, FaultReporter)),
            *([requests] if requests else []),
        ]
        # not before, or what a rig sends meanwhile would pile up until it is lost
        source.listen()
        service = Service(
            source,
            Monitor(settings.indicators, plan, most_rows=MOST_ROWS),
            [results, *kept, ConsoleSink(say, awaited=stream.connect), *told],
            viewers=[*broker.sinks, *viewers],
            alarms=alarms,
            rig=stream.rig,
            stale_after=stream.stale_after,
            recording=Recording if recorder is None else lambda: _recording_state(recorder, disk, service.dropped),
            unpublished=lambda: results.dropped,
            broker=broker.look,
            fault=lambda: "; ".join(filter(None, [guard.trouble(), *(each.fault for each in reporters)])),
            request_servers=[
                *([requests] if requests is not None else []),
                *(each.notes for each in kept),
                *broker.inlets,
            ],
        )
        takes = "" if requests is None else f"; requests on {requests.endpoint}"
        listening = f"listening on {', '.join(source.endpoints)}; results on {results.endpoint}{takes}"
        say(listening)
        if manager is not None:
            manager.ready(listening)
        deadline = float("inf") if arguments.duration is None else time.monotonic() + arguments.duration
        # what is loaded stays: looking for garbage in it would hold up results for tens of milliseconds
        gc.collect()
        gc.freeze()
        try:
            service.run(lambda: stop.told or time.monotonic() >= deadline, once=arguments.once)
        except BrokenPipeError:
            raise
        except (ValueError, OSError) as problem:
            # no mistake of the user's: with 2, systemd would leave the service down in mid-test
            raise RuntimeError(f"the service broke off: {problem}") from problem
        if recorder is not None and service.dropped:
            recorder.leave_out(service.dropped)
    stop.ignore()
    counts = service.counts
    say(
        f"{counts.received} samples received, {counts.lost} lost, {counts.duplicates} doubled, "
        f"{counts.reordered} late, {counts.rejected} messages refused, {counts.restarts} restarts"
    )
    if recorder is None:
        return 0
    if recorder.recorded:
        ends = "in several files, the last of them " if recorder.breaks else "in "
        say(f"recorded {recorder.recorded} samples {ends}{recorder.path}")
    elif not recorder.unrecorded:
        say("nothing to record came")
    if missing := _unrecorded(recorder):
        print(f"synchroscope monitor: {missing}", file=sys.stderr)
    if recorder.hangs:
        leave_at_once(1)
    return 1 if missing else 0


def _exit_if_disk_hangs(problem: BaseException | None, recorder: Recorder | None) -> None:
    if problem is not None and recorder is not None and recorder.hangs:
        traceback.print_exception(problem)
        leave_at_once(1)


def _close(recorder: Recorder, stop: StopSignals, say: Callable[[str], None], *, broke_off: bool) -> None:
    """Close the recording: of a service that broke off it is not whole, whatever came."""
    from monitor.recording.layout import TRUNCATED

    outcome = TRUNCATED if broke_off else None
    # a run that ends by itself is written, however long the disk takes; who does not want to wait says so
    ended, told = time.monotonic(), False
    while not recorder.end(outcome, _POLL_INTERVAL) and not broke_off and not stop.told:
        if not told and time.monotonic() - ended > _SILENCE:
            told = True
            say(f"waiting until the disk has taken {recorder.path}: stop the service to give up what it has not")
    used = time.monotonic() - stop.since if stop.told else 0.0
    recorder.close(outcome, patience=max(1.0, _CLOSE_TIMEOUT - used))


def _unrecorded(recorder: Recorder) -> str:
    """Return what of the run is not in its file, in one line; empty: all of it is."""
    lost = f"{recorder.unrecorded} samples were not recorded" if recorder.unrecorded else ""
    if recorder.hangs:
        hangs = f"{recorder.path}: the disk does not answer and the file is not closed"
        return f"{'; '.join(filter(None, (hangs, lost)))}; once it does, run: synchroscope recover {recorder.path}"
    if recorder.failed:
        refused = f"{recorder.path}: the disk does not take the recording: {recorder.failed}"
        return "; ".join(filter(None, (refused, lost)))
    return lost and f"{recorder.path}: {lost}"


def _recorder(settings: Settings, encoder: Encoder) -> Recorder:
    from monitor.recording import RecorderProcess, RunWriter
    from monitor.system.worker_process import POSSIBLE

    # whoever is told of it may run in another folder, and this one may go
    path = Path(settings.record.path).absolute()
    if names_folder(settings.record.path):
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            why = problem.strerror or problem
            raise ValueError(f"record.path: the folder {path} cannot be made: {why}; record in another") from problem
        path /= f"run-{datetime.now(UTC):%Y%m%d-%H%M%S}.h5"
    stored, interval = settings.model_dump(mode="json"), settings.record.flush_interval
    return RecorderProcess(path, stored, interval, encoder=encoder) if POSSIBLE else RunWriter(path, stored, interval)


def _request_server(results: ResultSettings, insecure: bool, guard: Guard) -> ZmqRequestServer | None:
    from monitor.transport.zeromq.request_server import ZmqRequestServer

    if results.requests in ("", "none"):
        return None
    return ZmqRequestServer(results.requests, insecure=insecure, security=guard.keys, context=guard.context)


def _recording_state(recorder: Recorder, disk: DiskSpace, left: int) -> Recording:
    from monitor.messages.health import Recording

    return Recording(
        str(recorder.path),
        recorder.recorded,
        # what the service left when it stopped is told the recorder only afterwards
        recorder.unrecorded + left,
        disk.free,
        recorder.unwritten_age,
        recorder.breaks,
        recorder.waiting,
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
