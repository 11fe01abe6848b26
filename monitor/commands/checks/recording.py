"""Checks of the recording: writing a run file, speed and free space of its disk, the alarm state file."""

from __future__ import annotations

import os
import shutil
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np

from monitor.commands.checks import CheckResult, fail, ok, warn
from monitor.commands.service_files import alarm_path, check_not_folder, is_folder
from monitor.config import Settings
from monitor.messages.blocks import Channel, Column, ResultBlock, ResultStream, Role, SignalBlock, Stream

_PREFIX = ".synchroscope-check-"
_WRITES = 5
_MAX_WRITE = 4 << 20  # bytes
_DEFAULT_RATE = 400_000  # bytes a second without a rig: an actuator at 1 kHz
_HOUR = 3600.0
_ROW_OVERHEAD = 24  # bytes of time, epoch and index


def recording(
    settings: Settings, streams: Sequence[Stream], columns: Sequence[Column], duration: float | None
) -> Iterator[CheckResult]:
    """Write a temporary run file, time the disk, and estimate how long its free space lasts."""
    folder, created = _run_folder(settings)
    existing = _nearest(folder) if created else folder
    if not existing.is_dir():
        yield fail("record", f"the folder {folder} does not exist: create it, or end the path with /")
        return
    with _scratch(existing) as scratch:
        if problem := _write_error(Path(scratch), settings.record.flush_interval):
            yield fail("record", f"{folder}: a run file cannot be written: {problem}")
            return
        rate = bytes_per_second(settings, streams[0], columns) if streams else _DEFAULT_RATE
        yield from _free_space(settings, existing, rate, received=bool(streams), duration=duration)
        yield from _speed(Path(scratch), settings.record.flush_interval, rate)


def bytes_per_second(settings: Settings, stream: Stream, columns: Sequence[Column]) -> float:
    """Return how fast the run file of a stream grows, bytes per second."""
    from monitor.engine.monitor import MAX_ROWS_PER_SECOND, row_interval

    every = row_interval(settings.indicators, stream.sample_rate, MAX_ROWS_PER_SECOND)
    rows = stream.sample_rate / every if columns else 0.0
    samples = stream.sample_rate * (8 * len(stream.channels) + _ROW_OVERHEAD)
    return samples + rows * (8 * len(columns) + _ROW_OVERHEAD)


def alarm_state(settings: Settings) -> Iterator[CheckResult]:
    """Read the alarm state file as the service does, and check whether it can be replaced."""
    from monitor.alarms.monitor import AlarmMonitor
    from monitor.recording import alarm_file

    path = alarm_path(settings)
    if path is None:
        yield warn("alarm file", "none: alarms are not saved over restarts; give alarms.state or record")
        return
    created = not settings.alarms.state and _run_folder(settings)[1]
    folder = _nearest(path.parent) if created else path.parent
    if not folder.is_dir():
        yield fail("alarm file", f"{path}: the folder {folder} does not exist")
        return
    check_not_folder(path)
    with _scratch(folder):
        pass
    try:
        state = alarm_file.read_state(path)
        monitor = AlarmMonitor(settings.alarms, settings.stream.stale_after)
        if state is not None:
            monitor.restore(state)
    except ValueError as problem:
        yield warn("alarm file", f"{path}: the service will rename it and start from normal: {problem}")
        return
    active = [alarm.name for alarm in monitor.alarms if alarm.is_annunciated]
    yield ok("alarm file", f"{path}: active alarms: {', '.join(active) or 'none'}")


def _run_folder(settings: Settings) -> tuple[Path, bool]:
    """Return the folder of the run files, and whether the service creates it."""
    path = Path(settings.record.path)
    return (path, True) if is_folder(settings.record.path) else (path.parent, False)


def _nearest(folder: Path) -> Path:
    """Return the folder, or its nearest existing parent."""
    folder = folder.absolute()
    return next((each for each in (folder, *folder.parents) if each.exists()), folder)


def _scratch(folder: Path) -> TemporaryDirectory[str]:
    try:
        return TemporaryDirectory(prefix=_PREFIX, dir=folder)
    except OSError as problem:
        why = problem.strerror or problem
        raise ValueError(f"{folder} is not writable: {why}; give another folder, or change its permissions") from None


def _write_error(scratch: Path, interval: float) -> str:
    """Write a small run file as the service does; return why it could not be written."""
    from monitor.recording import RunWriter

    stream = Stream("check", 0, 100.0, (Channel("x", Role.AUXILIARY),))
    results = ResultStream("check", 0, 100.0, 1, (Column("y", "1", ""),))
    writer = RunWriter(scratch / "run.h5", {}, interval)
    try:
        writer.signals(SignalBlock(stream, 0, 0.0, np.zeros((10, 1))))
        writer.results(ResultBlock(results, 0, 0.0, np.zeros((10, 1))))
    finally:
        writer.close()
    return writer.failed


def _free_space(
    settings: Settings, folder: Path, rate: float, *, received: bool, duration: float | None
) -> Iterator[CheckResult]:
    free = shutil.disk_usage(folder).free
    remaining = free / rate
    basis = "at the rate of the rig," if received else "no rig was received: at an assumed"
    detail = f"{folder}: {free / 1e9:.3g} GB free, {basis} {rate / 1e6:.3g} MB/s, for {_duration_text(remaining)}"
    if free <= settings.alarms.disk_trip:
        yield fail("record", f"{detail}; free some space")
    elif duration is not None and remaining < duration and received:
        yield fail("record", f"{detail}, less than the {_duration_text(duration)} of the test; free some space")
    elif free <= settings.alarms.disk_warn or remaining < _HOUR:
        yield warn("record", f"{detail}; free some space")
    else:
        yield ok("record", detail)


def _speed(scratch: Path, interval: float, rate: float) -> Iterator[CheckResult]:
    """Time writing and fsync of the data of a flush."""
    flush = max(4096.0, rate * interval)
    # limited, as the rig's stated rate may be wrong
    content = os.urandom(int(min(flush, _MAX_WRITE)))
    scale = flush / len(content)
    times = []
    with (scratch / "flush").open("wb", buffering=0) as file:
        for _ in range(_WRITES):
            started = perf_counter()
            file.write(content)
            os.fsync(file.fileno())
            times.append(scale * (perf_counter() - started))
    worst = max(times)
    detail = (
        f"{interval:g} s of the run are written in {1e3 * statistics.median(times):.2g} ms, "
        f"at most {1e3 * worst:.2g} ms in {_WRITES} tries"
    )
    if worst > interval:
        yield warn("disk speed", f"{detail}: too slow; record on a local disk")
    else:
        yield ok("disk speed", detail)


def _duration_text(seconds: float) -> str:
    hours = seconds / _HOUR
    if hours >= 100.0:
        return f"{hours / 24.0:.0f} days"
    return f"{hours:.3g} hours" if hours >= 1.0 else f"{seconds / 60.0:.2g} minutes"
