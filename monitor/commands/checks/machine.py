"""The machine: its clock, how much it lets one program open, and whether the kernels are compiled."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from monitor.commands.checks.check_result import CheckResult, ok, warn
from monitor.commands.process_limits import allow_descriptors
from monitor.config import IndicatorSettings

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
    from monitor.alarms import limits
    from monitor.engine.monitor import warm_up
    from monitor.kernel import compiled_functions

    warm_up(settings.measures, bandpass=settings.bandpass is not None, reliability=reliability)
    limits.warm_up()
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
