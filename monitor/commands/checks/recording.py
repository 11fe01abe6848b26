"""The recording: whether its disk takes a run file, how quick it is, and for how long there is room."""

from __future__ import annotations

import os
import shutil
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np

from monitor.commands.checks.check_result import CheckResult, fail, ok, warn
from monitor.commands.service_alarms import alarm_path, must_be_file, names_folder
from monitor.config import Settings
from monitor.messages.blocks import Channel, Column, ResultBlock, ResultStream, Role, SignalBlock, Stream

_PREFIX = ".synchroscope-check-"
_TRIES = 5
_MOST_PROBE = 4 << 20  # bytes
_UNHEARD = 400_000  # bytes a second, where no rig tells: an actuator at 1 kHz
_HOUR = 3600.0
_BESIDE = 24  # bytes of a row beside its values: time, epoch, index


def recording(
    settings: Settings, streams: Sequence[Stream], columns: Sequence[Column], duration: float | None
) -> Iterator[CheckResult]:
    """Write a run file on the disk, time it, and reckon how long the room lasts; nothing of it stays."""
    folder, made = _home(settings)
    there = _nearest(folder) if made else folder
    if not there.is_dir():
        yield fail("record", f"there is no folder {folder}: make it, or end the path with / to have one made")
        return
    with _scratch(there) as scratch:
        if problem := _refused(Path(scratch), settings.record.flush_interval):
            yield fail("record", f"{folder}: the disk takes no run file: {problem}")
            return
        rate = bytes_a_second(settings, streams[0], columns) if streams else _UNHEARD
        yield from _room(settings, there, rate, heard=bool(streams), duration=duration)
        yield from _speed(Path(scratch), settings.record.flush_interval, rate)


def bytes_a_second(settings: Settings, stream: Stream, columns: Sequence[Column]) -> float:
    """Return how fast the run file of a stream grows."""
    from monitor.engine.monitor import MOST_ROWS, rows_apart

    every = rows_apart(settings.indicators, stream.sample_rate, MOST_ROWS)
    rows = stream.sample_rate / every if columns else 0.0
    samples = stream.sample_rate * (8 * len(stream.channels) + _BESIDE)
    return samples + rows * (8 * len(columns) + _BESIDE)


def kept_alarms(settings: Settings) -> Iterator[CheckResult]:
    """Read the file that keeps the alarms as the service will, and see whether it can be replaced."""
    from monitor.alarms.monitor import AlarmMonitor
    from monitor.recording import alarm_file

    path = alarm_path(settings)
    if path is None:
        yield warn("alarm file", "none: alarms are forgotten when the service ends; give alarms.state or record")
        return
    made = not settings.alarms.state and _home(settings)[1]
    folder = _nearest(path.parent) if made else path.parent
    if not folder.is_dir():
        yield fail("alarm file", f"{path}: there is no folder {folder}")
        return
    must_be_file(path)
    with _scratch(folder):
        pass
    try:
        state = alarm_file.read(path)
        monitor = AlarmMonitor(settings.alarms, settings.stream.stale_after)
        if state is not None:
            monitor.restore(state)
    except ValueError as problem:
        yield warn("alarm file", f"{path}: the service will put it aside and begin afresh: {problem}")
        return
    standing = [alarm.name for alarm in monitor.alarms if alarm.standing]
    yield ok("alarm file", f"{path}: still standing: {', '.join(standing) or 'nothing'}")


def _home(settings: Settings) -> tuple[Path, bool]:
    """Return the folder of the runs, and whether the service makes it where it is not there."""
    path = Path(settings.record.path)
    return (path, True) if names_folder(settings.record.path) else (path.parent, False)


def _nearest(folder: Path) -> Path:
    """Return the folder, or where it is not there yet the nearest one that it will be made in."""
    folder = folder.absolute()
    return next((each for each in (folder, *folder.parents) if each.exists()), folder)


def _scratch(folder: Path) -> TemporaryDirectory[str]:
    try:
        return TemporaryDirectory(prefix=_PREFIX, dir=folder)
    except OSError as problem:
        why = problem.strerror or problem
        raise ValueError(
            f"nothing can be written in {folder}: {why}; give another folder, or see to its mode"
        ) from None


def _refused(scratch: Path, interval: float) -> str:
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


def _room(
    settings: Settings, folder: Path, rate: float, *, heard: bool, duration: float | None
) -> Iterator[CheckResult]:
    free = shutil.disk_usage(folder).free
    lasts = free / rate
    whose = "at what the rig sends" if heard else "no rig was heard: at a guess of"
    detail = f"{folder}: {free / 1e9:.3g} GB free, {whose} {rate / 1e6:.3g} MB a second for {_long(lasts)}"
    if free <= settings.alarms.disk_trip:
        yield fail("record", f"{detail}; make room")
    elif duration is not None and lasts < duration and heard:
        yield fail("record", f"{detail}, less than the {_long(duration)} of the test; make room")
    elif free <= settings.alarms.disk_warn or lasts < _HOUR:
        yield warn("record", f"{detail}; make room")
    else:
        yield ok("record", detail)


def _speed(scratch: Path, interval: float, rate: float) -> Iterator[CheckResult]:
    """Time what a flush brings to the disk, until the disk says that it has it."""
    flush = max(4096.0, rate * interval)
    # no more than that at what a rig says of itself
    amount = os.urandom(int(min(flush, _MOST_PROBE)))
    scale = flush / len(amount)
    times = []
    with (scratch / "flush").open("wb", buffering=0) as file:
        for _ in range(_TRIES):
            began = perf_counter()
            file.write(amount)
            os.fsync(file.fileno())
            times.append(scale * (perf_counter() - began))
    worst = max(times)
    detail = (
        f"{interval:g} s of the run on the disk in {1e3 * statistics.median(times):.2g} ms, "
        f"at worst {1e3 * worst:.2g} ms in {_TRIES} tries"
    )
    if worst > interval:
        yield warn("disk speed", f"{detail}: too slow; record on a disk of this machine")
    else:
        yield ok("disk speed", detail)


def _long(seconds: float) -> str:
    hours = seconds / _HOUR
    if hours >= 100.0:
        return f"{hours / 24.0:.0f} days"
    return f"{hours:.3g} hours" if hours >= 1.0 else f"{seconds / 60.0:.2g} minutes"
