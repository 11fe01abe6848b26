"""`synchroscope monitor`: the service."""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
import traceback
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from monitor.catalogue import RELIABILITY
from monitor.commands.first_start import FirstStart
from monitor.commands.process import (
    StopSignals,
    check_memory_limit,
    exit_immediately,
    exit_on_stdin_eof,
    raise_descriptor_limit,
    run_interruptibly,
)
from monitor.commands.security import Guard, open_guard, unencrypted_rigs
from monitor.commands.service_files import (
    DiskSpace,
    close_recorder,
    open_recorder,
    recording_state,
    restore_alarms,
    unrecorded_message,
)
from monitor.commands.service_settings import add_service_options, service_settings
from monitor.commands.sinks import open_broker, open_systemd, open_viewers
from monitor.commands.sources import LiveChannels, is_lsl, open_source
from monitor.messages.ready import Endpoints

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from monitor.alarms.monitor import AlarmMonitor
    from monitor.commands.sinks import BrokerConnection, SystemdSink
    from monitor.config import ResultSettings, Settings
    from monitor.messages import Sink
    from monitor.messages.health import StreamCounts
    from monitor.recording import Recorder
    from monitor.recording.alarm_file import AlarmStateFile
    from monitor.reliability.plan import ReliabilityPlan
    from monitor.service.service import Service
    from monitor.transport.base import ListeningSource
    from monitor.transport.zeromq.requests import ZmqRequestServer
    from monitor.transport.zeromq.results import ResultPublisher


_RECORDER_START = 5.0  # s
_FLOODED = "samples were lost when senders came faster than they can be read: join several samples in a message"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_service_options(parser)


def run(arguments: argparse.Namespace, live_channels: LiveChannels) -> int:
    """Run the service until it is stopped, or only its checks; return the exit code.

    Parameters
    ----------
    arguments : of the command line.
    live_channels : gives the channels of an LSL stream their roles.
    """
    if arguments.json and not arguments.check:
        raise ValueError("--json goes with --check")
    check_memory_limit()
    raise_descriptor_limit()
    if arguments.check:
        from monitor.commands.check import check

        return check(
            lambda: service_settings(arguments),
            live_channels,
            insecure=arguments.insecure,
            duration=arguments.duration,
            as_json=arguments.json,
        )
    # a signal during the start ends the service as well
    stop = StopSignals()
    if arguments.until_closed:
        exit_on_stdin_eof()
    return _serve(arguments, service_settings(arguments), stop, live_channels)


def _serve(arguments: argparse.Namespace, settings: Settings, stop: StopSignals, live_channels: LiveChannels) -> int:
    from monitor.commands.checks.values import check_published
    from monitor.ensembles.plan_files import open_plan

    log = (lambda _text: None) if arguments.quiet else _log
    if settings.reliability.channel:
        log(f"reading the ensemble {', '.join(settings.reliability.ensemble)} ...")
    try:
        with stop.interrupting():
            plan = open_plan(settings.reliability)
    except KeyboardInterrupt:
        return 0
    check_published(settings, plan)
    with ExitStack() as stack:
        parts = _open_parts(stack, arguments, settings, stop, live_channels, log)
        recorder = parts.recorder
        try:
            kernels = parts.kernels = _load_kernels(settings, stop, log, reliability=plan is not None)
        except KeyboardInterrupt:
            stack.close()
            # the compiler cannot be interrupted: it may be seconds in one function
            exit_immediately(0)
        if kernels is not None:
            stack.callback(kernels.close)
        alarms, alarm_file = restore_alarms(settings)
        if alarm_file is not None:
            stack.callback(alarm_file.close)
        systemd = open_systemd(os.environ)
        if systemd is not None:
            stack.callback(systemd.close)
        if recorder is not None:
            recorder.wait_until_ready(_RECORDER_START)
        # only now, or samples would pile up during the start until some are lost
        parts.source.listen()
        service = _assemble(parts, settings, plan, alarms, alarm_file, systemd, log)
        listening = _announce(parts, log, as_json=arguments.ready_json)
        if systemd is not None:
            systemd.ready(listening)
        _run_service(service, stop, duration=arguments.duration, once=arguments.once)
        if recorder is not None and (service.dropped or service.flooded):
            recorder.count_unrecorded(service.dropped)
    stop.ignore()
    _log_counts(service.counts, log)
    if service.flooded:
        print(f"synchroscope monitor: {_FLOODED}", file=sys.stderr)
    complete = recorder is None or _report_recording(recorder, log)
    code = 0 if complete and not service.flooded else 1
    if kernels is not None and kernels.running:
        # the compiler cannot be interrupted
        exit_immediately(code)
    return code


