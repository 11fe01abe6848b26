"""Checks of the machine: clock, descriptors, compiled kernels, and the processor load of a rig."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from monitor.commands.checks import CheckResult, ok, warn
from monitor.commands.output import compilation_progress
from monitor.commands.process import raise_descriptor_limit
from monitor.config import IndicatorSettings
from monitor.messages.blocks import SignalBlock, Stream
from monitor.service.load import join_blocks
from monitor.text.numbers import percent
from monitor.wire.native import Decoder, Encoder

if TYPE_CHECKING:
    from monitor.engine.monitor import Monitor
    from monitor.reliability.plan import ReliabilityPlan


_MAX_RESOLUTION = 1e-3  # s: about the duration of a block
_MIN_DESCRIPTORS = 4096


def clock() -> Iterator[CheckResult]:
    """Check the resolution of the clock that measures latencies and timeouts."""
    info = time.get_clock_info("monotonic")
    step = f"steps of {info.resolution:.3g} s ({info.implementation})"
    if info.resolution > _MAX_RESOLUTION:
        yield warn("clock", f"{step}: latencies have no finer resolution")
    else:
        yield ok("clock", step)


def descriptors() -> Iterator[CheckResult]:
    """Check how many files and connections the service may have open, after raising the limit."""
    try:
        import resource
    except ImportError:
        # Windows has no such limit
        return
    raise_descriptor_limit()
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        yield ok("descriptors", "no limit of files and connections")
    elif limit < _MIN_DESCRIPTORS:
        yield warn(
            "descriptors",
            f"{limit} files and connections at most: a hostile peer can use them up; "
            f"raise the hard limit (ulimit -Hn, LimitNOFILE) to {_MIN_DESCRIPTORS} or more",
        )
    else:
        yield ok("descriptors", f"{limit} files and connections at most")


def kernels(settings: IndicatorSettings, *, reliability: bool) -> Iterator[CheckResult]:
    """Load or compile the kernels, so that the service starts without compilation."""
    started = time.perf_counter()
    from monitor.alarms.monitor import warm_up as warm_up_alarms
    from monitor.engine.monitor import warm_up
    from monitor.kernel import compiled_functions
    from monitor.kernel_cache import NOT_CACHED

    with compilation_progress() as progress:
        warm_up(settings.measures, bandpass=settings.bandpass is not None, reliability=reliability, progress=progress)
    warm_up_alarms()
    took = time.perf_counter() - started
    if why := os.environ.get(NOT_CACHED):
        yield warn("kernels", f"compiled in {took:.0f} s, at every start: {why}; set NUMBA_CACHE_DIR to another")
        return
    # parts that are compiled into their callers have no cache of their own
    stats = [each.stats for each in compiled_functions() if each.stats.cache_path]
    new = [str(each.cache_path) for each in stats if each.cache_misses]
    if new:
        cache = os.path.commonpath(new)
        yield ok("kernels", f"{len(new)} compiled in {took:.0f} s and cached in {cache}")
    else:
        loaded = sum(bool(each.cache_hits) for each in stats)
        yield ok("kernels", f"{loaded} loaded in {took:.1f} s, from the cache")


_MEASURED_TIME = 1.0  # s of processor time, about
_MIN_MESSAGES, _MESSAGES_AT_ONCE = 200, 50
_HIGH_LOAD, _OVERLOAD = 0.5, 0.9


def load(
    settings: IndicatorSettings, plan: ReliabilityPlan | None, stream: Stream, rows: int, max_rows: float
) -> Iterator[CheckResult]:
    """Measure the processor load of a simulated motion in messages of `rows` samples, for about a second."""
    single, joined_time = seconds_per_sample(settings, plan, stream, rows, max_rows)
    share, least = single * stream.sample_rate, joined_time * stream.sample_rate
    detail = (
        f"about {percent(share)} of one of {os.cpu_count()} processors with messages of {rows} "
        f"sample{'s' if rows > 1 else ''}: {1e6 * single * rows:.0f} us each"
    )
    if least > _OVERLOAD:
        yield warn(
            "load",
            f"{detail}; too much even when waiting messages are joined, {percent(least)}: "
            "compute fewer measures, or use a faster machine",
        )
    elif share > _HIGH_LOAD:
        yield warn(
            "load",
            f"{detail}, {percent(least)} when waiting messages are joined: results may be late; "
            "send more samples per message, or compute fewer measures",
        )
    else:
        yield ok("load", detail)


def seconds_per_sample(
    settings: IndicatorSettings, plan: ReliabilityPlan | None, stream: Stream, rows: int, max_rows: float
) -> tuple[float, float]:
    """Return the processing time per sample, s: for single messages, and for joined ones."""
    from monitor.engine.monitor import Monitor

    monitor = Monitor(settings, plan, max_rows=max_rows)
    n_filled = round(max(settings.window, 0.1) * stream.sample_rate) + 1
    monitor.update(_motion(stream, 0, n_filled))
    first, times = n_filled, []
    for together in (False, True):
        started, n_processed = perf_counter(), 0
        while n_processed < _MIN_MESSAGES * rows or perf_counter() - started < 0.5 * _MEASURED_TIME:
            n_processed += _process(monitor, stream, first + n_processed, rows, together=together)
            if perf_counter() - started > 2.0 * _MEASURED_TIME:
                break
        times.append((perf_counter() - started) / n_processed)
        first += n_processed
    return times[0], min(times)


def _process(monitor: Monitor, stream: Stream, first: int, rows: int, *, together: bool) -> int:
    """Process some messages as the service does, with all deferred work; return their number of samples."""
    encoder, decoder, published = Encoder(), Decoder(), Encoder()
    messages = [_motion(stream, first + number * rows, rows) for number in range(_MESSAGES_AT_ONCE)]
    received = [decoder.decode(encoder.encode(message)) for message in messages]
    blocks = ((block, 0.0) for block in received if isinstance(block, SignalBlock))
    for block, _ in join_blocks(blocks) if together else blocks:
        assert isinstance(block, SignalBlock)
        update = monitor.update(block)
        if update.results is not None:
            published.encode(update.results)
        while monitor.run_pending():
            pass
    return _MESSAGES_AT_ONCE * rows


def _motion(stream: Stream, first: int, rows: int) -> SignalBlock:
    """Return a block with several tones on every channel, as demanding as a real test."""
    t = (first + np.arange(float(rows)))[:, None] * stream.dt
    phase = 0.3 * np.arange(len(stream.channels))
    samples = sum(np.sin(2.0 * np.pi * f * t + f * phase) for f in (0.7, 1.9, 4.3, 7.1))
    return SignalBlock(stream, first, first * stream.dt, np.ascontiguousarray(samples))
