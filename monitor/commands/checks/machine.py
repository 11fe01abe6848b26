"""The machine: its clock, descriptors and compiled kernels, and how much of a processor a rig takes."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from monitor.commands.checks.check_result import CheckResult, ok, warn
from monitor.commands.process import allow_descriptors
from monitor.commands.progress import compilation_progress
from monitor.config import IndicatorSettings
from monitor.messages.blocks import SignalBlock, Stream
from monitor.service.load import join_blocks
from monitor.wire.native import Decoder, Encoder

if TYPE_CHECKING:
    from monitor.engine.monitor import Monitor
    from monitor.reliability.plan import ReliabilityPlan


_COARSE = 1e-3  # s: about what a block of a rig lasts
_FEW = 4096


def clock() -> Iterator[CheckResult]:
    """Look at the clock that latencies and silences are measured by."""
    told = time.get_clock_info("monotonic")
    step = f"steps of {told.resolution:.3g} s ({told.implementation})"
    if told.resolution > _COARSE:
        yield warn("clock", f"{step}: latencies are told no finer than that")
    else:
        yield ok("clock", step)


def descriptors() -> Iterator[CheckResult]:
    """Look at how many files and connections the service may have open, once it has asked for all it can get."""
    try:
        import resource
    except ImportError:
        # not on Windows, which has no such limit
        return
    allow_descriptors()
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most == resource.RLIM_INFINITY:
        yield ok("descriptors", "as many files and connections as it likes")
    elif most < _FEW:
        yield warn(
            "descriptors",
            f"{most} files and connections at most: a hostile peer can take them all; "
            f"raise the hard limit (ulimit -Hn, LimitNOFILE) to {_FEW} or more",
        )
    else:
        yield ok("descriptors", f"{most} files and connections at most")


def kernels(settings: IndicatorSettings, *, reliability: bool) -> Iterator[CheckResult]:
    """Load the kernels as the service does, or compile them: afterwards it starts at once."""
    began = time.perf_counter()
    from monitor.alarms import conditions
    from monitor.engine.monitor import warm_up
    from monitor.kernel import compiled_functions

    with compilation_progress(lambda text: print(text, file=sys.stderr, flush=True)) as progress:
        warm_up(settings.measures, bandpass=settings.bandpass is not None, reliability=reliability, progress=progress)
    conditions.warm_up()
    took = time.perf_counter() - began
    # what is written into its callers is kept with them
    stats = [each.stats for each in compiled_functions() if each.stats.cache_path]
    new = [str(each.cache_path) for each in stats if each.cache_misses]
    if new:
        kept = os.path.commonpath(new)
        yield ok("kernels", f"{len(new)} compiled in {took:.0f} s and kept in {kept}: from now on they are loaded")
    else:
        loaded = sum(bool(each.cache_hits) for each in stats)
        yield ok("kernels", f"{loaded} loaded in {took:.1f} s, compiled before")


_MEASURED = 1.0  # s of processor time, about
_LEAST, _AT_ONCE = 200, 50  # messages
_HIGH, _TOO_MUCH = 0.5, 0.9


def load(
    settings: IndicatorSettings, plan: ReliabilityPlan | None, stream: Stream, rows: int, most_rows: float
) -> Iterator[CheckResult]:
    """Follow a motion for about a second of processor time, in messages of `rows` samples."""
    alone, together = seconds_a_sample(settings, plan, stream, rows, most_rows)
    share, least = alone * stream.sample_rate, together * stream.sample_rate
    told = (
        f"about {_percent(share)} of one of {os.cpu_count()} processors with messages of {rows} "
        f"sample{'s' if rows > 1 else ''}: {1e6 * alone * rows:.0f} us each"
    )
    if least > _TOO_MUCH:
        yield warn(
            "load",
            f"{told}; it cannot be followed, even {_percent(least)} where messages wait and are taken together: "
            "compute fewer measures, or use a faster machine",
        )
    elif share > _HIGH:
        yield warn(
            "load",
            f"{told}, {_percent(least)} where messages wait and are taken together: results may come late; "
            "send more samples a message, or compute fewer measures",
        )
    else:
        yield ok("load", told)


def seconds_a_sample(
    settings: IndicatorSettings, plan: ReliabilityPlan | None, stream: Stream, rows: int, most_rows: float
) -> tuple[float, float]:
    """Return how long a sample takes, s: each message by itself, and where many wait."""
    from monitor.engine.monitor import Monitor

    monitor = Monitor(settings, plan, most_rows=most_rows)
    n_filled = round(max(settings.window, 0.1) * stream.sample_rate) + 1
    monitor.update(_motion(stream, 0, n_filled))
    first, spent = n_filled, []
    for together in (False, True):
        began, taken = perf_counter(), 0
        while taken < _LEAST * rows or perf_counter() - began < 0.5 * _MEASURED:
            taken += _follow(monitor, stream, first + taken, rows, together=together)
            if perf_counter() - began > 2.0 * _MEASURED:
                break
        spent.append((perf_counter() - began) / taken)
        first += taken
    return spent[0], min(spent)


def _follow(monitor: Monitor, stream: Stream, first: int, rows: int, *, together: bool) -> int:
    """Take some messages as the service does, and all that is due besides; return how many samples they had."""
    encoder, decoder, published = Encoder(), Decoder(), Encoder()
    messages = [_motion(stream, first + number * rows, rows) for number in range(_AT_ONCE)]
    came = [decoder.decode(encoder.encode(message)) for message in messages]
    blocks = ((block, 0.0) for block in came if isinstance(block, SignalBlock))
    for block, _ in join_blocks(blocks) if together else blocks:
        assert isinstance(block, SignalBlock)
        update = monitor.update(block)
        if update.results is not None:
            published.encode(update.results)
        while monitor.work():
            pass
    return _AT_ONCE * rows


def _percent(share: float) -> str:
    return f"{100.0 * share:.2g} %" if share < 1.0 else f"{100.0 * share:.0f} %"


def _motion(stream: Stream, first: int, rows: int) -> SignalBlock:
    """Return samples that no measure finds easier than a test's: several tones on every channel."""
    t = (first + np.arange(float(rows)))[:, None] * stream.dt
    phase = 0.3 * np.arange(len(stream.channels))
    samples = sum(np.sin(2.0 * np.pi * f * t + f * phase) for f in (0.7, 1.9, 4.3, 7.1))
    return SignalBlock(stream, first, first * stream.dt, np.ascontiguousarray(samples))