@dataclass(slots=True)
class _Parts:
    """What receives, publishes and records."""

    guard: Guard
    source: ListeningSource
    results: ResultPublisher
    requests: ZmqRequestServer | None
    viewers: Sequence[Sink]
    broker: BrokerConnection
    recorder: Recorder | None = None
    disk: DiskSpace | None = None
    kernels: FirstStart | None = None


def _open_parts(
    stack: ExitStack, arguments: argparse.Namespace, settings: Settings, stop: StopSignals,
    live_channels: LiveChannels, log: Callable[[str], None],
) -> _Parts:  # fmt: skip
    """Open what the settings name; the stack closes it."""
    from monitor.transport.zeromq.results import ResultPublisher
    from monitor.wire.native import Encoder

    recorder: Recorder | None = None
    stack.push(lambda _, problem, __: _exit_if_disk_hangs(problem, recorder))
    guard = stack.enter_context(open_guard(settings.security.keys, settings.security.rig_key, log))
    if unencrypted := unencrypted_rigs(settings):
        log(unencrypted)
    source = open_source(settings.stream, guard, live_channels, insecure=arguments.insecure)
    stack.callback(source.close)
    encoder = Encoder()
    results = ResultPublisher(
        settings.results.publish, signals=settings.results.signals, insecure=arguments.insecure, security=guard.keys,
        own_process=True, clients=guard.clients, encoder=encoder,
    )  # fmt: skip
    stack.callback(results.close)
    requests = _request_server(settings.results, arguments.insecure, guard)
    if requests is not None:
        stack.callback(requests.close)
    viewers = stack.enter_context(
        open_viewers(settings.viewers, arguments.insecure, log, lsl_times=is_lsl(settings.stream))
    )
    # closed after the recorder, whose outcome it publishes
    broker = open_broker(settings, lambda: recorder, log)
    stack.callback(broker.close)
    parts = _Parts(guard, source, results, requests, viewers, broker)
    if settings.record.path:
        parts.recorder = recorder = opened = open_recorder(settings, encoder)
        stack.push(lambda kind, *_: close_recorder(opened, stop, log, failed=kind is not None))
        parts.disk = DiskSpace(recorder.path.parent)
        stack.callback(parts.disk.close)
    return parts


def _assemble(
    parts: _Parts, settings: Settings, plan: ReliabilityPlan | None, alarms: AlarmMonitor,
    alarm_file: AlarmStateFile | None, systemd: SystemdSink | None, log: Callable[[str], None],
) -> Service:  # fmt: skip
    """Return the service of these parts."""
    from monitor.commands.console_sink import ConsoleSink
    from monitor.engine.monitor import MAX_ROWS_PER_SECOND, Monitor
    from monitor.messages.health import CompilationStatus, RecordingStatus
    from monitor.service.service import Service
    from monitor.transport.base import FaultReporter

    recorder, disk, kernels, results, broker = parts.recorder, parts.disk, parts.kernels, parts.results, parts.broker
    sinks = (results, alarm_file, ConsoleSink(log, awaited=settings.stream.connect), systemd)
    reporters: list[FaultReporter] = [
        results,
        *(each for each in parts.viewers if isinstance(each, FaultReporter)),
        *(each for each in (parts.requests, kernels) if each is not None),
    ]
    takers_of_notes = (each.notes for each in (recorder, alarm_file) if each is not None)
    service: Service = Service(
        parts.source,
        Monitor(settings.indicators, plan, max_rows=MAX_ROWS_PER_SECOND),
        [each for each in sinks if each is not None],
        recorders=[] if recorder is None else [recorder],
        viewers=[*broker.sinks, *parts.viewers],
        alarms=alarms,
        rig=settings.stream.rig,
        stale_after=settings.stream.stale_after,
        recording=RecordingStatus
        if recorder is None or disk is None
        else lambda: recording_state(recorder, disk, service.dropped),
        unpublished=lambda: results.dropped,
        broker=broker.state,
        compilation=CompilationStatus if kernels is None else lambda: kernels.status,
        fault=lambda: "; ".join(filter(None, [parts.guard.fault(), *(each.fault for each in reporters)])),
        request_servers=[
            *([] if parts.requests is None else [parts.requests]),
            *takers_of_notes,
            *broker.request_servers,
        ],
    )
    return service


def _announce(parts: _Parts, log: Callable[[str], None], *, as_json: bool) -> str:
    """Tell where the service listens, also in JSON for the program that started it; return the line."""
    source, results, requests = parts.source, parts.results, parts.requests
    accepting = "" if requests is None else requests.endpoint
    accepts = f"; requests on {accepting}" if accepting else ""
    listening = f"listening on {', '.join(source.endpoints)}; results on {results.endpoint}{accepts}"
    if as_json:
        _log(Endpoints(tuple(source.endpoints), results.endpoint, accepting).json)
    else:
        log(listening)
    return listening


def _run_service(service: Service, stop: StopSignals, *, duration: float | None, once: bool) -> None:
    """Run the service for so many seconds, or until a signal."""
    deadline = float("inf") if duration is None else time.monotonic() + duration
    # loaded modules stay in memory: a garbage collection over them would delay results by tens of milliseconds
    gc.collect()
    gc.freeze()
    try:
        service.run(lambda: stop.received or time.monotonic() >= deadline, once=once)
    except BrokenPipeError:
        raise
    except (ValueError, OSError) as problem:
        # not a mistake of the user: after exit code 2 systemd would not restart the service
        raise RuntimeError(f"the service failed: {problem}") from problem


def _load_kernels(
    settings: Settings, stop: StopSignals, log: Callable[[str], None], *, reliability: bool
) -> FirstStart | None:
    """Load the kernels; where one is missing return what loads them later. KeyboardInterrupt at a stop signal."""
    from monitor.alarms.monitor import warm_up as warm_up_alarms
    from monitor.engine.monitor import warm_up
    from monitor.kernel import KernelMissing, from_the_cache

    log("loading kernels ...")
    measures, filtered = settings.indicators.measures, settings.indicators.bandpass is not None
    kernels: FirstStart | None = None
    with stop.interrupting():
        try:
            with from_the_cache():
                run_interruptibly(partial(warm_up, measures, bandpass=filtered, reliability=reliability))
        except KernelMissing:
            log("kernels are compiled once, in a minute or two, the headline's first; meanwhile samples are recorded")
            wanted = (*measures, *([RELIABILITY] if reliability else []))
            kernels = FirstStart(wanted, bandpass=filtered, log=log)
        # those of the alarms take less than a second
        run_interruptibly(warm_up_alarms)
    return kernels


def _log_counts(counts: StreamCounts, log: Callable[[str], None]) -> None:
    samples = f" with {counts.rejected_samples} samples" if counts.rejected_samples else ""
    log(
        f"{counts.received} samples received, {counts.lost} lost, {counts.duplicates} duplicate, "
        f"{counts.reordered} late, {counts.rejected} messages rejected{samples}, {counts.restarts} restarts"
    )


def _report_recording(recorder: Recorder, log: Callable[[str], None]) -> bool:
    """Report what was recorded; return whether that is everything."""
    if recorder.recorded:
        where = "in several files, the last of them " if recorder.breaks else "in "
        log(f"recorded {recorder.recorded} samples {where}{recorder.path}")
    elif not recorder.unrecorded:
        log("no samples were received, nothing was recorded")
    if missing := unrecorded_message(recorder):
        print(f"synchroscope monitor: {missing}", file=sys.stderr)
    if recorder.disk_hangs:
        exit_immediately(1)
    return not missing


def _exit_if_disk_hangs(problem: BaseException | None, recorder: Recorder | None) -> None:
    if problem is not None and recorder is not None and recorder.disk_hangs:
        traceback.print_exception(problem)
        exit_immediately(1)


def _request_server(results: ResultSettings, insecure: bool, guard: Guard) -> ZmqRequestServer | None:
    from monitor.transport.zeromq.requests import ZmqRequestServer

    if results.requests in ("", "none"):
        return None
    return ZmqRequestServer(results.requests, insecure=insecure, security=guard.keys, context=guard.context)


def _log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
